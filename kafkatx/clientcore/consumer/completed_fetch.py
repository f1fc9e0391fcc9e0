"""One partition's part of a fetch response: whole batches, decoded one at a time on demand. Pure: no I/O."""

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
from kafkatx.errors import CorruptRecords, KafkaTXError, UnsupportedCompression
from kafkatx.records import batch as v2
from kafkatx.records.compression import LIMIT_BYTES
from kafkatx.records.conversion import batches
from kafkatx.records.legacy import message_sets, messages
from kafkatx.types import NO_LEADER_EPOCH, TopicPartition

LAST_OFFSET = (1 << 63) - 1
"""The largest offset that can be fetched."""

Decode: TypeAlias = Callable[[str, "bytes | None"], object]
"""Deserializes a key or a value: called with the topic's name and the bytes."""

DecodeRecord: TypeAlias = Callable[[str, "bytes | None", bytes], object]
"""Likewise, and called with the record's encoded headers."""

Prepared: TypeAlias = Callable[["KafkaTXError | None"], None]
"""Called when a batch can be decoded, or with the error that prevents it for now."""

Prepare: TypeAlias = Callable[[str, "DecodedBatch", Prepared], bool]
"""Called with the topic's name and a batch whose keys and values are still bytes. Returns True if it can be
decoded now; otherwise calls the function later."""

_LENGTH_AND_MAGIC = Struct(">8xi4xb")
_EPOCH_AND_MAGIC = Struct(">12xib")


@attrs.frozen
class DecodeSettings:
    """Settings for decoding batches.

    :ivar check_crcs: ``check.crcs``.
    :ivar decode_key: deserializer of keys; None leaves bytes. *decode_value* likewise.
    :ivar limit_bytes: limit of a batch's decompressed size.
    :ivar key_with_headers: in place of *decode_key*, for batches with headers; *value_with_headers* likewise.
    :ivar prepare: called before a batch is decoded; None: no deserializer needs it.
    """

    check_crcs: bool = True
    decode_key: Decode | None = None
    decode_value: Decode | None = None
    limit_bytes: int = LIMIT_BYTES
    key_with_headers: DecodeRecord | None = None
    value_with_headers: DecodeRecord | None = None
    prepare: Prepare | None = None


class DecodedBatch:
    """The records of one batch, column by column.

    :class:`Record` objects are made only when records are delivered. So few of them exist at a time, which
        spares the garbage collector, as it counts tuples and not bytes.
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

    def __init__(self, topic_partition: TopicPartition) -> None:
        self._topic_partition = topic_partition
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
        """Return the records with index *start* to *end* (exclusive)."""
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
        # Takes a third of the time of Record(...).
        return list(map(tuple.__new__, repeat(Record), fields))

    def drop_first(self, count: int) -> None:
        """Remove the first *count* records."""
        column: list[Any]
        for column in (self.offsets, self.timestamps, self.keys, self.values, self.headers):
            del column[:count]

    def decode(self, decoding: DecodeSettings) -> None:
        """Deserialize keys and values in place.

        :raises Undecodable: a deserializer failed.
        """
        topic, key, value = self._topic_partition.topic, decoding.decode_key, decoding.decode_value
        at = 0
        try:
            if (decoding.key_with_headers or decoding.value_with_headers) and any(self.headers):
                for at in range(len(self.offsets)):
                    self._decode_with_headers(at, decoding)
                return
            for at, (key_bytes, value_bytes) in enumerate(zip(self.keys, self.values, strict=True)):
                if key is not None:
                    self.keys[at] = key(topic, key_bytes)
                if value is not None:
                    self.values[at] = value(topic, value_bytes)
        except Exception as error:
            raise Undecodable(
                *self._topic_partition, self.offsets[at], str(error), self.records(0, at)
            ) from error

    def _decode_with_headers(self, at: int, decoding: DecodeSettings) -> None:
        """Deserialize one record's key and value, by its headers if the deserializer reads them."""
        topic, headers = self._topic_partition.topic, self.headers[at]
        for column, decode, with_headers in (
            (self.keys, decoding.decode_key, decoding.key_with_headers),
            (self.values, decoding.decode_value, decoding.value_with_headers),
        ):
            if with_headers is not None:
                column[at] = with_headers(topic, column[at], headers)
            elif decode is not None:
                column[at] = decode(topic, column[at])


