"""Checks a segment's two indexes against its log; see :mod:`kafkatx.log.segment.index`. Reads files.

Both checks get the segment's batches one by one and read their file in parallel, so that memory does not
grow. They stop at the first fault, because an index is rebuilt as a whole.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from struct import Struct

from kafkatx.log.files import Files
from kafkatx.log.inspect.faults import Fault, Remedy
from kafkatx.log.segment.index import OFFSET_ENTRY, TIME_ENTRY
from kafkatx.log.segment.scan import Shallow
from kafkatx.types import NO_TIMESTAMP

_ENTRIES_AT_ONCE = 4096
_LONGEST_REST = 4096 + 2 * (1 << 20)
"""Bytes that may follow the last entry: the defaults of index.interval.bytes and twice message.max.bytes."""


def read_entries(files: Files, path: str, entry: Struct) -> Iterator[tuple[int, int, int]]:
    """Yield (position in the file, first field, second field); an incomplete entry is omitted.

    :raises OSError: the file cannot be read.
    """
    file = files.open(path, os.O_RDONLY)
    position = 0
    while True:
        data = files.pread(file, _ENTRIES_AT_ONCE * entry.size, position)
        whole = len(data) - len(data) % entry.size
        for number, (first, second) in enumerate(entry.iter_unpack(data[:whole])):
            yield position + number * entry.size, first, second
        position += whole
        if whole < _ENTRIES_AT_ONCE * entry.size:
            return


class _IndexCheck:
    """Base of the two checks.

    :param growing: a broker may be writing: entries beyond the checked part of the log are not checked, nor
        are zeros at the end, which Apache Kafka preallocates.
    """

    entry: Struct

    def __init__(self, files: Files, path: str, base_offset: int, growing: bool) -> None:
        self.path = path
        self.fault: Fault | None = None
        self._base_offset = base_offset
        self._growing = growing
        self._last: tuple[int, int] | None = None
        self._next: tuple[int, int, int] | None = None
        self._entries: Iterator[tuple[int, int, int]] = iter(())
        if not files.exists(path):
            self._fail(None, "the file is missing")
            return
        rest = files.size(path) % self.entry.size
        if rest and not growing:
            self._fail(files.size(path) - rest, f"the file ends {rest} bytes into an entry")
            return
        self._entries = read_entries(files, path, self.entry)
        self._advance()

    def _fail(self, position: int | None, problem: str) -> None:
        if self.fault is None:
            self.fault = Fault(self.path, position, problem, Remedy.REINDEX)
        self._next = None
        self._entries = iter(())

    def _advance(self) -> None:
        """Read the next entry, which must be above the previous one."""
        self._next = next(self._entries, None)
        if self._next is None:
            return
        position, first, second = self._next
        if self._growing and not first and not second:
            self._next = None
            self._entries = iter(())
            return
        if self._last is not None and not self._rises(self._last, (first, second)):
            self._fail(position, "the entry is not above the one before it")
        self._last = first, second

    def _rises(self, before: tuple[int, int], after: tuple[int, int]) -> bool:
        raise NotImplementedError


class OffsetIndexCheck(_IndexCheck):
    """The check of an offset index.

    An entry must have the position of a batch, and the last offset of that batch or of a later one: Apache
    Kafka's followers index the last offset of several batches that are appended at once.
    """

    entry = OFFSET_ENTRY

    def __init__(self, files: Files, path: str, base_offset: int, growing: bool) -> None:
        self._open: tuple[int, int] | None = None
        self._indexed = 0
        self._longest = 0
        super().__init__(files, path, base_offset, growing)

    def _rises(self, before: tuple[int, int], after: tuple[int, int]) -> bool:
        return before[0] < after[0] and before[1] < after[1]

    def feed(self, batch: Shallow, first_offset: int) -> None:
        """Check the entries of the next batch; *first_offset* is its base offset, as far as known."""
        if batch.size > self._longest:
            self._longest = batch.size
        if self._next is not None and self._next[2] <= batch.position:
            self._reach(batch, first_offset)
        if self._open is not None and batch.last_offset >= self._open[1]:
            if batch.last_offset > self._open[1]:
                self._fail(self._open[0], f"no batch ends with offset {self._open[1]}")
            self._open = None

    def _reach(self, batch: Shallow, first_offset: int) -> None:
        assert self._next is not None
        at, relative, position = self._next
        offset = self._base_offset + relative
        if position < batch.position or not position:
            self._fail(at, f"no batch begins at byte {position} of the log, or it needs no entry")
        elif offset < first_offset:
            self._fail(at, f"points beyond offset {offset}, to the batch that begins with {first_offset}")
        elif self._open is not None:
            self._fail(self._open[0], f"no batch ends with offset {self._open[1]}")
        else:
            self._open = at, offset
            self._longest = max(self._longest, position - self._indexed)
            self._indexed = position
            self._advance()

    def finish(self, size: int) -> None:
        """Check the remaining entries; the log ends at *size*."""
        if self._growing:
            return
        if self._next is not None:
            self._fail(self._next[0], f"points to byte {self._next[2]} of a log of {size} bytes")
        elif self._open is not None:
            self._fail(self._open[0], f"no batch ends with offset {self._open[1]}")
        elif size - self._indexed > _LONGEST_REST + 2 * self._longest:
            self._fail(None, f"no entry is for the last {size - self._indexed} bytes of the log")


class TimeIndexCheck(_IndexCheck):
    """The check of a time index.

    An entry must have the largest timestamp up to its offset; the last entry the segment's largest.

    :param closed: the segment is not appended to any more, so its last entry exists.
    """

    entry = TIME_ENTRY

    def __init__(self, files: Files, path: str, base_offset: int, growing: bool, closed: bool) -> None:
        self._newest = NO_TIMESTAMP
        self._closed = closed
        super().__init__(files, path, base_offset, growing)

    def _rises(self, before: tuple[int, int], after: tuple[int, int]) -> bool:
        return before[0] < after[0] and before[1] <= after[1]

    def feed(self, batch: Shallow) -> None:
        """Check the entries of the next batch."""
        if batch.max_timestamp > self._newest:
            self._newest = batch.max_timestamp
        while self._next is not None and self._base_offset + self._next[2] <= batch.last_offset:
            at, timestamp, relative = self._next
            if timestamp != self._newest:
                offset = self._base_offset + relative
                self._fail(at, f"says {timestamp}, up to offset {offset} the newest is {self._newest}")
                return
            self._advance()

    def finish(self) -> None:
        """Check the remaining entries at the end of the log."""
        if self._next is not None and not self._growing:
            self._fail(self._next[0], f"offset {self._base_offset + self._next[2]} is not in the segment")
        elif self._closed and self._newest > (self._last[0] if self._last else NO_TIMESTAMP):
            self._fail(None, f"the last entry is not the segment's newest timestamp, {self._newest}")
