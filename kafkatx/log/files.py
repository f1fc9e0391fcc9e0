"""All access of logs to the file system, as one object that is passed to them.

Nothing else in :mod:`kafkatx.log` calls ``os`` for files. Tests pass a subclass that fails, tears or loses
writes.
"""

from __future__ import annotations

import contextlib
import errno
import os
import shutil
import stat
from collections.abc import Sequence
from typing import Protocol

from kafkatx.types import NOWAIT, SharedFile

IOV_MAX = 1024
"""Buffers that one ``writev`` takes; Linux, the BSDs and macOS agree."""

FEW, SMALL_BYTES = 32, 1024
"""More buffers than this, small ones on the average, are cheaper to join than to have the kernel gather."""

Buffers = Sequence[bytes | bytearray | memoryview]


def _seek_and_writev(fd: int, buffers: Buffers, position: int) -> int:
    os.lseek(fd, position, os.SEEK_SET)
    return os.writev(fd, buffers)


_pwritev = getattr(os, "pwritev", _seek_and_writev)


class Reads(Protocol):
    """Reads parts of files."""

    def pread(self, file: SharedFile, size: int, position: int) -> bytes:
        """Read at most *size* bytes at *position*; fewer only at the end of the file."""


class CachedReads:
    """Reads only what is in the page cache."""

    def pread(self, file: SharedFile, size: int, position: int) -> bytes:
        """Read at most *size* bytes at *position*; see :meth:`Files.pread`.

        :raises BlockingIOError: the read would wait for the disk.
        """
        if not NOWAIT:
            return os.pread(file.fileno(), size, position)
        buffer = bytearray(size)
        view, done = memoryview(buffer), 0
        try:
            while done < size:
                read = os.preadv(file.fileno(), [view[done:]], position + done, NOWAIT)
                if not read:
                    break
                done += read
        except BlockingIOError:
            raise
        except OSError:
            return os.pread(file.fileno(), size, position)
        return bytes(view[:done])


