"""A file system that a test can fill: every write fails with ENOSPC until there is room again."""

from __future__ import annotations

import errno
import os

from kafkatx.log.files import Buffers, Files
from kafkatx.types import SharedFile


class FillableFiles(Files):
    """The files of a broker's logs.

    :ivar full: True: nothing can be written. Any thread may set it.
    """

    def __init__(self) -> None:
        self.full = False

    def create(self, path: str) -> SharedFile:
        """Create a file; see :meth:`Files.create`."""
        self._check(path)
        return super().create(path)

    def writev(self, file: SharedFile, buffers: Buffers, position: int, size: int) -> None:
        """Write; see :meth:`Files.writev`."""
        self._check(file.path)
        super().writev(file, buffers, position, size)

    def _check(self, path: str) -> None:
        if self.full:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), path)
