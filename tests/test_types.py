"""Open files: what of them is in the page cache, and how it gets there."""

from __future__ import annotations

import errno
import os
from unittest import mock

from twisted.trial.unittest import SynchronousTestCase

from kafkatx import types
from kafkatx.types import PROBED_BYTES, SharedFile


class PageCacheTests(SynchronousTestCase):
    """SharedFile."""

    def setUp(self) -> None:
        """A file of some samples' length."""
        path = self.mktemp()
        self.size = 3 * PROBED_BYTES + 7
        with open(path, "wb") as file:
            file.write(bytes(self.size))
        self.file = SharedFile(path, os.O_RDONLY)

    def probes(
        self, position: int, size: int, cold: int | None = None, error: int = 0
    ) -> tuple[bool, list[int]]:
        """Return True if a part counts as cached, and the sampled positions; at *cold* nothing is."""
        taken = []

        def preadv(fd: int, buffers: object, at: int, flags: int) -> int:
            taken.append(at)
            if error:
                raise OSError(error, os.strerror(error))
            if at == cold:
                raise BlockingIOError
            return 1

        with mock.patch.object(os, "preadv", preadv):
            return self.file.is_cached(position, size), taken

    def test_samples(self) -> None:
        """Samples are taken at both ends and at steps between, and one that is cold decides."""
        expected = [5, 5 + PROBED_BYTES, 5 + 2 * PROBED_BYTES, 4 + 3 * PROBED_BYTES]
        self.assertEqual(self.probes(5, 3 * PROBED_BYTES), (True, expected))
        for number, at in enumerate(expected):
            self.assertEqual(self.probes(5, 3 * PROBED_BYTES, at), (False, expected[: number + 1]))

    def test_small_parts(self) -> None:
        """Up to a page costs one sample, a little more two."""
        self.assertEqual(self.probes(9, 1), (True, [9]))
        self.assertEqual(self.probes(9, 4096), (True, [9]))
        self.assertEqual(self.probes(9, 4097), (True, [9, 4105]))

    def test_no_telling(self) -> None:
        """Everything counts as cached if the file system or the platform cannot tell."""
        for error in (errno.EOPNOTSUPP, errno.ENOSYS, errno.EINVAL):
            self.assertTrue(self.probes(0, 10, error=error)[0])
        self.patch(types, "NOWAIT", 0)
        self.assertEqual(self.probes(0, 10, cold=0), (True, []))

    def test_load(self) -> None:
        """A loaded part is cached, however often the page cache was emptied before."""
        if hasattr(os, "posix_fadvise"):
            os.posix_fadvise(self.file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
        self.file.load(0, self.size)
        self.assertTrue(self.file.is_cached(0, self.size))

    def test_load_reads_all(self) -> None:
        """Every byte that is to be loaded is read, and the end of the file ends it."""
        real, read = os.pread, []

        def pread(fd: int, size: int, position: int) -> bytes:
            data = real(fd, size, position)
            read.append((position, len(data)))
            return data

        with mock.patch.object(os, "pread", pread):
            self.file.load(5, self.size)
        self.assertEqual(read[0][0], 5)
        self.assertEqual(sum(size for _, size in read), self.size - 5)

    def test_load_ahead(self) -> None:
        """Reading ahead asks the kernel and does not wait; an empty part is not the whole file."""
        asked = []
        with (
            mock.patch.object(
                os, "posix_fadvise", lambda fd, at, size, advice: asked.append((at, size)), create=True
            ),
            mock.patch.object(os, "POSIX_FADV_WILLNEED", 3, create=True),
            mock.patch.object(os, "pread", mock.Mock(side_effect=AssertionError)),
        ):
            self.file.load(7, 0, 100)
            self.file.load(7, 0, 0)
        self.assertEqual(asked, [(7, 100)])
