"""The two indexes of a segment, in Apache Kafka's formats; entries are big-endian.

``.index``: ``relative offset u32, position u32``. The batch at *position* in the ``.log`` file ends with
base offset + *relative offset*. Both rise strictly; *position* is never 0, for the start needs no entry.

``.timeindex``: ``timestamp i64, relative offset u32``. No record up to the offset is later than
*timestamp* (ms). Both rise; the last entry of a closed segment has the segment's largest timestamp.

An index is loaded when it is first asked, held as arrays, and each new entry goes to the file at once.
A damaged one is never trusted: :class:`IndexDamaged` asks the segment to build it anew.
"""

from __future__ import annotations

import operator
import os
import struct
import sys
from array import array
from bisect import bisect_left, bisect_right
from itertools import islice

from kafkatx.log.files import Files
from kafkatx.types import NO_TIMESTAMP, SharedFile

OFFSET_ENTRY = struct.Struct(">II")
TIME_ENTRY = struct.Struct(">qI")


class IndexDamaged(Exception):
    """What the file holds cannot be an index of its segment."""


class _Index:
    """What both have in common: two columns, written through to a file. :meth:`load` comes first."""

    entry: struct.Struct
    keys: array[int]
    """The rising column that is searched."""
    values: array[int]

    def __init__(self, files: Files, path: str, base_offset: int) -> None:
        self.path = path
        self.base_offset = base_offset
        self.loaded = False
        self.unsynced = False
        self._files = files
        self._file: SharedFile | None = None

    def __len__(self) -> int:
        return len(self.keys)

    def load(self) -> None:
        """Read the file once.

        :raises IndexDamaged: there is none, or it is not a whole number of sound entries.
        """
        if self.loaded:
            return
        data = self._files.read(self.path)
        if data is None or len(data) % self.entry.size:
            raise IndexDamaged(self.path)
        self._fill(data)
        self.loaded = True

    def _fill(self, data: bytes) -> None:
        raise NotImplementedError

    def _check(self, sound: bool) -> None:
        if not sound:
            raise IndexDamaged(self.path)

    def reset(self) -> None:
        """Empty the index and its file, making the file where it is missing."""
        self._fill(b"")
        self.loaded = True
        self.unsynced = True
        self._file = self._files.create(self.path)

    def last_entry(self) -> tuple[int, int] | None:
        """The last entry as it is in the file, without loading the rest.

        :raises IndexDamaged: there is no file or it ends inside an entry.
        """
        size = self._files.size(self.path)
        if size % self.entry.size or not self._files.exists(self.path):
            raise IndexDamaged(self.path)
        if not size:
            return None
        file = self._files.open(self.path, os.O_RDONLY)
        first, second = self.entry.unpack(self._files.pread(file, self.entry.size, size - self.entry.size))
        return first, second

    def _append(self, first: int, second: int) -> None:
        """Write an entry, then hold it: a failed write leaves the memory as it was."""
        if self._file is None:
            self._file = self._files.open(self.path)
        size = self.entry.size
        self._files.writev(self._file, [self.entry.pack(first, second)], len(self.keys) * size, size)
        self.unsynced = True

    def cut(self, entries: int) -> None:
        """Keep the first *entries* only."""
        if entries >= len(self.keys):
            return
        del self.keys[entries:]
        del self.values[entries:]
        self.unsynced = True
        if self._file is None:
            self._file = self._files.open(self.path)
        self._files.truncate(self._file, entries * self.entry.size)

    def to_sync(self) -> SharedFile | None:
        """The file, if it holds what no one has synced; it counts as synced from now on."""
        if not self.unsynced:
            return None
        self.unsynced = False
        if self._file is None:
            self._file = self._files.open(self.path)
        return self._file

    def release(self) -> None:
        """Let the descriptor go; the next append opens another."""
        self._file = None


class OffsetIndex(_Index):
    """``.index``: offsets to positions."""

    entry = OFFSET_ENTRY

    def _fill(self, data: bytes) -> None:
        columns = array("I", data)
        if sys.byteorder == "little":
            columns.byteswap()
        self.keys, self.values = columns[0::2], columns[1::2]
        self._check(_rising(self.keys) and _rising(self.values) and (not data or self.values[0] > 0))

    def append(self, last_offset: int, position: int) -> None:
        """Note that the batch at *position* ends with *last_offset*."""
        relative = last_offset - self.base_offset
        self._append(relative, position)
        self.keys.append(relative)
        self.values.append(position)

    def floor(self, offset: int) -> int:
        """A position at or before that of the batch that holds *offset*: the best that is known."""
        slot = bisect_right(self.keys, max(offset - self.base_offset, 0)) - 1
        return self.values[slot] if slot >= 0 else 0

    def cut_from(self, offset: int) -> None:
        """Drop the entries of *offset* and beyond."""
        self.cut(bisect_left(self.keys, max(offset - self.base_offset, 0)))


class TimeIndex(_Index):
    """``.timeindex``: timestamps to offsets. ``keys`` are timestamps, ``values`` relative offsets."""

    entry = TIME_ENTRY

    def _fill(self, data: bytes) -> None:
        words = array("I", data)
        times = array("I", bytes(len(words) // 3 * 8))
        if sys.byteorder == "little":
            words.byteswap()
            times[1::2], times[0::2] = words[0::3], words[1::3]
        else:
            times[0::2], times[1::2] = words[0::3], words[1::3]
        self.keys, self.values = array("q", times.tobytes()), words[2::3]
        self._check(_rising(self.keys) and all(map(operator.le, self.values, islice(self.values, 1, None))))

    def append(self, timestamp: int, offset: int) -> None:
        """Note the largest timestamp so far, if it is a new one, and its batch's last offset."""
        if timestamp > (self.keys[-1] if self.keys else NO_TIMESTAMP):
            self._append(timestamp, offset - self.base_offset)
            self.keys.append(timestamp)
            self.values.append(offset - self.base_offset)

    def floor(self, timestamp: int) -> int:
        """An offset below which no record is at or after *timestamp*."""
        slot = bisect_left(self.keys, timestamp) - 1
        return self.base_offset + (self.values[slot] if slot >= 0 else 0)

    def cut_from(self, offset: int) -> None:
        """Drop the entries of *offset* and beyond."""
        self.cut(bisect_left(self.values, max(offset - self.base_offset, 0)))


def _rising(column: array[int]) -> bool:
    return all(map(operator.lt, column, islice(column, 1, None)))
