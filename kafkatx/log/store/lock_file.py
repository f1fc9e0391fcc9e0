"""The lock file of a log dir: one broker at a time has the dir."""

from __future__ import annotations

import contextlib
import errno
import fcntl
import os
import re
import stat

from kafkatx.errors import SettingError
from kafkatx.log.files import Files
from kafkatx.types import SharedFile

_PID = re.compile(rb"(\d{1,18}\n?)?")


def locked(files: Files, directory: str, path: str) -> SharedFile:
    """Take the lock *path* of *directory*, and write this process's number into it; closing it lets go.

    :raises OSError: it cannot be written.
    :raises SettingError: another broker has it, or it is a link.
    """
    file = _open(files, directory, path)
    try:
        fcntl.flock(file.fileno(), fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        pid = files.pread(file, 20, 0).decode(errors="replace").strip() or "unknown"
        raise SettingError(f"log.dirs={directory}: locked by another broker (pid {pid})") from error
    pid_line = f"{os.getpid()}\n".encode()
    if _PID.fullmatch(files.pread(file, 20, 0)):  # else the content is not ours
        with contextlib.suppress(OSError):  # a full disk can be read: the number is for people only
            files.truncate(file, 0)
            files.writev(file, [pid_line], 0, len(pid_line))
    return file


def _open(files: Files, directory: str, path: str) -> SharedFile:
    """Open the lock file; never open the target of a link, or a pipe, for writing."""
    wrong = None
    try:
        file = files.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK)
        found = os.fstat(file.fileno())
        if not stat.S_ISREG(found.st_mode) or found.st_nlink > 1:
            wrong = "a link to another file, or no file at all"
    except OSError as error:
        if error.errno not in (errno.ELOOP, errno.EMLINK):
            raise
        wrong = "a symbolic link"
    if wrong:
        raise SettingError(f"log.dirs={directory}: {path} is {wrong}; remove it and start again")
    return file
