"""Every touch of the target directory. Paths are relative to it, with ``/``.

Commits depend on *publish*: a rename that fails if the name is taken. A file system without an atomic one is
refused: an object store copies and deletes in place of renaming.
"""

from __future__ import annotations

import errno
import fcntl
import os
import re
import shutil
import socket
from abc import ABC, abstractmethod
from contextlib import AbstractContextManager, nullcontext
from typing import Any, BinaryIO
from urllib.parse import unquote, urlsplit

import attrs

from kafkatx.errors import SettingError

_SCHEME = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*):/")
_HADOOP = ("hdfs", "viewfs")


class Files(ABC):
    """A directory and what is below it; picklable, it travels to the workers. All methods raise OSError."""

    root: str

    @abstractmethod
    def uri(self, path: str) -> str:
        """Return the file's URI for Spark."""

    @abstractmethod
    def create_dir(self, path: str) -> None:
        """Create a directory and those above it, unless they are there."""

    @abstractmethod
    def output(self, path: str) -> BinaryIO:
        """Open a stream that writes a new file; its directory is created if it does not exist."""

    @abstractmethod
    def read(self, path: str) -> bytes:
        """Return a file's bytes.

        :raises FileNotFoundError: it is not there.
        """

    @abstractmethod
    def size(self, path: str) -> int | None:
        """Return a file's size, or -1 for a directory; None where there is neither."""

    @abstractmethod
    def names(self, path: str) -> list[str]:
        """Return the names in a directory, in order; none if the directory does not exist."""

    @abstractmethod
    def move(self, source: str, target: str) -> None:
        """Rename a file into a directory that exists, so that readers see the whole file or none.

        :raises FileNotFoundError: the source is not there.
        """

    @abstractmethod
    def publish(self, source: str, target: str) -> None:
        """Rename as :meth:`move` does; of several calls with the same target only the first succeeds.

        :raises FileExistsError: the target is there.
        """

    @abstractmethod
    def remove(self, path: str) -> None:
        """Remove a directory with all in it, or a file; it need not be there."""

    @abstractmethod
    def sync(self, path: str) -> None:
        """Wait until a file's bytes, or a directory's names, are on the disk."""

    def lock(self, path: str) -> AbstractContextManager[object]:
        """Take a file that one process can have at a time, until its exit, where the file system has locks.

        It spares the second of two ingestions work that it could not commit; no commit depends on it.

        :raises BlockingIOError: another process has it; its ``strerror`` says which.
        """
        return nullcontext()


@attrs.frozen
class LocalFiles(Files):
    """On a file system of the machine, or on one that is mounted alike on all (NFS)."""

    root: str

    def _at(self, path: str) -> str:
        return os.path.join(self.root, path)

    def uri(self, path: str) -> str:
        """Return a ``file:`` URI."""
        return "file://" + self._at(path)

    def create_dir(self, path: str) -> None:
        """Create it and those above it."""
        os.makedirs(self._at(path), exist_ok=True)

    def output(self, path: str) -> BinaryIO:
        """Open a new file; an old one is an error."""
        self.create_dir(os.path.dirname(path))
        return open(self._at(path), "xb")

    def read(self, path: str) -> bytes:
        """Read the whole file."""
        with open(self._at(path), "rb") as file:
            return file.read()

    def size(self, path: str) -> int | None:
        """Asked of the file system."""
        try:
            return -1 if os.path.isdir(self._at(path)) else os.stat(self._at(path)).st_size
        except (FileNotFoundError, NotADirectoryError):
            return None

    def names(self, path: str) -> list[str]:
        """Sorted."""
        try:
            return sorted(os.listdir(self._at(path)))
        except FileNotFoundError:
            return []

    def move(self, source: str, target: str) -> None:
        """Rename by rename(2)."""
        os.rename(self._at(source), self._at(target))

    def publish(self, source: str, target: str) -> None:
        """Rename by a hard link, which is atomic on NFS, too; rename(2) would replace a target."""
        try:
            os.link(self._at(source), self._at(target))
        except FileExistsError:
            # The server did it, and its answer was lost: NFS asked again.
            if not os.path.samefile(self._at(source), self._at(target)):
                raise
        except OSError as error:
            if error.errno in (errno.EPERM, errno.EOPNOTSUPP, errno.ENOSYS):
                error.strerror = "this file system has no hard links, which commits need"
            raise
        os.unlink(self._at(source))

    def remove(self, path: str) -> None:
        """Remove a file, or a directory with its contents."""
        try:
            os.unlink(self._at(path))
        except FileNotFoundError:
            pass
        except (IsADirectoryError, PermissionError):  # the latter on macOS
            shutil.rmtree(self._at(path), ignore_errors=True)

    def sync(self, path: str) -> None:
        """Sync by fsync(2)."""
        descriptor = os.open(self._at(path), os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)

    def lock(self, path: str) -> AbstractContextManager[object]:
        """Lock by flock(2)."""
        file = open(self._at(path), "a+", encoding="utf-8")  # noqa: SIM115 - it is what is returned
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            file.seek(0)
            error.strerror = file.read().strip() or "another process"
            file.close()
            raise
        except OSError:  # a file system without locks: that a commit is published once is enough
            return file
        file.truncate(0)
        file.write(f"process {os.getpid()} on {socket.gethostname()}\n")
        file.flush()
        return file


