"""One partition's part of a fetch reply: whole batches, decoded one at a time when they are asked for."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable
from itertools import repeat
from struct import Struct
from typing import Any, TypeAlias

import attrs

from kafkatx.clientcore.consumer.aborted_transactions import AbortedTransactions
from kafkatx.clientcore.consumer.columns import CREATE_TIME, LOG_APPEND_TIME, NO_TIMESTAMP_TYPE
from kafkatx.clientcore.consumer.record import Record
from kafkatx.clientcore.errors import CorruptBatch, Undecodable, UnsupportedBatch
from kafkatx.errors import CorruptRecords, UnsupportedCompression
from kafkatx.records import batch as v2
from kafkatx.records.compression import LIMIT_BYTES
from kafkatx.records.conversion import batches
from kafkatx.records.legacy import message_sets, messages
from kafkatx.types import NO_LEADER_EPOCH, TopicPartition

LAST_OFFSET = (1 << 63) - 1
"""The largest offset that may be asked for."""

Decode: TypeAlias = Callable[[str, "bytes | None"], Any]
"""Makes a key or a value of the topic's name and bytes."""

_LENGTH_AND_MAGIC = Struct(">8xi4xb")
_EPOCH_AND_MAGIC = Struct(">12xib")


@attrs.frozen
class DecodeSettings:
    """How records are made of bytes.

    :ivar decode_key: None leaves the bytes; *value* likewise.
    """

    check_crcs: bool = True
    decode_key: Decode | None = None
    decode_value: Decode | None = None
    limit_bytes: int = LIMIT_BYTES


class DecodedBatch:
    """The records of one batch, column by column.

    Records are made of it as they are handed out: so few of them exist at a time, and the garbage collector,
    which counts tuples and not bytes, has nothing to do.
    """

    __slots__ = (
        "_topic_partition",
        "headers",
        "keys",
        "leader_epoch",
        "offsets",
        "timestamp_type",
        "timestamps",
        "values",
    )

    def __init__(self, place: TopicPartition) -> None:
        self._topic_partition = place
        self.offsets: list[int] = []
        self.timestamps: list[int] = []
        self.keys: list[Any] = []
        self.values: list[Any] = []
        self.headers: list[bytes] = []
        self.timestamp_type = NO_TIMESTAMP_TYPE
        self.leader_epoch = NO_LEADER_EPOCH

    def __len__(self) -> int:
        return len(self.offsets)

    def records(self, start: int, end: int) -> list[Record]:
        """Some of the records, *end* exclusive."""
        topic, partition = self._topic_partition
        fields = zip(
            repeat(topic),
            repeat(partition),
            self.offsets[start:end],
            self.timestamps[start:end],
            repeat(self.timestamp_type),
            self.keys[start:end],
            self.values[start:end],
            self.headers[start:end],
            repeat(self.leader_epoch),
        )
        # A third of what the constructor takes.
        return list(map(tuple.__new__, repeat(Record), fields))

    def drop_first(self, count: int) -> None:
        """Without the first *count* records."""
        column: list[Any]
        for column in (self.offsets, self.timestamps, self.keys, self.values, self.headers):
            del column[:count]

    def decode(self, decoding: DecodeSettings) -> None:
        """Make objects of keys and values.

        :raises Undecodable: one cannot be read.
        """
        topic, key, value = self._topic_partition.topic, decoding.decode_key, decoding.decode_value
        at = 0
        try:
            for at, (one, other) in enumerate(zip(self.keys, self.values, strict=True)):
                if key is not None:
                    self.keys[at] = key(topic, one)
                if value is not None:
                    self.values[at] = value(topic, other)
        except Exception as error:
            raise Undecodable(
                *self._topic_partition, self.offsets[at], str(error), self.records(0, at)
            ) from error