class CompletedFetch:
    """The fetched batches of one partition.

    :ivar remaining_bytes: size of the batches that are not decoded yet.
    :ivar next_offset: the offset after the last decoded batch; initially the fetch offset.
    :ivar end_offset: the offset after the last whole batch.
    :ivar leader_epoch: of the last whole batch; -1 if it has none.
    """

    __slots__ = (
        "_aborted",
        "_data",
        "_decoding",
        "_position",
        "_read_batch",
        "_topic_partition",
        "end_offset",
        "leader_epoch",
        "next_offset",
        "remaining_bytes",
    )

    def __init__(
        self,
        topic_partition: TopicPartition,
        data: memoryview,
        offset: int,
        aborted: AbortedTransactions | None,
        decoding: DecodeSettings,
    ) -> None:
        """Find the whole batches in a partition's response.

        :param data: may begin with records before *offset*, and end with a partial batch.
        :raises CorruptBatch: the batch framing is invalid.
        """
        self._topic_partition = topic_partition
        self._data = data
        self._position = 0
        self._aborted = aborted
        self._decoding = decoding
        self._read_batch: DecodedBatch | None = None
        self.next_offset = self.end_offset = offset
        self.remaining_bytes = last = 0
        try:
            for span in batches(data):
                last = span.position
                self.remaining_bytes = last + span.size
                self.end_offset = max(self.end_offset, span.last_offset + 1)
        except CorruptRecords as error:
            raise CorruptBatch(*topic_partition, self.end_offset, self.end_offset + 1, str(error)) from error
        if self.end_offset > LAST_OFFSET:
            why = f"a batch ends at offset {self.end_offset - 1}, after which there is none"
            raise CorruptBatch(*topic_partition, offset, offset + 1, why)
        self.leader_epoch = NO_LEADER_EPOCH
        if self.remaining_bytes:
            epoch, magic = _EPOCH_AND_MAGIC.unpack_from(data, last)
            if magic == v2.MAGIC:
                self.leader_epoch = epoch

    def __bool__(self) -> bool:
        return self.remaining_bytes > 0

    def prepare_next(self, prepared: Prepared) -> bool:
        """Return True if :meth:`decode_next` may be called now; otherwise call *prepared* later.

        :raises CorruptBatch: as :meth:`decode_next`; UnsupportedBatch likewise.
        """
        prepare = self._decoding.prepare
        if prepare is None:
            return True
        if self._read_batch is None:
            self._read_batch = self._read_next()
        return not self._read_batch or prepare(self._topic_partition.topic, self._read_batch, prepared)

    def decode_next(self) -> DecodedBatch:
        """Decode the next batch; return its records from :attr:`next_offset` on, possibly none.

        It must not be called again after an error.

        :raises CorruptBatch: the batch is corrupt or its CRC does not match.
        :raises UnsupportedBatch: the codec is unknown or not installed.
        :raises Undecodable: a deserializer failed; the error holds the records before the failed one.
        """
        batch, self._read_batch = self._read_batch, None
        if batch is None:
            batch = self._read_next()
        if self._decoding.decode_key is not None or self._decoding.decode_value is not None:
            batch.decode(self._decoding)
        return batch

    def _read_next(self) -> DecodedBatch:
        """Read the next batch; its keys and values are bytes."""
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
            raise CorruptBatch(*self._topic_partition, first, self._end_of(raw), str(error)) from error
        except UnsupportedCompression as error:
            raise UnsupportedBatch(*self._topic_partition, first, self._end_of(raw), str(error)) from error
        if batch.offsets and batch.offsets[0] < first:
            batch.drop_first(bisect_left(batch.offsets, first))
        return batch

    def _end_of(self, raw: memoryview) -> int:
        """Return the offset after an undecodable batch, according to its header."""
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
