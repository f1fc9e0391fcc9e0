"""A producer's batch on its way to the log: filled, closed, sealed with its sequence, cut if too large."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple, Protocol, TypeAlias

import attrs

from kafkatx.records.batch import iter_records, parse_header
from kafkatx.records.builder import BatchBuilder
from kafkatx.records.checksum import crc32c
from kafkatx.records.header import ATTRIBUTES_AT, HEADER, HEADER_BYTES
from kafkatx.records.rows import Rows
from kafkatx.types import NO_PRODUCER_EPOCH, NO_PRODUCER_ID, NO_SEQUENCE

RECORD_OVERHEAD_BYTES = 24
"""More than the varints of a record without headers take."""

_SEQUENCE_MASK = 0x7FFFFFFF
LAST_EPOCH = 0x7FFF


class ProducerIdAndEpoch(NamedTuple):
    """What a broker knows an idempotent producer by (KIP-98); ``producer_id`` -1: it is not idempotent."""

    producer_id: int = NO_PRODUCER_ID
    epoch: int = NO_PRODUCER_EPOCH


NOT_IDEMPOTENT = ProducerIdAndEpoch()


class Receipt(Protocol):
    """Who waits for records. Batches only carry it; whoever appended the records knows what it is."""

    def add_batch(self) -> None:
        """The records are in one batch more than before: one answer more will come."""


Entry: TypeAlias = "tuple[Any, int, int, int]"
"""Records of one call, next to each other in a batch: (receipt, first, count, timestamp_ms).

``first`` is the index of the first in the batch. The receipt is a matter of whoever appended the records; if
count is above 1 it is None or a :class:`Receipt`.
"""


def sequence_after(sequence: int, count: int) -> int:
    """The sequence number *count* records later: after 2^31 - 1 comes 0, and -1 (none) stays."""
    return sequence if sequence == NO_SEQUENCE else (sequence + count) & _SEQUENCE_MASK


def record_bytes(
    key: bytes | None, value: bytes | None, headers: Sequence[tuple[str, bytes | None]] = ()
) -> int:
    """How much room a record takes at most."""
    size = len(value or b"") + len(key or b"") + RECORD_OVERHEAD_BYTES
    for name, data in headers:
        size += len(name) * 4 + len(data or b"") + RECORD_OVERHEAD_BYTES
    return size


def split_to_fit(
    values: Sequence[bytes], limit: int, overhead: int = RECORD_OVERHEAD_BYTES
) -> Iterator[tuple[Sequence[bytes], int]]:
    """Halve until each piece fits in a batch; with each piece the sum of its values' sizes."""
    size = sum(map(len, values))
    if len(values) <= 1 or size + overhead * len(values) <= limit:
        if values:
            yield values, size
        return
    half = len(values) // 2
    yield from split_to_fit(values[:half], limit, overhead)
    yield from split_to_fit(values[half:], limit, overhead)


