"""The files of one segment: names, descriptors, creation and removal.

File names are the base offset in 20 digits. Files are opened when they are first used: ten thousand idle
partitions need no descriptors.
"""

from __future__ import annotations

import contextlib
import os

from kafkatx.log.files import Files
from kafkatx.log.segment.descriptors import Descriptors
from kafkatx.log.segment.index import OffsetIndex, TimeIndex
from kafkatx.types import SharedFile

LOG, INDEX, TIME_INDEX, SNAPSHOT, DELETED = ".log", ".index", ".timeindex", ".snapshot", ".deleted"
TRANSACTION_INDEX = ".txnindex"
_SUFFIXES = (LOG, INDEX, TIME_INDEX, SNAPSHOT, TRANSACTION_INDEX)
"""All suffixes that a segment may have; it has the last one only if transactions were aborted in it."""


def file_name(base_offset: int, suffix: str) -> str:
    """Return the name of one of a segment's files."""
    return f"{base_offset:020d}{suffix}"


class SegmentFiles:
    """A ``.log`` file, its two indexes, and the other files of the same name.

    :ivar descriptors: is told of opened and closed files; only segments of the reactor thread have one.
    :ivar unsynced: True if the ``.log`` file, or its entry in the directory, was not synced since a change.
    """

    __slots__ = (
        "__weakref__",
        "_file",
        "_files",
        "base_offset",
        "descriptors",
        "directory",
        "index",
        "time_index",
        "unsynced",
    )

    def __init__(self, files: Files, directory: str, base_offset: int) -> None:
        self._files = files
        self._file: SharedFile | None = None
        self.directory = directory
        self.base_offset = base_offset
        self.index = OffsetIndex(files, self.path(INDEX), base_offset)
        self.time_index = TimeIndex(files, self.path(TIME_INDEX), base_offset)
        self.descriptors: Descriptors | None = None
        self.unsynced = False

    def make(self) -> None:
        """Make the three files, empty.

        :raises OSError: one cannot be made; none is left, for a later start would take it for the active one.
        """
        try:
            self._files.create(self.path(LOG))
            self.index.reset()
            self.time_index.reset()
        except OSError:
            with contextlib.suppress(OSError):
                self.remove()
            raise
        self.release()
        self.unsynced = True

    def path(self, suffix: str) -> str:
        """Return the path of one of its files."""
        return os.path.join(self.directory, file_name(self.base_offset, suffix))

    @property
    def file(self) -> SharedFile:
        """The open ``.log`` file."""
        file = self._file
        if file is None:
            file = self._file = self._files.open(self.path(LOG))
            if self.descriptors is not None:
                self.descriptors.opened(self)
        return file

    def share(self, twin: SegmentFiles) -> None:
        """Use the files that a worker has opened for its twin."""
        if self._file is None and twin._file is not None:
            self._file = twin._file
            if self.descriptors is not None:
                self.descriptors.opened(self)
        self.index.share(twin.index)

    def to_sync(self) -> list[SharedFile | str]:
        """Return the files (or paths, if not open) that must be synced; they count as synced from now on."""
        found = [index for index in (self.index.to_sync(), self.time_index.to_sync()) if index]
        if self.unsynced:
            self.unsynced = False
            found.append(self._file or self.path(LOG))
        return found

    def release(self) -> None:
        """Close all files; the next use opens them again."""
        self._file = None
        self.index.release()
        self.time_index.release()
        if self.descriptors is not None:
            self.descriptors.released(self)

    def put_aside(self) -> list[str]:
        """Rename all its files to ``.deleted``; return their paths, to be unlinked."""
        paths = []
        for suffix in _SUFFIXES:
            path = self.path(suffix)
            if self._files.exists(path):
                self._files.rename(path, path + DELETED)
                paths.append(path + DELETED)
        return paths

    def remove(self) -> None:
        """Unlink its files, the indexes after the ``.log``'s other files and the ``.log`` last."""
        for suffix in reversed(_SUFFIXES):
            self._files.unlink(self.path(suffix))
