"""Reads of a log in files: offsets and timestamps to positions in segments.

The reactor thread reads only headers here: of batches just written, or of those that :meth:`LogReader.warm`
has brought into the page cache. Records leave as slices of the file. Everything else runs in a worker, on
twins of the segments. The reader changes no file and no list of segments.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import ParamSpec

from twisted.internet.defer import Deferred
from twisted.logger import Logger
from twisted.python.failure import Failure

from kafkatx.errors import CorruptRecords, ErrorCode, RequestError
from kafkatx.interfaces import Worker
from kafkatx.log.partition.local_log import number_of
from kafkatx.log.partition.location import LogLocation
from kafkatx.log.segment import page_cache, time_lookup
from kafkatx.log.segment.segment import LogSegment
from kafkatx.log.stoppable import Stop, run_stoppable
from kafkatx.records.batch import Record
from kafkatx.types import FileSlice, Records, TopicPartition

P = ParamSpec("P")

_EMPTY = b""


def out_of_range(
    name: TopicPartition, offset: int, log_start_offset: int, log_end_offset: int
) -> RequestError:
    """Return the error for an offset that a log does not have."""
    return RequestError(
        ErrorCode.OFFSET_OUT_OF_RANGE,
        f"offset {offset} of {name}, which has {log_start_offset} to {log_end_offset}",
    )


class LogReader:
    """Reads the segments of one log.

    :param segments: oldest first, the last one active; the log changes the list.
    :ivar worker: runs what waits for the disk.
    """

    __slots__ = ("_location", "_name", "_segments", "worker")

    log = Logger()

    def __init__(
        self, name: TopicPartition, location: LogLocation, segments: Sequence[LogSegment], worker: Worker
    ) -> None:
        self._name = name
        self._location = location
        self._segments = segments
        self.worker = worker

    def read(
        self, offset: int, max_bytes: int, end_offset: int, at_least_one: bool, log_end_offset: int
    ) -> Records:
        """Return batches from *offset* on, as IPartitionLog.read; the caller has checked the range.

        The position that a consumer at the end of the log asks for next is remembered, so that its next read
        needs no look at the file.

        :raises CorruptRecords: the segment is damaged there.
        """
        segments = self._segments
        number = len(segments) - 1
        if offset < segments[number].base_offset:
            number = number_of(segments, offset)
        while number < len(segments):
            segment = segments[number]
            position = segment.known.get(offset)
            if position is None:
                position = self._checked(segment, segment.position_of, offset)
            number += 1
            if number == len(segments):
                limit = segment.size if end_offset >= log_end_offset else segment.position_of(end_offset)
            elif end_offset >= segments[number].base_offset:
                limit = segment.size
            else:
                limit = segment.position_of(end_offset)
            if position < limit:
                if position < segment.written_from:
                    wanted = page_cache.wanted_bytes(segment, position, max_bytes)
                    limit = min(limit, self._checked(segment, segment.follow, offset, position, wanted))
                size = limit - position
                if size > max_bytes:
                    size = self._whole_bytes(segment, position, max_bytes, at_least_one)
                    if not size:
                        return _EMPTY
                elif limit == segment.size and number == len(segments):
                    segment.remember(log_end_offset, limit)
                warm = min(size, page_cache.wanted_bytes(segment, position, max_bytes))
                return FileSlice(segment.file, position, size, warm)
            # Compaction may leave nothing of a segment's last offsets.
        return _EMPTY

    def _checked(self, segment: LogSegment, look: Callable[P, int], *args: P.args, **kwargs: P.kwargs) -> int:
        """Look into a segment; log the first time that it is found damaged.

        :raises CorruptRecords: it is damaged.
        """
        try:
            return look(*args, **kwargs)
        except CorruptRecords as error:
            if not segment.damage_logged:
                segment.damage_logged = True
                self.log.error(
                    "{partition}: {error}; readers are refused with CORRUPT_MESSAGE; see kafkatx log verify",
                    partition=self._name,
                    error=error,
                )
            raise

    def _whole_bytes(self, segment: LogSegment, position: int, max_bytes: int, at_least_one: bool) -> int:
        """Return the size of the whole batches in *max_bytes* from *position* on; of the first at least.

        It is *max_bytes* where the end of the last batch is not in memory: the last batch is cut off then.
        """
        end = segment.whole_until(position, position + max_bytes)
        if end is not None and end != position:
            return end - position
        first = next(segment.walk(position)).size
        if first > max_bytes and not at_least_one:
            return 0
        return max(first, max_bytes)

    def readable_bytes(self, offset: int, end_offset: int, log_end_offset: int) -> int:
        """Return about how many bytes lie between two offsets of the log, *offset* < *end_offset*.

        Exact between positions that were asked for before, otherwise rounded to index entries.
        """
        segments = self._segments
        first, last = number_of(segments, offset), number_of(segments, end_offset - 1)
        total = sum(segment.size for segment in segments[first:last])
        if end_offset == log_end_offset or end_offset == self._end_of(last, log_end_offset):
            total += segments[last].size
        else:
            total += segments[last].floor(end_offset)
        return max(total - segments[first].floor(offset), 1)

    def _end_of(self, number: int, log_end_offset: int) -> int:
        """Return the offset after a segment's last."""
        following = self._segments[number + 1 : number + 2]
        return following[0].base_offset if following else log_end_offset

    # --- the page cache

    def warm(self, offset: int, max_bytes: int) -> Deferred[None] | None:
        """See IPartitionLog, for an offset below the log's end.

        For a consumer at the end of the log this looks only at numbers in memory.
        """
        segments = self._segments
        number = len(segments) - 1
        if offset < segments[number].base_offset:
            number = number_of(segments, offset)
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
        files = self._location.files
        if not files.is_cached(segment.file, position, wanted):
            if position >= segment.written_from:
                segment.written_from = segment.size  # it comes from the disk again
            return self._load(segment, offset, max_bytes)
        if not segment.is_followed(position):
            return self._load(segment, offset, max_bytes)
        if page_cache.must_load_ahead(files, segment, position + wanted):
            ahead = partial(page_cache.load_ahead, files, segment.twin(), position + wanted)
            self.worker(ahead).addErrback(self._not_loaded)
        return None

    def _load(self, segment: LogSegment, offset: int, max_bytes: int) -> Deferred[None]:
        """Find and load in the worker what a read needs; the read meets any error by itself."""
        twin = segment.twin()
        files = self._location.files

        def found(position: int) -> None:
            segment.share(twin)
            segment.remember(offset, position)
            if twin.followed.position <= position <= twin.followed.end <= segment.size:
                segment.followed = twin.followed

        def load(_: Stop) -> int:
            return page_cache.load(files, twin, offset, max_bytes)

        loading: Deferred[int] = run_stoppable(self.worker, load)
        return loading.addCallbacks(found, self._not_loaded)

    def _not_loaded(self, failure: Failure) -> None:
        failure.trap(OSError, CorruptRecords)
        self.log.debug("{partition}: {error}", partition=self._name, error=failure.value)

    # --- timestamps

    def first_at_or_after(
        self, timestamp_ms: int, log_start_offset: int, log_end_offset: int, inflated_limit_bytes: int
    ) -> Deferred[Record | None]:
        """Find the first record, by offset, that is not older than a timestamp.

        Fails with CorruptRecords where a batch that may hold it is damaged; cancelling it ends the search.
        """
        twins = [
            segment.twin()
            for number, segment in enumerate(self._segments)
            if (segment.max_timestamp >= timestamp_ms or segment.incomplete)
            and self._end_of(number, log_end_offset) > log_start_offset
        ]
        return run_stoppable(
            self.worker,
            lambda stop: time_lookup.first_at_or_after(
                twins, timestamp_ms, log_start_offset, inflated_limit_bytes, stop.check
            ),
        )

    def newest(
        self, log_start_offset: int, log_end_offset: int, inflated_limit_bytes: int
    ) -> Deferred[Record | None]:
        """Find the record with the largest timestamp; as :meth:`first_at_or_after`."""
        twins = [
            segment.twin()
            for number, segment in enumerate(self._segments)
            if segment.size and self._end_of(number, log_end_offset) > log_start_offset
        ]
        return run_stoppable(
            self.worker,
            lambda stop: time_lookup.newest(twins, log_start_offset, inflated_limit_bytes, stop.check),
        )
