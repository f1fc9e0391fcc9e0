"""The log file of a broker in the background: standard output and standard error of its process."""

from __future__ import annotations

import os
from contextlib import suppress


def open_log_file(path: str) -> None:
    """Redirect standard output and standard error to the end of a file; create it if it is missing.

    A call after the file was renamed creates a new one.

    :raises OSError: it cannot be written.
    """
    flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
    opened = os.open(path, flags, 0o600)
    os.dup2(opened, 1)
    os.dup2(opened, 2)
    os.close(opened)


def reopen_log_file(path: str) -> None:
    """Call :func:`open_log_file`; if that fails, keep the file that is open."""
    with suppress(OSError):
        open_log_file(path)
