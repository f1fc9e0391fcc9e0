"""Temporary directories that go even if their process is killed: the next one that makes one removes them.

A directory is locked (flock(2)) while its process lives, so that neither a reused process id nor a clock can
mislead. It gets its name when it is locked: one of that name without a lock is left over.
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
    """A directory below the system's one for temporary files; :meth:`close` removes it. A context manager.

    :ivar path: its path.
    """

    def __init__(self) -> None:
        """Make it, and remove those of processes that are no more.

        :raises OSError: it cannot be made.
        """
        base = tempfile.gettempdir()
        remove_left_over(base)
        made = tempfile.mkdtemp(prefix=_UNLOCKED, dir=base)
        lock = os.open(made, os.O_RDONLY)
        with suppress(OSError):  # a file system without locks: nobody can have it, and nobody removes it
            fcntl.flock(lock, fcntl.LOCK_EX)
        self.path = os.path.join(base, PREFIX + os.path.basename(made)[len(_UNLOCKED) :])
        os.rename(made, self.path)
        self._finalizer = weakref.finalize(self, _remove, self.path, lock, os.getpid())

    def keep(self, name: str, prefix: str) -> str:
        """Move one of its files out, to be found by a person; return its new path.

        :raises OSError: it cannot be moved.
        """
        descriptor, kept = tempfile.mkstemp(prefix=prefix, suffix=os.path.splitext(name)[1])
        os.close(descriptor)
        os.replace(os.path.join(self.path, name), kept)
        return kept

    def close(self) -> None:
        """Remove it with all in it; the end of the process does so, too."""
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
    if os.getpid() == owner:  # and not a fork of it that ends
        shutil.rmtree(path, ignore_errors=True)
        os.close(lock)


def remove_left_over(base: str) -> None:
    """Remove directories below *base* that a killed process of this user has left."""
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