@attrs.define(eq=False)
class ProducerBatch:
    """Records for one partition.

    First it has a ``builder`` and ``rows``; once sealed ``data``, a batch of magic 2. Times are the owner's
    clock's, in seconds.

    :ivar rows: the records, until they are encoded; its ``times`` stay.
    :ivar max_bytes: the size up to which records may be added; 0 unless the batch is open.
    :ivar records: how many there are, once it is closed; see :attr:`count`.
    :ivar size_bytes: the room that its records take at most, before compression.
    :ivar payload_bytes: those of keys and values, once it is closed.
    :ivar entries: the items of each :data:`Entry`, one after the other: a tuple per record would be one
        object more for the garbage collector to look at again and again. Records that nobody waits for have
        none. See :meth:`each_entry`.
    :ivar due_s: when it is sent though it is not full.
    :ivar deadline_s: when it is given up.
    :ivar sent_before: it has been sent once: it may be in the log though it failed.
    :ivar failed: it was sent, and the answer is a failure that passes.
    :ivar needs_new_sequence: it is not in the log, for a batch before it is not, and needs another sequence.
    :ivar overtaken: a batch that was sent after it is in the log.
    :ivar expired: it was given up while its answer is awaited; nobody waits for it any more.
    :ivar error: why it failed the last time.
    """

    topic: str
    partition: int
    builder: BatchBuilder | None = None
    due_s: float = math.inf
    deadline_s: float = math.inf
    rows: Rows = attrs.Factory(Rows)
    max_bytes: int = 0
    records: int = 0
    size_bytes: int = 0
    payload_bytes: int = 0
    entries: list[Any] = attrs.Factory(list)
    data: bytes = b""
    attempts: int = 0
    sent_before: bool = False
    failed: bool = False
    needs_new_sequence: bool = False
    overtaken: bool = False
    expired: bool = False
    error: Exception | None = None

    def seal(self, id_and_epoch: ProducerIdAndEpoch, sequence: int) -> None:
        """Make bytes of it; or, if that was done before, let it have another producer id and sequence."""
        builder = self.builder
        if builder is None:
            self.data = _restamped(self.data, id_and_epoch, sequence)
            return
        builder.producer_id, builder.producer_epoch = id_and_epoch
        builder.base_sequence = sequence
        rows = self.rows
        if rows.values and not builder.count:
            times = rows.times
            builder.append_encoded(rows.encode(), len(rows.values), times[1], max(times[1::2]))
        self.data = builder.build()
        self.builder = None
        rows.clear()

    @property
    def count(self) -> int:
        """How many records it has, open or closed."""
        return self.records or len(self.rows.values)

    def close(self) -> None:
        """Take no more records."""
        self.max_bytes = 0
        rows = self.rows
        if rows.values:
            self.records = len(rows.values)
            self.payload_bytes = rows.payload_bytes()

    def each_entry(self) -> Iterator[Entry]:
        """The entries, in order."""
        items = iter(self.entries)
        return zip(items, items, items, items, strict=True)

    def split(self) -> list[ProducerBatch]:
        """The same records in two sealed batches, with the same sequence numbers.

        So the batches after it need no change, though their numbers were given before it was cut.
        """
        header = parse_header(self.data)
        records = list(iter_records(memoryview(self.data)))
        middle = len(records) // 2
        cut = []
        for start, part in ((0, records[:middle]), (middle, records[middle:])):
            builder = BatchBuilder(header.codec)
            half = ProducerBatch(self.topic, self.partition, builder, self.due_s, self.deadline_s)
            for record in part:
                half.rows.append(record.key, record.value, record.timestamp, record.headers)
                half.size_bytes += record_bytes(record.key, record.value, record.headers)
            half.close()
            half.attempts, half.sent_before, half.overtaken = self.attempts, self.sent_before, self.overtaken
            id_and_epoch = ProducerIdAndEpoch(header.producer_id, header.producer_epoch)
            half.seal(id_and_epoch, sequence_after(header.base_sequence, start))
            cut.append(half)
        for entry in self.each_entry():
            _cut_entry(entry, middle, cut[0].entries, cut[1].entries)
        return cut


def _cut_entry(entry: Entry, middle: int, before: list[Any], after: list[Any]) -> None:
    """Put an entry where its records are now; tell its receipt if they are in both split."""
    receipt, first, count, timestamp_ms = entry
    if first + count <= middle:
        before += entry
    elif first >= middle:
        after += (receipt, first - middle, count, timestamp_ms)
    else:
        before += (receipt, first, middle - first, timestamp_ms)
        after += (receipt, 0, first + count - middle, timestamp_ms)
        if receipt is not None:
            receipt.add_batch()


def _restamped(data: bytes, id_and_epoch: ProducerIdAndEpoch, sequence: int) -> bytes:
    """The same records from another producer id, with another first sequence."""
    header = parse_header(data)._replace(
        producer_id=id_and_epoch.producer_id, producer_epoch=id_and_epoch.epoch, base_sequence=sequence
    )
    body = memoryview(data)[HEADER_BYTES:]
    checksum = crc32c(body, crc32c(HEADER.pack(*header)[ATTRIBUTES_AT:]))
    return HEADER.pack(*header._replace(crc=checksum)) + bytes(body)
