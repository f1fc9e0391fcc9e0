"""The two indexes of a segment, in Apache Kafka's formats; entries are big-endian.

``.index``: ``relative offset u32, position u32``. The batch at *position* in the ``.log`` file ends with
base offset + *relative offset*. Both rise strictly; *position* is never 0, for the start needs no entry.

``.timeindex``: ``timestamp i64, relative offset u32``. No record up to the offset is later than
*timestamp* (ms). Both rise; the last entry of a closed segment has the segment's largest timestamp.

The index of the active segment is held in arrays, and new entries are written to the file at once. That
of a closed segment is searched in its file: for a gigabyte it would take 5 MiB of memory. A damaged index is
never used: on :class:`IndexDamaged` the segment rebuilds it, and every entry is compared with the log.
"""

from __future__ import annotations

import operator
import struct
import sys
from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from contextlib import suppress
from itertools import islice, starmap

from kafkatx.log.files import Files, Reads
from kafkatx.types import NO_TIMESTAMP, SharedFile

OFFSET_ENTRY = struct.Struct(">II")
TIME_ENTRY = struct.Struct(">qI")


IndexEntries = tuple[int, int, int, int]
"""What both indexes are told of one batch: its last offset, its position in the ``.log`` file, the segment's
largest timestamp until its end (ms), and the last offset of the batch that has that timestamp."""


class IndexDamaged(Exception):
    """The content of the file cannot be an index of its segment."""


