"""One segment of a log: a ``.log`` file and its two indexes.

A segment knows no other segment. Batches follow each other from position 0; offsets may have gaps after
compaction.

Used from the reactor thread, or from a worker while the log is loaded; never from both.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterable
from typing import NamedTuple

from zope.interface import implementer

from kafkatx.errors import CorruptRecords
from kafkatx.interfaces import ISegmentFacts
from kafkatx.log.files import Buffers, Files
from kafkatx.log.segment.batches import BatchInfo
from kafkatx.log.segment.files import DELETED, INDEX, LOG, TIME_INDEX
from kafkatx.log.segment.index import IndexDamaged, IndexEntries
from kafkatx.log.segment.scan import Shallow, walk
from kafkatx.log.segment.search import Followed, SearchedSegment
from kafkatx.types import NO_TIMESTAMP

MAX_SEGMENT_BYTES = 2**31 - 1
_KNOWN_POSITIONS = 64


class Mark(NamedTuple):
    """The state of a segment before a write, for :meth:`LogSegment.restore`."""

    size: int
    since_index_bytes: int
    max_timestamp: int
    max_timestamp_offset: int
    index_entries: int
    time_index_entries: int


@implementer(ISegmentFacts)
class LogSegment(SearchedSegment):
    """One segment. Offsets are absolute, positions and sizes in bytes, times in ms.

    :ivar known: positions of batch boundaries by the offset that follows them: a consumer's next fetch begins
        where its previous one ended.
    """

    __slots__ = (
        "_trusts_indexes",
        "created_ms",
        "known",
        "max_timestamp",
        "max_timestamp_offset",
        "since_index_bytes",
    )

    def __init__(self, files: Files, directory: str, base_offset: int, size: int, created_ms: int) -> None:
        super().__init__(files, directory, base_offset)
        self.size = size
        self.created_ms = created_ms
        self.max_timestamp = NO_TIMESTAMP
        self.max_timestamp_offset = base_offset
        self.since_index_bytes = 0
        self.written_from = size
        self._trusts_indexes = False
        self.known: dict[int, int] = {base_offset: 0}

    @classmethod
    def create(cls, files: Files, directory: str, base_offset: int, now_ms: int) -> LogSegment:
        """Make an empty segment.

        :raises OSError: as :meth:`make`.
        """
        segment = cls(files, directory, base_offset, 0, now_ms)
        segment.make()
        segment._ready = True
        return segment

    @property
    def is_open(self) -> bool:
        """True if all files that a lookup needs are open."""
        return self._file is not None and (self._ready or self.index.is_open)

    def twin(self) -> LogSegment:
        """Return a copy of the segment as it is now, for lookups in a worker.

        Loaded indexes are shared: a worker looks for offsets that exist already, and never meets the entries
        that are being added. It must not rebuild them.
        """
        twin = LogSegment(self._files, self.directory, self.base_offset, self.size, self.created_ms)
        twin.max_timestamp, twin.max_timestamp_offset = self.max_timestamp, self.max_timestamp_offset
        twin.sparse_below, twin.followed = self.sparse_below, self.followed
        twin.written_from, twin.incomplete = self.written_from, self.incomplete
        twin._file = self._file
        if self._ready:
            twin.index, twin.time_index = self.index, self.time_index
            twin._ready = twin._trusts_indexes = True
        return twin

    @property
    def size_bytes(self) -> int:
        """See ISegmentFacts."""
        return self.size

    @property
    def max_timestamp_ms(self) -> int:
        """See ISegmentFacts: the largest timestamp, or when the file was last written."""
        if self.max_timestamp >= 0:
            return self.max_timestamp
        try:
            return self._files.mtime_ms(self.path(LOG))
        except FileNotFoundError:
            return self._files.mtime_ms(self.path(LOG) + DELETED)  # dropped a moment ago

    # --- appending

    def write(
        self, buffers: Buffers, batches: Iterable[BatchInfo], size: int, index_interval_bytes: int
    ) -> None:
        """Append *buffers*, which are *batches* of *size* bytes in all, and note them in the indexes.

        :raises OSError: the segment is as it was.
        """
        if not self._ready:
            self.make_ready()
        position = self.size
        since = self.since_index_bytes
        entries = len(self.index.keys), len(self.time_index.keys)
        newest, newest_offset = self.max_timestamp, self.max_timestamp_offset
        indexed: list[IndexEntries] = []
        self.unsynced = True
        try:
            self._files.writev(self._file or self.file, buffers, position, size)
            for batch_size, _, last_offset, max_timestamp in batches:
                if max_timestamp > newest:
                    newest, newest_offset = max_timestamp, last_offset
                if since > index_interval_bytes:
                    indexed.append((last_offset, position, newest, newest_offset))
                    since = 0
                since += batch_size
                position += batch_size
            if len(indexed) > 1:
                self.index.extend(indexed)
                self.time_index.extend(indexed)
            elif indexed:
                ((last_offset, at, timestamp, timestamp_offset),) = indexed
                self.index.append(last_offset, at)
                self.time_index.append(timestamp, timestamp_offset)
        except OSError:
            self.restore(
                Mark(
                    self.size,
                    self.since_index_bytes,
                    self.max_timestamp,
                    self.max_timestamp_offset,
                    *entries,
                )
            )
            raise
        self.max_timestamp, self.max_timestamp_offset = newest, newest_offset
        self.since_index_bytes = since
        self.size = position

    def mark(self) -> Mark:
        """Return the current state, for :meth:`restore`."""
        self.make_ready()
        return Mark(
            self.size,
            self.since_index_bytes,
            self.max_timestamp,
            self.max_timestamp_offset,
            len(self.index),
            len(self.time_index),
        )

    def restore(self, mark: Mark) -> None:
        """Cut the files back to a mark; if the disk refuses, the next write overwrites the rest."""
        self.size, self.since_index_bytes, self.max_timestamp, self.max_timestamp_offset, *entries = mark
        with contextlib.suppress(OSError):
            self.index.cut(entries[0])
        with contextlib.suppress(OSError):
            self.time_index.cut(entries[1])
        with contextlib.suppress(OSError):
            self._files.truncate(self.file, mark.size)

    def index_full(self, segment_index_bytes: int) -> bool:
        """Return True if an index has no room for another entry; one is reserved for :meth:`finish`."""
        if not self._ready:
            self.make_ready()
        return (
            len(self.index) * 8 + 8 > segment_index_bytes
            or len(self.time_index) * 12 + 24 > segment_index_bytes
        )

    def finish(self) -> None:
        """Close the segment to appends: add the largest timestamp as the last entry of the time index."""
        self.make_ready()
        if self.max_timestamp > NO_TIMESTAMP:
            self.time_index.append(self.max_timestamp, self.max_timestamp_offset)

    # --- reading

    def position_of(self, offset: int) -> int:
        """Return the position of the first batch that ends at or after *offset*; the size if none does."""
        position = self.known.get(offset)
        if position is None:
            batch = self.find(offset, rebuild=False)
            position = batch.position if batch else self.size
            self.remember(offset, position)
        return position

    def cached_position(self, offset: int) -> int | None:
        """Return the same as :meth:`position_of`; None if that would wait for the disk, or fail."""
        position = self.known.get(offset)
        if position is None and self.is_open:
            try:
                batch = self.find_in_cache(offset)
            except (OSError, CorruptRecords, IndexDamaged):
                return None
            position = batch.position if batch else self.size
            self.remember(offset, position)
        return position

    def whole_until(self, position: int, limit: int) -> int | None:
        """Return the end of the last whole batch between *position*, where a batch begins, and *limit*.

        It is *position* if no batch is whole; None if that would wait for the disk, or fails. The position is
        remembered for the reader's next fetch.
        """
        reads, index = self._files.cached, self.index
        end, following = position, -1
        try:
            last, begins = index.last_until(limit) if self._ready else index.last_until_in_file(limit, reads)
            start = max(position, begins)
            for batch in walk(reads, self.file, start, self.size):
                if batch.position == start > position and not self.base_offset <= batch.last_offset <= last:
                    return None  # the index is damaged
                end = batch.position
                if end + batch.size > limit:
                    if following < 0 and batch.magic == 2:
                        following = batch.base_offset
                    break
                end, following = end + batch.size, batch.last_offset + 1
        except (OSError, CorruptRecords, IndexDamaged):
            return None
        if end > position and following >= 0:
            self.remember(following, end)
        return end

    def remember(self, offset: int, position: int) -> None:
        """Remember the position of *offset* for a later read."""
        if len(self.known) >= _KNOWN_POSITIONS:
            self.known.clear()
        self.known[offset] = position

    def floor(self, offset: int) -> int:
        """Return a position not after that of *offset*, without reading the log."""
        known = self.known.get(offset)
        if known is not None:
            return known
        try:
            found = self.entry_before(offset, self._files)
        except IndexDamaged:
            self.make_ready()
            found = self.entry_before(offset, self._files)
        return found.position if found else 0

    def next_offset(self) -> int:
        """Return the offset after the last record; the base offset if there is none.

        :raises CorruptRecords: the batches after the last index entry are damaged.
        """
        self.make_ready()
        last = self.base_offset - 1
        for batch in self.walk(self.index.values[-1] if len(self.index) else 0):
            last = batch.last_offset
        return last + 1

    # --- indexes

    def make_ready(self) -> None:
        """Load the indexes; rebuild them if they are damaged."""
        if self._ready:
            return
        try:
            self.index.load()
            self.time_index.load()
        except IndexDamaged:
            self.reindex()
        self._ready = True

    def unload(self) -> None:
        """Free the indexes' arrays of a closed segment; lookups search the files from now on."""
        self._ready = False
        self.index.unload()
        self.time_index.unload()

    def reindex(self, index_interval_bytes: int = 4096) -> None:
        """Rebuild both indexes from the log, up to the first damaged batch; wrong offsets are left out.

        :raises CorruptRecords: this is a twin, which must not write them.
        :raises OSError: a file cannot be opened or written; FileNotFoundError where retention took it.
        """
        path = self.file.path
        if self._trusts_indexes or self._files.size(path) < self.size:
            raise CorruptRecords(f"{path} is not what its indexes say")
        self.index.reset()
        self.time_index.reset()
        self.known = {self.base_offset: 0}
        self.followed = Followed()
        self.max_timestamp, self.max_timestamp_offset = NO_TIMESTAMP, self.base_offset
        self.since_index_bytes = 0
        self._ready = True
        self.incomplete = False
        expected = self.base_offset
        try:
            for batch, right in self.chained(self.walk(), expected):
                if right:
                    self.note(batch, index_interval_bytes)
                    expected = batch.last_offset + 1
                else:
                    expected += batch.last_offset - batch.base_offset + 1
                    if batch.max_timestamp > self.max_timestamp:
                        self.max_timestamp, self.max_timestamp_offset = batch.max_timestamp, expected - 1
        except CorruptRecords:
            self.incomplete = True
        self.finish()

    def note(self, batch: Shallow, index_interval_bytes: int) -> None:
        """Add a batch that is in the file already, the last one so far, to the indexes."""
        if batch.max_timestamp > self.max_timestamp:
            self.max_timestamp, self.max_timestamp_offset = batch.max_timestamp, batch.last_offset
        if self.since_index_bytes > index_interval_bytes:
            self.index.append(batch.last_offset, batch.position)
            self.time_index.append(self.max_timestamp, self.max_timestamp_offset)
            self.since_index_bytes = 0
        self.since_index_bytes += batch.size

    def move_to(self, directory: str) -> None:
        """Use the files in another directory, which has the same; readers of the old ones go on."""
        self.release()
        self.directory = directory
        self.index.path = self.path(INDEX)
        self.time_index.path = self.path(TIME_INDEX)

    # --- cutting and going

    def truncate(self, position: int, offset: int) -> None:
        """Cut the file at *position*, where the batch with *offset* begins; the indexes follow."""
        self.rewind(position, offset)
        self.unsynced = True
        self._files.truncate(self.file, position)

    def rewind(self, position: int, offset: int) -> None:
        """Forget what lies from *position* on, where the batch with *offset* begins; the file stays."""
        self.make_ready()
        self.size = position
        self.known = {self.base_offset: 0}
        self.followed = Followed()
        self.index.cut_from(offset)
        self.time_index.cut_from(offset)
        self.max_timestamp, self.max_timestamp_offset = NO_TIMESTAMP, self.base_offset
        if len(self.time_index):
            self.max_timestamp = self.time_index.keys[-1]
            self.max_timestamp_offset = self.base_offset + self.time_index.values[-1]
        start = self.index.values[-1] if len(self.index) else 0
        self.since_index_bytes = position - start
        # The time index lacks what follows its last entry.
        for batch in self.walk(start):
            if batch.max_timestamp > self.max_timestamp:
                self.max_timestamp, self.max_timestamp_offset = batch.max_timestamp, batch.last_offset
