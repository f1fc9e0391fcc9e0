"""The standard streams of the process, also if they were closed before its start or fail at its end."""

from __future__ import annotations

import os
import sys
from typing import IO

FAILED = 1
_NAMES = ("input", "output", "error")


def open_closed() -> list[str]:
    """Open the standard descriptors that are closed, so that no file or socket gets their numbers.

    Reading and writing fail as before, except that text for standard error is dropped.

    :return: the names of those that were closed.
    """
    closed = []
    for number, name in enumerate(_NAMES):
        try:
            os.fstat(number)
        except OSError:
            # This is the lowest free number. It is opened in the wrong direction, so that using it fails.
            os.open(os.devnull, os.O_RDONLY if name == "output" else os.O_WRONLY)
            closed.append(name)
    if sys.stdin is None:
        sys.stdin = open(0, encoding="utf-8", closefd=False)  # noqa: SIM115 - it stays open
    if sys.stdout is None:
        sys.stdout = _text(1)
    if sys.stderr is None:
        sys.stderr = _text(2)
    for stream in (sys.stdout, sys.stderr):
        reconfigure = getattr(stream, "reconfigure", None)
        if reconfigure is not None:
            reconfigure(errors="backslashreplace")
    return closed


def _text(number: int) -> IO[str]:
    return open(number, "w", encoding="utf-8", closefd=False)


def flush(code: int) -> int:
    """Flush stdout and stderr, so that the interpreter has no error to report at its end.

    :return: the exit code; FAILED in place of 0 if something could not be written.
    """
    for number, stream in ((1, sys.stdout), (2, sys.stderr)):
        try:
            stream.flush()
        except BrokenPipeError:
            _to_nowhere(number)
        except (OSError, ValueError):
            _to_nowhere(number)
            code = code or FAILED
    return code


def _to_nowhere(number: int) -> None:
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, number)
    os.close(nowhere)