class _Index:
    """The base of both indexes: two columns, written through to a file. Call :meth:`load` first."""

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

    def unload(self) -> None:
        """Free the arrays; the file has all entries."""
        self._fill(b"")
        self.loaded = False

    def entries_in_file(self) -> int:
        """Return the number of entries in the file.

        :raises IndexDamaged: there is no file or it ends inside an entry.
        """
        size = self._files.size(self.path)
        if size % self.entry.size or not (size or self._files.exists(self.path)):
            raise IndexDamaged(self.path)
        return size // self.entry.size

    def entry_in_file(self, number: int, reads: Reads | None = None) -> tuple[int, int]:
        """Return an entry, read from the file.

        :param reads: reads it; by default the files.
        :raises IndexDamaged: there is no such entry.
        """
        data = (reads or self._files).pread(self.open(), self.entry.size, number * self.entry.size)
        if len(data) < self.entry.size:
            raise IndexDamaged(self.path)
        first, second = self.entry.unpack(data)
        return first, second

    def open(self) -> SharedFile:
        """Return the file, opened if necessary.

        :raises IndexDamaged: there is none.
        """
        file = self._file
        if file is None:
            try:
                file = self._file = self._files.open(self.path)
            except FileNotFoundError:
                raise IndexDamaged(self.path) from None
        return file

    @property
    def is_open(self) -> bool:
        """True if the file is open."""
        return self._file is not None

    def share(self, other: _Index) -> None:
        """Use the file that another has open, if this one has none."""
        self._file = self._file or other._file

    def reset(self) -> None:
        """Empty the index and its file, making the file where it is missing."""
        self._fill(b"")
        self.loaded = True
        self.unsynced = True
        self._file = self._files.create(self.path)

    def last_entry(self) -> tuple[int, int] | None:
        """Return the last entry in the file, without loading the others; None if it is empty.

        :raises IndexDamaged: there is no file or it ends inside an entry.
        """
        entries = self.entries_in_file()
        if not entries:
            return None
        try:
            return self.entry_in_file(entries - 1)
        finally:
            self.release()

    def _append(self, first: int, second: int) -> None:
        """Write an entry, then hold it: a failed write leaves the memory as it was."""
        file = self._file
        if file is None:
            file = self._file = self._files.open(self.path)
        size = self.entry.size
        self._files.writev(file, [self.entry.pack(first, second)], len(self.keys) * size, size)
        self.unsynced = True
        self.keys.append(first)
        self.values.append(second)

    def _extend(self, entries: Sequence[tuple[int, int]]) -> None:
        """Write entries with one call, as :meth:`_append`."""
        file = self._file
        if file is None:
            file = self._file = self._files.open(self.path)
        data = b"".join(starmap(self.entry.pack, entries))
        end = len(self.keys) * self.entry.size
        self.unsynced = True
        try:
            self._files.writev(file, [data], end, len(data))
        except OSError:
            with suppress(OSError):  # whole entries may be in the file, of batches that are cut off now
                self._files.truncate(file, end)
            raise
        keys, values = zip(*entries, strict=True)
        self.keys.extend(keys)
        self.values.extend(values)

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

    def to_sync(self) -> SharedFile | str | None:
        """Return the file (if not open, its path) if it must be synced; it counts as synced from now on."""
        if not self.unsynced:
            return None
        self.unsynced = False
        return self._file or self.path

    def release(self) -> None:
        """Close the file; the next append opens it again."""
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
        """Add an entry: the batch at *position* ends with *last_offset*."""
        self._append(last_offset - self.base_offset, position)

    def extend(self, entries: Sequence[IndexEntries]) -> None:
        """Add an entry for each of these batches, with one write."""
        base_offset = self.base_offset
        self._extend([(last_offset - base_offset, position) for last_offset, position, _, _ in entries])

    def number_before(self, offset: int, reads: Reads | None = None) -> int:
        """Return the number of the last entry that is not beyond *offset*; -1 if there is none.

        :param reads: search in the file: some twenty reads of 8 bytes.
        :raises IndexDamaged: there is no file, or it ends inside an entry.
        """
        most = max(offset - self.base_offset, 0)
        return bisect_right(self.keys, most) - 1 if reads is None else self._number_in_file(0, most, reads)

    def last_until(self, position: int) -> tuple[int, int]:
        """Return last offset and position of the last entry until *position*; (-1, 0) if there is none."""
        slot = bisect_right(self.values, position) - 1
        return (self.base_offset + self.keys[slot], self.values[slot]) if slot >= 0 else (-1, 0)

    def last_until_in_file(self, position: int, reads: Reads) -> tuple[int, int]:
        """Return the same as :meth:`last_until`, by a search in the file.

        :raises IndexDamaged: as :meth:`floor_in_file`.
        """
        number = self._number_in_file(1, position, reads)
        if number < 0:
            return -1, 0
        relative, begins = self.entry_in_file(number, reads)
        return self.base_offset + relative, begins

    def _number_in_file(self, column: int, most: int, reads: Reads) -> int:
        """Return the number of the last entry whose *column* is not above *most*."""

        def value(number: int) -> int:
            return self.entry_in_file(number, reads)[column]

        return bisect_right(range(self.entries_in_file()), most, key=value) - 1

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

    def extend(self, entries: Sequence[IndexEntries]) -> None:
        """Note the largest timestamps until these batches, as :meth:`append` does, with one write."""
        latest = self.keys[-1] if self.keys else NO_TIMESTAMP
        new: list[tuple[int, int]] = []
        for _, _, timestamp, offset in entries:
            if timestamp > latest:
                latest = timestamp
                new.append((timestamp, offset - self.base_offset))
        if new:
            self._extend(new)

    def floor(self, timestamp: int) -> int:
        """Return an offset below which no record is at or after *timestamp*.

        It is that of the entry before the last one that says so: one entry that lies makes no difference.
        """
        slot = bisect_left(self.keys, timestamp) - 2
        return self.base_offset + (self.values[slot] if slot >= 0 else 0)

    def cut_from(self, offset: int) -> None:
        """Drop the entries of *offset* and beyond."""
        self.cut(bisect_left(self.values, max(offset - self.base_offset, 0)))


def _rising(column: array[int]) -> bool:
    return all(map(operator.lt, column, islice(column, 1, None)))
