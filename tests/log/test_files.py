"""The real file system behind its small surface."""

from __future__ import annotations

import errno
import os
from unittest import mock

from twisted.trial.unittest import SynchronousTestCase

from kafkatx.log import files as module
from kafkatx.log.files import Files


class FilesTests(SynchronousTestCase):
    """Files."""

    def setUp(self) -> None:
        """A directory."""
        self.files = Files()
        self.directory = self.mktemp()
        self.files.make_dirs(self.directory)
        self.path = os.path.join(self.directory, "file")

    def test_write_and_read(self) -> None:
        """Buffers are written at a position and read back; a read beyond the end is short."""
        file = self.files.create(self.path)
        self.files.writev(file, [b"ab", memoryview(b"cd"), b""], 3, 4)
        self.assertEqual(self.files.read(self.path), b"\0\0\0abcd")
        self.assertEqual(self.files.pread(file, 3, 4), b"bcd")
        self.assertEqual(self.files.pread(file, 100, 5), b"cd")
        self.assertEqual(self.files.pread(file, 1, 100), b"")

    def test_partial_writes(self) -> None:
        """All bytes are in the file, however few the kernel takes at a time."""
        real = os.pwrite

        def some(fd: int, buffers: list[bytes], position: int) -> int:
            return real(fd, b"".join(buffers)[:7], position)

        file = self.files.create(self.path)
        data = [bytes([number]) * number for number in range(40)]
        with mock.patch.object(module, "_pwritev", some):
            self.files.writev(file, data, 0, sum(map(len, data)))
        self.assertEqual(self.files.read(self.path), b"".join(data))

    def test_nothing_is_written(self) -> None:
        """A kernel that takes nothing and says nothing is an error, not an endless loop."""
        file = self.files.create(self.path)
        with mock.patch.object(module, "_pwritev", lambda fd, buffers, position: 0):
            error = self.assertRaises(OSError, self.files.writev, file, [b"x"], 0, 1)
        self.assertEqual(error.errno, errno.EIO)

    def test_platform_without_pwritev(self) -> None:
        """Without pwritev, seek and writev do the same."""
        file = self.files.create(self.path)
        with mock.patch.object(module, "_pwritev", module._seek_and_writev):
            self.files.writev(file, [b"x"] * 3000, 5, 3000)
        self.assertEqual(self.files.read(self.path), bytes(5) + b"x" * 3000)

    def test_replace(self) -> None:
        """A file is replaced whole; when that fails it is as it was."""
        self.files.replace(self.path, b"old")
        self.files.replace(self.path, b"new", sync=False)
        self.assertEqual(self.files.read(self.path), b"new")
        self.assertEqual(self.files.names(self.directory), ["file"])
        with mock.patch.object(module, "_pwritev", mock.Mock(side_effect=OSError(errno.ENOSPC, "full"))):
            self.assertRaises(OSError, self.files.replace, self.path, b"newer")
        self.assertEqual(self.files.read(self.path), b"new")

    def test_missing(self) -> None:
        """A missing file has no content and no size, and can be removed."""
        self.assertIsNone(self.files.read(self.path))
        self.assertEqual(self.files.size(self.path), 0)
        self.files.unlink(self.path)
        self.files.remove_tree(self.path)