@attrs.frozen
class ArrowFiles(Files):
    """On a file system that pyarrow reaches: HDFS, whose rename fails if the target is there.

    :ivar root: what names the directory, ``hdfs://host:port/path``.
    """

    root: str

    def _at(self, path: str) -> tuple[Any, str]:
        from pyarrow.fs import FileSystem

        filesystem, base = FileSystem.from_uri(self.root)
        return filesystem, f"{base.rstrip('/')}/{path}".rstrip("/")

    def uri(self, path: str) -> str:
        """Return a URI below the root's."""
        return f"{self.root.rstrip('/')}/{path}"

    def create_dir(self, path: str) -> None:
        """Create it and those above it."""
        filesystem, full = self._at(path)
        filesystem.create_dir(full, recursive=True)

    def output(self, path: str) -> BinaryIO:
        """Open a stream of pyarrow."""
        filesystem, full = self._at(path)
        filesystem.create_dir(os.path.dirname(full), recursive=True)
        stream: BinaryIO = filesystem.open_output_stream(full)
        return stream

    def read(self, path: str) -> bytes:
        """Read the whole file."""
        filesystem, full = self._at(path)
        with filesystem.open_input_stream(full) as stream:
            return bytes(stream.read())

    def size(self, path: str) -> int | None:
        """Asked of the file system."""
        from pyarrow.fs import FileType

        filesystem, full = self._at(path)
        info = filesystem.get_file_info(full)
        if info.type == FileType.NotFound:
            return None
        return -1 if info.type == FileType.Directory else int(info.size)

    def names(self, path: str) -> list[str]:
        """Sorted."""
        from pyarrow.fs import FileSelector

        filesystem, full = self._at(path)
        found = filesystem.get_file_info(FileSelector(full, allow_not_found=True))
        return sorted(info.base_name for info in found)

    def move(self, source: str, target: str) -> None:
        """Rename by the name node."""
        filesystem, full = self._at(source)
        filesystem.move(full, self._at(target)[1])

    def publish(self, source: str, target: str) -> None:
        """Rename, which fails if the target exists; looking first gives the clearer error."""
        if self.size(target) is not None:
            raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), target)
        try:
            self.move(source, target)
        except OSError as error:
            if self.size(target) is not None and self.size(source) is not None:
                raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), target) from error
            raise

    def remove(self, path: str) -> None:
        """Remove a file, or a directory with its contents."""
        size, (filesystem, full) = self.size(path), self._at(path)
        if size == -1:
            filesystem.delete_dir(full)
        elif size is not None:
            filesystem.delete_file(full)

    def sync(self, path: str) -> None:
        """Do nothing: the name node has every name, and each file that is closed."""


def open_files(to: str) -> Files:
    """Return the directory of this path or URI.

    :raises SettingError: its file system has no atomic rename, or is not known.
    """
    scheme = _SCHEME.match(to)
    if scheme is None:
        return LocalFiles(os.path.abspath(to))
    name = scheme[1].lower()
    if name == "file":
        return LocalFiles(os.path.abspath(unquote(urlsplit(to).path)))
    if name in _HADOOP:
        return ArrowFiles(to)
    raise SettingError(
        f"{to}: files of a commit are renamed into place, which is not atomic on {name}: "
        "give a local or NFS directory, or hdfs://..."
    )
