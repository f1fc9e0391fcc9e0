"""``kafkatx-process.json`` and ``kafkatx.pid``: what a running broker notes about its process.

The broker writes ``kafkatx-process.json`` to each log dir when it is ready, and removes it when it stops.
After a kill it stays, so a reader must check that the process in it still holds the dir's ``.lock``
(:mod:`kafkatx.cli.broker.lock_holder`). ``kafkatx.pid`` holds the process id alone, for other tools; only
``kafkatx up --daemon`` writes it. Imports nothing of Twisted: commands read these files too.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable
from contextlib import suppress

import attrs

PROCESS_FILE = "kafkatx-process.json"
PID_FILE = "kafkatx.pid"
LOG_FILE = "kafkatx.log"
"""The log file of ``kafkatx up --daemon``, in the first log dir."""

MAX_BYTES = 65536


@attrs.frozen
class ProcessNote:
    """The content of ``kafkatx-process.json``.

    :ivar bootstrap: ``host:port`` that a client on this machine can use.
    :ivar log_file: absolute path, or None if the log goes to standard error.
    """

    pid: int
    version: str
    bootstrap: str
    log_file: str | None = None

    def write(self, directory: str) -> None:
        """Write the file, so that readers see all of it or nothing.

        :raises OSError: it cannot be written.
        """
        _replace(os.path.join(directory, PROCESS_FILE), json.dumps(attrs.asdict(self)) + "\n")

    def write_pid(self, directory: str) -> None:
        """Write ``kafkatx.pid``.

        :raises OSError: it cannot be written.
        """
        _replace(os.path.join(directory, PID_FILE), f"{self.pid}\n")

    def remove(self, directories: Iterable[str]) -> None:
        """Remove both files where they are this process's."""
        for directory in directories:
            with suppress(OSError, ValueError):
                if read_pid(directory) == self.pid:
                    os.remove(os.path.join(directory, PID_FILE))
            if read_note(directory) == self:
                with suppress(OSError):
                    os.remove(os.path.join(directory, PROCESS_FILE))


def read_note(directory: str) -> ProcessNote | None:
    """Read ``kafkatx-process.json``; None if it is missing or damaged."""
    try:
        fields = json.loads(_read(os.path.join(directory, PROCESS_FILE)))
        note = ProcessNote(fields["pid"], fields["version"], fields["bootstrap"], fields["log_file"])
    except (OSError, ValueError, KeyError, TypeError):
        return None
    texts = (note.version, note.bootstrap, note.log_file or "")
    return note if isinstance(note.pid, int) and all(isinstance(text, str) for text in texts) else None


def read_pid(directory: str) -> int | None:
    """Read ``kafkatx.pid``; None if it is missing or holds no number."""
    try:
        return int(_read(os.path.join(directory, PID_FILE)))
    except (OSError, ValueError):
        return None


def _read(path: str) -> str:
    descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    with open(descriptor, encoding="utf-8") as file:
        return file.read(MAX_BYTES)


def _replace(path: str, text: str) -> None:
    """Write a new file beside *path* and rename it: a link at *path* is replaced, not followed."""
    temporary = f"{path}.new"
    with suppress(FileNotFoundError):
        os.remove(temporary)
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC
    with open(os.open(temporary, flags, 0o600), "w", encoding="utf-8") as file:
        file.write(text)
    os.replace(temporary, path)