class CompletedFetch:
    """Batches of one partition.

    :ivar remaining_bytes: bytes of the batches that were not decoded yet.
    :ivar next_offset: the offset after what was decoded last; to begin with, the one that was asked for.
    :ivar end_offset: the offset after the last whole batch.
    :ivar leader_epoch: of the last whole batch; -1 where it has none.
    """

    __slots__ = (
        "_aborted",
        "_data",
        "_decoding",
        "_position",
        "_topic_partition",
        "end_offset",
        "leader_epoch",
        "next_offset",
        "remaining_bytes",
    )

    def __init__(
        self,
        place: TopicPartition,
        data: memoryview,
        offset: int,
        aborted: AbortedTransactions | None,
        decoding: DecodeSettings,
    ) -> None:
        """Make it of what a broker sent.

        :param data: may begin with records before *offset*, and end within a batch.
        :raises CorruptBatch: the frames of the batches are wrong.
        """
        self._topic_partition = place
        self._data = data
        self._position = 0
        self._aborted = aborted
        self._decoding = decoding
        self.next_offset = self.end_offset = offset
        self.remaining_bytes = last = 0
        try:
            for span in batches(data):
                last = span.position
                self.remaining_bytes = last + span.size
                self.end_offset = max(self.end_offset, span.last_offset + 1)
        except CorruptRecords as error:
            raise CorruptBatch(*place, self.end_offset, self.end_offset + 1, str(error)) from error
        if self.end_offset > LAST_OFFSET:
            why = f"a batch ends at offset {self.end_offset - 1}, after which there is none"
            raise CorruptBatch(*place, offset, offset + 1, why)
        self.leader_epoch = NO_LEADER_EPOCH
        if self.remaining_bytes:
            epoch, magic = _EPOCH_AND_MAGIC.unpack_from(data, last)
            if magic == v2.MAGIC:
                self.leader_epoch = epoch

    def __bool__(self) -> bool:
        return self.remaining_bytes > 0

    def decode_next(self) -> DecodedBatch:
        """Decode the next batch: its records from :attr:`next_offset` on, perhaps none.

        After an error it may not be called again.

        :raises CorruptBatch: a CRC or the bytes of the batch are wrong.
        :raises UnsupportedBatch: a codec is unknown or not installed.
        :raises Undecodable: a key or value is not what the settings say; the error has what stands before it.
        """
        start = self._position
        length, magic = _LENGTH_AND_MAGIC.unpack_from(self._data, start)
        size = length + v2.LOG_OVERHEAD
        self._position += size
        self.remaining_bytes -= size
        raw = self._data[start : start + size]
        batch = DecodedBatch(self._topic_partition)
        first = self.next_offset
        try:
            if magic == v2.MAGIC:
                self._read(raw, batch)
            else:
                self._read_legacy(raw, magic, batch)
        except CorruptRecords as error:
            raise CorruptBatch(*self._topic_partition, first, self._behind(raw), str(error)) from error
        except UnsupportedCompression as error:
            raise UnsupportedBatch(*self._topic_partition, first, self._behind(raw), str(error)) from error
        if batch.offsets and batch.offsets[0] < first:
            batch.drop_first(bisect_left(batch.offsets, first))
        if self._decoding.decode_key is not None or self._decoding.decode_value is not None:
            batch.decode(self._decoding)
        return batch

    def _behind(self, raw: memoryview) -> int:
        """Return the offset after a batch that cannot be read, as its header has it."""
        return min(max((span.last_offset + 1 for span in batches(raw)), default=0), self.end_offset)

    def _read(self, raw: memoryview, batch: DecodedBatch) -> None:
        header = v2.parse_header(raw)
        if self._decoding.check_crcs:
            v2.check(raw, 0, header)
        self.next_offset = max(self.next_offset, header.next_offset)
        aborted = self._aborted
        if header.control:
            if aborted is not None:
                aborted.end_transaction(header, raw)
            return
        if aborted is not None and aborted.is_aborted(header):
            return
        v2.read_columns(
            raw,
            batch.offsets,
            batch.timestamps,
            batch.keys,
            batch.values,
            limit_bytes=self._decoding.limit_bytes,
            encoded_headers=batch.headers,
            header=header,
        )
        batch.timestamp_type = LOG_APPEND_TIME if header.log_append_time else CREATE_TIME
        batch.leader_epoch = header.partition_leader_epoch

    def _read_legacy(self, raw: memoryview, magic: int, batch: DecodedBatch) -> None:
        message = next(messages.iter_messages(raw, whole=True))
        decoding = self._decoding
        for record in message_sets.iter_records(raw, decoding.check_crcs, decoding.limit_bytes):
            batch.offsets.append(record.offset)
            batch.timestamps.append(record.timestamp)
            batch.keys.append(record.key)
            batch.values.append(record.value)
            batch.headers.append(b"")
        self.next_offset = max(self.next_offset, message.offset + 1)
        if magic:
            batch.timestamp_type = LOG_APPEND_TIME if message.log_append_time else CREATE_TIME
