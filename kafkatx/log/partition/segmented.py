"""The reading half of the log in files: offsets and times to positions in segments.

The reactor thread reads headers here, of batches that were just written, or that
:meth:`SegmentedLog.warm` has brought into the page cache; records are sent by the file's own bytes.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable
from functools import partial
from typing import ParamSpec

from twisted.internet.defer import Deferred
from twisted.logger import Logger
from twisted.python.failure import Failure

from kafkatx.errors import CorruptRecords
from kafkatx.interfaces import Worker
from kafkatx.log.files import Files
from kafkatx.log.partition.appender import StagedLog
from kafkatx.log.partition.stoppable import Stop, run_stoppable
from kafkatx.log.segment import page_cache, time_lookup
from kafkatx.log.segment.descriptors import Descriptors
from kafkatx.log.segment.scan import ALWAYS_SPARSE
from kafkatx.log.segment.segment import LogSegment
from kafkatx.records.batch import Record
from kafkatx.types import FileSlice, Records

P = ParamSpec("P")

_EMPTY = b""


class SegmentedLog(StagedLog):
    """A log whose records are in ``segments``, oldest first, the last one active."""

    log = Logger()
    segments: list[LogSegment]
    first_dirty_offset: int
    _files: Files
    _reader: Worker
    _descriptors: Descriptors | None = None

    def attend(self, reader: Worker, descriptors: Descriptors) -> None:
        """Say who reads what is not in memory, and who keeps an eye on the open files."""
        self._reader = reader
        self._descriptors = descriptors
        for segment in self.segments:
            self._adopt(segment)

    def _adopt(self, segment: LogSegment) -> LogSegment:
        """Take a segment that is to be one of this log's."""
        segment.descriptors = self._descriptors
        segment.sparse_below = ALWAYS_SPARSE if self.config.compacted else self.first_dirty_offset
        return segment

    def read(self, offset: int, max_bytes: int, end_offset: int, at_least_one: bool) -> Records:
        """As IPartitionLog says. What a tail reader asks next is known without a look at the file."""
        log_end = self.log_end_offset
        if not self.log_start_offset <= offset <= log_end:
            self._check_range(offset)
        if end_offset > log_end:
            end_offset = log_end
        if offset >= end_offset:
            return _EMPTY
        segments = self.segments
        number = len(segments) - 1
        if offset < segments[number].base_offset:
            number = self._number_of(offset)
        while number < len(segments):
            segment = segments[number]
            position = segment.known.get(offset)
            if position is None:
                position = self._checked(segment, segment.position_of, offset)
            number += 1
            if number == len(segments):
                limit = segment.size if end_offset >= log_end else segment.position_of(end_offset)
            elif end_offset >= segments[number].base_offset:
                limit = segment.size
            else:
                limit = segment.position_of(end_offset)
            if position < limit:
                if position < segment.written_from:
                    wanted = page_cache.wanted_bytes(segment, position, max_bytes)
                    limit = min(limit, self._checked(segment, segment.follow, offset, position, wanted))
                return self._slice(segment, position, limit, max_bytes, at_least_one)
            # Compaction may leave nothing of a segment's last offsets.
        return _EMPTY

    def _checked(self, segment: LogSegment, look: Callable[P, int], *args: P.args, **kwargs: P.kwargs) -> int:
        """Look into a segment; say it once if that is damaged.

        :raises CorruptRecords: it is.
        """
        try:
            return look(*args, **kwargs)
        except CorruptRecords as error:
            if not segment.said_damaged:
                segment.said_damaged = True
                self.log.error(
                    "{partition}: {error}; readers are refused with CORRUPT_MESSAGE; see kafkatx log verify",
                    partition=self.topic_partition,
                    error=error,
                )
            raise

    def _number_of(self, offset: int) -> int:
        """The number of the segment that holds *offset*."""
        return max(bisect_right(self.segments, offset, key=_base_offset) - 1, 0)

    def _slice(
        self, segment: LogSegment, position: int, limit: int, max_bytes: int, at_least_one: bool
    ) -> Records:
        """The whole batches from *position* to *limit* or *max_bytes*, or the first one, however large.

        The last one is cut off where its end is not in memory.
        """
        size = limit - position
        if size <= max_bytes:
            if segment is self.segments[-1] and limit == segment.size:
                segment.remember(self.log_end_offset, limit)
        else:
            end = segment.whole_until(position, position + max_bytes)
            if end is None or end == position:
                first = next(segment.walk(position)).size
                if first > max_bytes and not at_least_one:
                    return _EMPTY
                size = max(first, max_bytes)
            else:
                size = end - position
        warm = min(size, page_cache.wanted_bytes(segment, position, max_bytes))
        return FileSlice(segment.file, position, size, warm)

    def readable_bytes(self, offset: int, end_offset: int) -> int:
        """As IPartitionLog says: exact between positions that were asked for, else to an index entry."""
        end_offset = min(end_offset, self.log_end_offset)
        offset = max(offset, self.log_start_offset)
        if offset >= end_offset:
            return 0
        first, last = self._number_of(offset), self._number_of(end_offset - 1)
        segments = self.segments
        total = sum(segment.size for segment in segments[first:last])
        if end_offset == self.log_end_offset or end_offset == self._end_of(last):
            total += segments[last].size
        else:
            total += segments[last].floor(end_offset)
        return max(total - segments[first].floor(offset), 1)

    def _end_of(self, number: int) -> int:
        """The offset after a segment's last."""
        following = self.segments[number + 1 : number + 2]
        return following[0].base_offset if following else self.log_end_offset

    # --- the disk

    def warm(self, offset: int, max_bytes: int) -> Deferred[None] | None:
        """As IPartitionLog says. For a reader at the log's end a look at numbers in memory."""
        if not self.log_start_offset <= offset < self.log_end_offset:
            return None
        segments = self.segments
        number = len(segments) - 1
        if offset < segments[number].base_offset:
            number = self._number_of(offset)
        while True:
            segment = segments[number]
            position = segment.cached_position(offset)
            if position is None or not segment.is_open:
                return self._load(segment, offset, max_bytes)
            number += 1
            if position < segment.size or number == len(segments):
                break
        if page_cache.is_hot(segment, position):
            return None
        wanted = page_cache.wanted_bytes(segment, position, max_bytes)
        if not self._files.is_cached(segment.file, position, wanted):
            if position >= segment.written_from:
                segment.written_from = segment.size  # it comes from the disk again
            return self._load(segment, offset, max_bytes)
        if not segment.is_followed(position):
            return self._load(segment, offset, max_bytes)
        if page_cache.must_load_ahead(self._files, segment, position + wanted):
            ahead = partial(page_cache.load_ahead, self._files, segment.twin(), position + wanted)
            self._reader(ahead).addErrback(self._not_loaded)
        return None

    def _load(self, segment: LogSegment, offset: int, max_bytes: int) -> Deferred[None]:
        """Have the worker find and load what a read wants; what goes wrong there, the read will tell."""
        twin = segment.twin()

        def found(position: int) -> None:
            segment.share(twin)
            segment.remember(offset, position)
            if twin.followed.position <= position <= twin.followed.end <= segment.size:
                segment.followed = twin.followed

        def load(_: Stop) -> int:
            return page_cache.load(self._files, twin, offset, max_bytes)

        loading: Deferred[int] = run_stoppable(self._reader, load)
        return loading.addCallbacks(found, self._not_loaded)

    def _not_loaded(self, failure: Failure) -> None:
        failure.trap(OSError, CorruptRecords)
        self.log.debug("{partition}: {error}", partition=self.topic_partition, error=failure.value)

    # --- times

    def offset_for_timestamp(self, timestamp_ms: int) -> Deferred[tuple[int, int, int] | None]:
        """As IPartitionLog says."""
        twins = [
            segment.twin()
            for number, segment in enumerate(self.segments)
            if (segment.max_timestamp >= timestamp_ms or segment.incomplete)
            and self._end_of(number) > self.log_start_offset
        ]
        start, limit_bytes = self.log_start_offset, self.config.inflated_limit_bytes
        return self._searched(
            lambda stop: time_lookup.first_at_or_after(twins, timestamp_ms, start, limit_bytes, stop.check)
        )

    def max_timestamp(self) -> Deferred[tuple[int, int, int] | None]:
        """As IPartitionLog says."""
        twins = [
            segment.twin()
            for number, segment in enumerate(self.segments)
            if segment.size and self._end_of(number) > self.log_start_offset
        ]
        start, limit_bytes = self.log_start_offset, self.config.inflated_limit_bytes
        return self._searched(lambda stop: time_lookup.newest(twins, start, limit_bytes, stop.check))

    def _searched(self, search: Callable[[Stop], Record | None]) -> Deferred[tuple[int, int, int] | None]:
        def found(record: Record | None) -> tuple[int, int, int] | None:
            return None if record is None else (record.offset, record.timestamp, self.epoch_at(record.offset))

        return run_stoppable(self._reader, search).addCallback(found)


def _base_offset(segment: LogSegment) -> int:
    return segment.base_offset
