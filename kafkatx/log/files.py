"""Every touch of the file system that a log makes, as one small object that is handed in.

A test hands in a subclass that fails, tears or forgets writes; nothing else in :mod:`kafkatx.log` calls
``os`` for files.
"""

from __future__ import annotations

import contextlib
import errno
import os
import shutil
from collections.abc import Sequence

from kafkatx.types import SharedFile

IOV_MAX = 1024
"""Buffers that one ``writev`` takes; Linux, the BSDs and macOS agree."""

Buffers = Sequence[bytes | bytearray | memoryview]


def _seek_and_writev(fd: int, buffers: Buffers, position: int) -> int:
    os.lseek(fd, position, os.SEEK_SET)
    return os.writev(fd, buffers)


_pwritev = getattr(os, "pwritev", _seek_and_writev)


class Files:
    """The real file system. Every method may raise OSError."""

    def open(self, path: str, flags: int = os.O_RDWR) -> SharedFile:
        """Open a file; it closes itself when the last user lets go."""
        return SharedFile(path, flags)

    def create(self, path: str) -> SharedFile:
        """Create a file, or empty the one that is there."""
        return SharedFile(path, os.O_RDWR | os.O_CREAT | os.O_TRUNC)

    def writev(self, file: SharedFile, buffers: Buffers, position: int, size: int) -> None:
        """Write *buffers*, *size* bytes in all, at *position*.

        :raises OSError: part of it may be in the file.
        """
        if len(buffers) > IOV_MAX or _pwritev(file.fileno(), buffers, position) != size:
            self._write_rest(file, buffers, position)

    def _write_rest(self, file: SharedFile, buffers: Buffers, position: int) -> None:
        """Write in as many calls as it takes, all from the start: what is there is written over."""
        todo = [memoryview(buffer).cast("B") for buffer in buffers]
        at = 0
        while at < len(todo):
            written = _pwritev(file.fileno(), todo[at : at + IOV_MAX], position)
            if written <= 0 and any(todo[at : at + IOV_MAX]):
                raise OSError(errno.EIO, "nothing was written", file.path)
            position += written
            while at < len(todo) and written >= len(todo[at]):
                written -= len(todo[at])
                at += 1
            if written:
                todo[at] = todo[at][written:]

    def pread(self, file: SharedFile, size: int, position: int) -> bytes:
        """Read at most *size* bytes at *position*; fewer only at the end of the file."""
        data = os.pread(file.fileno(), size, position)
        while data and len(data) < size:
            more = os.pread(file.fileno(), size - len(data), position + len(data))
            if not more:
                break
            data += more
        return data

    def truncate(self, file: SharedFile, size: int) -> None:
        """Cut a file to *size* bytes."""
        os.ftruncate(file.fileno(), size)

    def sync(self, file: SharedFile) -> None:
        """Force a file's bytes to the disk."""
        os.fsync(file.fileno())

    def sync_dir(self, path: str) -> None:
        """Force a directory's entries to the disk."""
        fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
        try:
            os.fsync(fd)
        finally:
            os.close(fd)

    def rename(self, old: str, new: str) -> None:
        """Rename a file or directory, over what is there."""
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
        """Make a directory and those above it where they are missing."""
        os.makedirs(path, exist_ok=True)

    def names(self, path: str) -> list[str]:
        """The names in a directory, sorted."""
        return sorted(os.listdir(path))

    def is_dir(self, path: str) -> bool:
        """Whether there is a directory of this name."""
        return os.path.isdir(path)

    def exists(self, path: str) -> bool:
        """Whether there is a file or directory of this name."""
        return os.path.exists(path)

    def size(self, path: str) -> int:
        """Bytes in a file; 0 if there is none."""
        try:
            return os.stat(path).st_size
        except FileNotFoundError:
            return 0

    def mtime_ms(self, path: str) -> int:
        """When a file was last changed, in ms since 1970."""
        return os.stat(path).st_mtime_ns // 1_000_000

    def read(self, path: str) -> bytes | None:
        """The whole of a small file; None if there is none."""
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
        if sync:
            self.sync_dir(os.path.dirname(path))
