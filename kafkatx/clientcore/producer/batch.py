"""A producer's batch: filled, closed, encoded with its sequence numbers, split if it is too large. Pure."""

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
"""An upper bound of the bytes that a record without headers has besides key and value."""

_SEQUENCE_MASK = 0x7FFFFFFF
LAST_EPOCH = 0x7FFF


class ProducerIdAndEpoch(NamedTuple):
    """The identity of an idempotent producer (KIP-98); ``producer_id`` is -1 if it is not idempotent."""

    producer_id: int = NO_PRODUCER_ID
    epoch: int = NO_PRODUCER_EPOCH


NOT_IDEMPOTENT = ProducerIdAndEpoch()


class Receipt(Protocol):
    """A receipt for several records. Batches carry it for the code that appended the records."""

    def add_batch(self) -> None:
        """Expect one more result: the records are in one more batch."""


Entry: TypeAlias = "tuple[Any, int, int, int]"
"""Consecutive records of one call in a batch: (receipt, first, count, timestamp_ms).

``first`` is the index of the first record in the batch. The receipt is any object of the code that appended
the records; if count is above 1 it is None or a :class:`Receipt`.
"""


def sequence_after(sequence: int, count: int) -> int:
    """Return the sequence number *count* records later; it wraps from 2^31 - 1 to 0, and -1 (none) stays."""
    return sequence if sequence == NO_SEQUENCE else (sequence + count) & _SEQUENCE_MASK


def record_bytes(
    key: bytes | None, value: bytes | None, headers: Sequence[tuple[str, bytes | None]] = ()
) -> int:
    """Return an upper bound of the encoded size of a record."""
    size = len(value or b"") + len(key or b"") + RECORD_OVERHEAD_BYTES
    for name, data in headers:
        size += len(name) * 4 + len(data or b"") + RECORD_OVERHEAD_BYTES
    return size


def split_to_fit(
    values: Sequence[bytes], limit: int, overhead: int = RECORD_OVERHEAD_BYTES
) -> Iterator[tuple[Sequence[bytes], int]]:
    """Halve a list until each piece fits in a batch; yield each piece with the total size of its values."""
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

    An open or closed batch has a ``builder`` and ``rows``; :meth:`seal` encodes them to ``data``, a record
    batch of magic 2. Times are in seconds of the owner's clock.

    :ivar rows: the records, until they are encoded; ``rows.times`` stays after that.
    :ivar max_bytes: the size up to which records may be appended; 0 unless the batch is open.
    :ivar records: the number of records, once it is closed; see :attr:`count`.
    :ivar size_bytes: an upper bound of the records' size before compression.
    :ivar payload_bytes: the size of all keys and values, once it is closed.
    :ivar entries: the items of all :data:`Entry` tuples, flattened: a tuple per record would be one more
        object for the garbage collector to scan. Records without a receipt have none. See :meth:`each_entry`.
    :ivar due_s: the time at which it is sent even if it is not full.
    :ivar deadline_s: the time at which it fails.
    :ivar attempts: how many times it was sent.
    :ivar sent_before: True if it is to be sent again; it may be in the log although the request has failed.
    :ivar failed: True if the last reply was a retriable error.
    :ivar needs_new_sequence: True if it is not in the log, because a batch before it is not.
    :ivar overtaken: True if a batch that was sent after it is in the log.
    :ivar expired: True if its receipts have failed while it is in flight.
    :ivar error: the last error.
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
        """Encode the records; if that was done before, replace producer id, epoch and sequence."""
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
        """The number of records, whether it is open or closed."""
        return self.records or len(self.rows.values)

    def close(self) -> None:
        """Accept no more records."""
        self.max_bytes = 0
        rows = self.rows
        if rows.values:
            self.records = len(rows.values)
            self.payload_bytes = rows.payload_bytes()

    def each_entry(self) -> Iterator[Entry]:
        """Iterate over the entries, in order."""
        items = iter(self.entries)
        return zip(items, items, items, items, strict=True)

    def split(self) -> list[ProducerBatch]:
        """Return the same records in two encoded batches, with the same sequence numbers.

        Later batches keep their sequence numbers, which were assigned before the split.
        """
        header = parse_header(self.data)
        records = list(iter_records(memoryview(self.data)))
        middle = len(records) // 2
        halves: list[ProducerBatch] = []
        for start, part in ((0, records[:middle]), (middle, records[middle:])):
            builder = BatchBuilder(header.codec, transactional=header.transactional)
            half = ProducerBatch(self.topic, self.partition, builder, self.due_s, self.deadline_s)
            for record in part:
                half.rows.append(record.key, record.value, record.timestamp, record.headers)
                half.size_bytes += record_bytes(record.key, record.value, record.headers)
            half.close()
            half.attempts, half.sent_before, half.overtaken = self.attempts, self.sent_before, self.overtaken
            id_and_epoch = ProducerIdAndEpoch(header.producer_id, header.producer_epoch)
            half.seal(id_and_epoch, sequence_after(header.base_sequence, start))
            halves.append(half)
        for entry in self.each_entry():
            _split_entry(entry, middle, halves[0].entries, halves[1].entries)
        return halves


def _split_entry(entry: Entry, middle: int, before: list[Any], after: list[Any]) -> None:
    """Move an entry to the half that has its records, or split it between both."""
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
    """Return an encoded batch with another producer id, epoch and base sequence."""
    header = parse_header(data)._replace(
        producer_id=id_and_epoch.producer_id, producer_epoch=id_and_epoch.epoch, base_sequence=sequence
    )
    body = memoryview(data)[HEADER_BYTES:]
    checksum = crc32c(body, crc32c(HEADER.pack(*header)[ATTRIBUTES_AT:]))
    return HEADER.pack(*header._replace(crc=checksum)) + bytes(body)
