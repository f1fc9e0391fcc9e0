"""A batch on its way to the log, and how one that is too large is cut."""

from __future__ import annotations

import attrs

from kafkatx.records.batch import iter_records, parse_header
from kafkatx.records.builder import BatchBuilder

NO_SEQUENCE = -1
_SEQUENCE_MASK = 0x7FFFFFFF


def sequence_after(sequence: int, count: int) -> int:
    """The sequence number *count* records later: after 2^31 - 1 comes 0, and -1 (none) stays."""
    return sequence if sequence == NO_SEQUENCE else (sequence + count) & _SEQUENCE_MASK


@attrs.define(eq=False)
class Batch:
    """A finished batch of magic 2, and what the counters say of it.

    ``again`` once it has failed: it may be in the log nevertheless.
    """

    partition: int
    data: bytes
    records: int
    payload_bytes: int
    again: bool = False

    def halves(self) -> list[Batch]:
        """The same records in two batches, with the same sequence numbers.

        So the batches after it need no change, though their numbers were given before it was cut.
        """
        header = parse_header(self.data)
        records = list(iter_records(memoryview(self.data)))
        middle = len(records) // 2
        cut = []
        for start, part in ((0, records[:middle]), (middle, records[middle:])):
            sequence = sequence_after(header.base_sequence, start)
            builder = BatchBuilder(header.codec, header.producer_id, header.producer_epoch, sequence)
            payload_bytes = 0
            for record in part:
                builder.append(record.key, record.value, record.timestamp, record.headers)
                payload_bytes += len(record.key or b"") + len(record.value or b"")
            cut.append(Batch(self.partition, builder.build(), len(part), payload_bytes))
        return cut