class Files:
    """The real file system. Every method may raise OSError.

    :ivar cached: reads that never wait for the disk.
    """

    cached: Reads = CachedReads()

    def open(self, path: str, flags: int = os.O_RDWR) -> SharedFile:
        """Open a file; it is closed when the last reference to it is gone."""
        return SharedFile(path, flags)

    def create(self, path: str) -> SharedFile:
        """Create a file that only its owner may read, or empty the one that is there.

        What a symbolic link points to is left alone: that fails with ELOOP.
        """
        return SharedFile(path, os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW)

    def writev(self, file: SharedFile, buffers: Buffers, position: int, size: int) -> None:
        """Write *buffers*, *size* bytes in all, at *position*.

        :raises OSError: part of it may be in the file.
        """
        count = len(buffers)
        few_or_large = count <= FEW or (count <= IOV_MAX and size > count * SMALL_BYTES)
        if not few_or_large or _pwritev(file.fileno(), buffers, position) != size:
            self._write_joined(file, buffers, position)

    def _write_joined(self, file: SharedFile, buffers: Buffers, position: int) -> None:
        """Write all buffers again from the start, in as many calls as necessary."""
        for at in range(0, len(buffers), IOV_MAX):
            rest = memoryview(b"".join(buffers[at : at + IOV_MAX]))
            while rest:
                written = _pwritev(file.fileno(), [rest], position)
                if written <= 0:
                    raise OSError(errno.EIO, "nothing was written", file.path)
                position += written
                rest = rest[written:]

    def pread(self, file: SharedFile, size: int, position: int) -> bytes:
        """Read at most *size* bytes at *position*; fewer only at the end of the file."""
        data = os.pread(file.fileno(), size, position)
        while data and len(data) < size:
            more = os.pread(file.fileno(), size - len(data), position + len(data))
            if not more:
                break
            data += more
        return data

    def is_cached(self, file: SharedFile, position: int, size: int) -> bool:
        """Return True if these bytes are in the page cache, as far as the system can tell."""
        return file.is_cached(position, size)

    def load(self, file: SharedFile, position: int, size: int, ahead: int) -> None:
        """Bring these bytes into the page cache, and begin to bring the *ahead* bytes after them."""
        file.load(position, size, ahead)

    def truncate(self, file: SharedFile, size: int) -> None:
        """Cut a file to *size* bytes."""
        os.ftruncate(file.fileno(), size)

    def sync(self, file: SharedFile) -> None:
        """Force a file's bytes to the disk."""
        os.fsync(file.fileno())

    def sync_any(self, file: SharedFile | str) -> None:
        """Sync an open file, or the file at a path."""
        self.sync(self.open(file) if isinstance(file, str) else file)

    def sync_dir(self, path: str) -> None:
        """Force a directory's entries to the disk."""
        fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
        try:
            os.fsync(fd)
        finally:
            os.close(fd)

    def rename(self, old: str, new: str) -> None:
        """Rename a file or directory; one of the new name is replaced."""
        os.replace(old, new)

    def unlink(self, path: str) -> None:
        """Remove a file; nothing happens if there is none."""
        with contextlib.suppress(FileNotFoundError):
            os.unlink(path)

    def remove_tree(self, path: str) -> None:
        """Remove a directory with all that is in it; nothing happens if there is none."""
        with contextlib.suppress(FileNotFoundError):
            shutil.rmtree(path)

    def make_dirs(self, path: str) -> None:
        """Make a directory that only its owner may enter, and those above it where they are missing."""
        os.makedirs(path, 0o700, exist_ok=True)

    def names(self, path: str) -> list[str]:
        """Return the names in a directory, sorted."""
        return sorted(os.listdir(path))

    def is_dir(self, path: str) -> bool:
        """Return True if there is a directory of this name."""
        return os.path.isdir(path)

    def is_regular(self, path: str) -> bool:
        """Return True if there is a regular file of this name; a symbolic link is none."""
        try:
            return stat.S_ISREG(os.lstat(path).st_mode)
        except FileNotFoundError:
            return False

    def exists(self, path: str) -> bool:
        """Return True if there is a file or directory of this name."""
        return os.path.exists(path)

    def size(self, path: str) -> int:
        """Bytes in a file; 0 if there is none."""
        try:
            return os.stat(path).st_size
        except FileNotFoundError:
            return 0

    def mtime_ms(self, path: str) -> int:
        """Return a file's modification time, in ms since 1970."""
        return os.stat(path).st_mtime_ns // 1_000_000

    def set_mtime_ms(self, path: str, mtime_ms: int) -> None:
        """Set a file's modification time."""
        os.utime(path, ns=(mtime_ms * 1_000_000, mtime_ms * 1_000_000))

    def read(self, path: str) -> bytes | None:
        """Return the content of a small file; None if there is no such file."""
        try:
            with open(path, "rb") as file:
                return file.read()
        except FileNotFoundError:
            return None

    def replace(self, path: str, data: bytes, sync: bool = True) -> None:
        """Put *data* in place of a file's content: a reader sees the old or the new, never a mix.

        :param sync: force file and directory to the disk; without it the change survives the death of
            the process, not that of the machine.
        """
        self.replace_file(path, data, sync)
        if sync:
            self.sync_dir(os.path.dirname(path))

    def replace_file(self, path: str, data: bytes, sync: bool = True) -> None:
        """Put *data* in place of a file's content; the name is on the disk when the directory is synced.

        :param sync: force the file to the disk.
        """
        temporary = path + ".tmp"
        try:
            file = self.create(temporary)
            self.writev(file, [data], 0, len(data))
            if sync:
                self.sync(file)
            self.rename(temporary, path)
        except OSError:
            with contextlib.suppress(OSError):
                self.unlink(temporary)
            raise
