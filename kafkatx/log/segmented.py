"""The reading half of the log in files: offsets and times to positions in segments.

The reactor thread reads headers here, of batches that were mostly just written; records are sent by the
file's own bytes.
"""

from __future__ import annotations

from bisect import bisect_right

from kafkatx.log import lookup
from kafkatx.log.scan import Shallow
from kafkatx.log.segment import Segment
from kafkatx.log.staging import StagedLog
from kafkatx.types import FileSlice, Records

_EMPTY = b""


class SegmentedLog(StagedLog):
    """A log whose records are in ``segments``, oldest first, the last one active."""

    segments: list[Segment]

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
                position = segment.position_of(offset)
            number += 1
            if number == len(segments):
                limit = segment.size if end_offset >= log_end else segment.position_of(end_offset)
            elif end_offset >= segments[number].base_offset:
                limit = segment.size
            else:
                limit = segment.position_of(end_offset)
            if position < limit:
                return self._slice(segment, position, limit, max_bytes, at_least_one)
            # Compaction may leave nothing of a segment's last offsets.
        return _EMPTY

    def _number_of(self, offset: int) -> int:
        """The number of the segment that holds *offset*."""
        return max(bisect_right(self.segments, offset, key=_base_offset) - 1, 0)

    def _slice(
        self, segment: Segment, position: int, limit: int, max_bytes: int, at_least_one: bool
    ) -> Records:
        """Bytes from *position* to *limit* or *max_bytes*; only the first batch is sure to be whole."""
        size = limit - position
        if size <= max_bytes:
            if segment is self.segments[-1] and limit == segment.size:
                segment.remember(self.log_end_offset, limit)
            return FileSlice(segment.file, position, size)
        first = next(segment.walk(position)).size
        if first <= max_bytes:
            return FileSlice(segment.file, position, max_bytes)
        return FileSlice(segment.file, position, first) if at_least_one else _EMPTY

    def readable_bytes(self, offset: int, end_offset: int) -> int:
        """As IPartitionLog says: exact between positions that were read lately, else to an index entry."""
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

    def offset_for_timestamp(self, timestamp_ms: int) -> tuple[int, int, int] | None:
        """As IPartitionLog says.

        :raises CorruptRecords: a batch that may hold it is damaged.
        """
        for number, segment in enumerate(self.segments):
            if segment.max_timestamp < timestamp_ms or self._end_of(number) <= self.log_start_offset:
                continue
            segment.make_ready()
            start = segment.find(max(segment.time_index.floor(timestamp_ms), self.log_start_offset))
            if start is None:
                continue
            for batch in segment.walk(start.position):
                if batch.max_timestamp >= timestamp_ms:
                    data = segment.read_batch(batch)
                    record = lookup.first_at_or_after(data, timestamp_ms, self.log_start_offset)
                    if record is not None:
                        return record.offset, record.timestamp, self.epoch_at(record.offset)
        return None

    def max_timestamp(self) -> tuple[int, int, int] | None:
        """As IPartitionLog says.

        :raises CorruptRecords: the batch that holds it is damaged.
        """
        found: tuple[int, int] | None = None
        for number, segment in enumerate(self.segments):
            if self._end_of(number) <= self.log_start_offset or not segment.size:
                continue
            if found is not None and segment.max_timestamp <= found[1]:
                continue
            found = self._newest_of(segment) or found
        return None if found is None else (*found, self.epoch_at(found[0]))

    def _newest_of(self, segment: Segment) -> tuple[int, int] | None:
        """(offset, timestamp) of a segment's newest record that can be read."""
        holder = segment.find(max(segment.max_timestamp_offset, self.log_start_offset))
        if holder is None:
            return None
        candidates = [holder]
        if min(holder.base_offset, segment.max_timestamp_offset) < self.log_start_offset:
            # The log starts at the newest record's batch, or after it: it may be any that follows.
            first, *others = segment.walk(segment.position_of(self.log_start_offset))
            candidates = [first, max(others, key=_max_timestamp)] if others else [first]
        records = [lookup.newest(segment.read_batch(batch), self.log_start_offset) for batch in candidates]
        newest = lookup.newest_of(records)
        return None if newest is None else (newest.offset, newest.timestamp)


def _base_offset(segment: Segment) -> int:
    return segment.base_offset


def _max_timestamp(batch: Shallow) -> int:
    return batch.max_timestamp
