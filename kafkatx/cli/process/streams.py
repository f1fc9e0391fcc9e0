"""The process's standard streams, also where they were closed before it started or fail at its end."""

from __future__ import annotations

import os
import sys
from typing import IO

FAILED = 1
_NAMES = ("input", "output", "error")


def open_closed() -> list[str]:
    """Open those of the three descriptors that are closed, so that no file or socket gets their numbers.

    Reading from and writing to them fails, as with the closed ones; standard error swallows what it gets.

    :return: the names of those that were closed.
    """
    closed = []
    for number, name in enumerate(_NAMES):
        try:
            os.fstat(number)
        except OSError:
            # The lowest number that is free is this one. It is opened the wrong way round on purpose.
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
    """Write out what is left, so that the interpreter finds nothing to complain about at its end.

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
