"""The segments of a :class:`~kafkatx.log.batch_log.BatchLog`: facts about batches, without their bytes."""

from __future__ import annotations

import attrs
from zope.interface import implementer

from kafkatx.interfaces import ISegmentFacts
from kafkatx.log.segment.batches import BatchInfo
from kafkatx.types import NO_TIMESTAMP


@implementer(ISegmentFacts)
@attrs.define
class Chunk:
    """The batches of one segment, without their bytes; what retention decides on."""

    base_offset: int
    created_ms: int
    size_bytes: int = 0
    max_timestamp: int = NO_TIMESTAMP
    written: list[BatchInfo] = attrs.field(factory=list)
    last_offsets: list[int] = attrs.field(factory=list)

    @property
    def max_timestamp_ms(self) -> int:
        """See ISegmentFacts; there is no file, so the time when the chunk was begun."""
        return self.max_timestamp if self.max_timestamp >= 0 else self.created_ms

    def add(self, written: BatchInfo) -> None:
        """Append a batch."""
        self.written.append(written)
        self.last_offsets.append(written.last_offset)
        self.size_bytes += written.size
        self.max_timestamp = max(self.max_timestamp, written.max_timestamp)

    def cut(self, number: int) -> None:
        """Keep the first *number* batches."""
        del self.written[number:], self.last_offsets[number:]
        self.size_bytes = sum(batch.size for batch in self.written)
        self.max_timestamp = max((batch.max_timestamp for batch in self.written), default=NO_TIMESTAMP)
