"""Temporary directories that are removed even if their process is killed: by the next process that makes one.

A directory is locked (flock(2)) while its process lives, which is safer than process ids or times. It gets
its final name after it is locked: a directory with such a name and without a lock is a leftover.
"""

from __future__ import annotations

import fcntl
import os
import shutil
import stat
import tempfile
import weakref
from contextlib import suppress
from types import TracebackType

PREFIX = "kafkatx-run-"
_UNLOCKED = "kafkatx-new-"


class Scratch:
    """A directory in the system's directory for temporary files; :meth:`close` removes it. A context manager.

    :ivar path: the path of the directory.
    """

    def __init__(self) -> None:
        """Make the directory, and remove those of dead processes.

        :raises OSError: the directory cannot be made.
        """
        base = tempfile.gettempdir()
        remove_left_over(base)
        made = tempfile.mkdtemp(prefix=_UNLOCKED, dir=base)
        lock = os.open(made, os.O_RDONLY)
        with suppress(OSError):  # a file system without locks: others do not remove the directory
            fcntl.flock(lock, fcntl.LOCK_EX)
        self.path = os.path.join(base, PREFIX + os.path.basename(made)[len(_UNLOCKED) :])
        os.rename(made, self.path)
        self._finalizer = weakref.finalize(self, _remove, self.path, lock, os.getpid())

    def keep(self, name: str, prefix: str) -> str:
        """Move a file out of the directory, for people; return its new path.

        :raises OSError: the file cannot be moved.
        """
        descriptor, kept = tempfile.mkstemp(prefix=prefix, suffix=os.path.splitext(name)[1])
        os.close(descriptor)
        os.replace(os.path.join(self.path, name), kept)
        return kept

    def close(self) -> None:
        """Remove the directory; this is also done at the end of the process."""
        self._finalizer()

    def __enter__(self) -> Scratch:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()


def _remove(path: str, lock: int, owner: int) -> None:
    if os.getpid() == owner:  # not at the end of a forked process
        shutil.rmtree(path, ignore_errors=True)
        os.close(lock)


def remove_left_over(base: str) -> None:
    """Remove directories in *base* that killed processes of this user have left."""
    try:
        names = os.listdir(base)
    except OSError:
        return
    for name in names:
        if name.startswith(PREFIX):
            _remove_unlocked(os.path.join(base, name))


def _remove_unlocked(path: str) -> None:
    try:
        status = os.lstat(path)
        if not stat.S_ISDIR(status.st_mode) or status.st_uid != os.getuid():
            return
        lock = os.open(path, os.O_RDONLY | os.O_NOFOLLOW)
    except OSError:
        return
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        shutil.rmtree(path, ignore_errors=True)
    except OSError:  # its process lives, or the file system has no locks
        return
    finally:
        os.close(lock)
