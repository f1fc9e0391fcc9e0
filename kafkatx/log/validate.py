"""What a producer may append, judged in full and in words. Pure.

The log takes plain batches on a shorter way (:meth:`kafkatx.log.staging.StagedLog.append`); whatever that
one does not accept at a glance comes here, to be accepted after all or refused with the reason. Both ways
must agree: a test holds it.

What Apache Kafka's ``LogValidator`` checks per record (count, offsets, timestamps) is checked by the batch
header alone, for records are not decoded; except the keys, on a compacted topic.
"""

from __future__ import annotations

from collections.abc import Sequence

from kafkatx.config.log_config import LogConfig
from kafkatx.errors import CorruptRecords, ErrorCode, RequestError, UnsupportedCompression
from kafkatx.records import batch as v2
from kafkatx.records import convert, legacy
from kafkatx.records.checksum import crc32c
from kafkatx.records.compression import Codec, codec_named
from kafkatx.types import NO_TIMESTAMP

LEAST_RECORD_BYTES = 7
"""Length, attributes, two deltas, two lengths and the count of headers: a byte each."""


class Refused(RequestError):
    """The records cannot be appended; ``record_errors`` are (index in the batch, message)."""

    def __init__(self, code: ErrorCode, message: str, record_errors: Sequence[tuple[int, str]] = ()) -> None:
        super().__init__(code, message)
        self.record_errors = record_errors


def topic_codec(config: LogConfig) -> Codec | None:
    """The codec that the topic's ``compression.type`` asks for; None where the producer chooses."""
    if config.compression_type == "producer":
        return None
    if config.compression_type == "uncompressed":
        return Codec.NONE
    return codec_named(config.compression_type)


def check_batch(
    records: memoryview, config: LogConfig, codec: Codec | None, now_ms: int
) -> tuple[v2.BatchHeader, memoryview]:
    """Check what a Produce v3+ sent, and stamp or recompress it if the topic says so.

    :return: the header as it is to be stored, base offset and leader epoch still the producer's, and what
        follows the header.
    :raises RequestError: the batch is refused.
    """
    header = _one_header(records)
    if header.size_bytes > config.max_message_bytes:
        raise _too_large(header.size_bytes, config)
    if header.size_bytes > len(records):
        raise CorruptRecords(f"a batch of {header.size_bytes} bytes in {len(records)}")
    if header.size_bytes < len(records):
        raise Refused(ErrorCode.INVALID_RECORD, "more than one batch for a partition")
    if crc32c(records[v2.ATTRIBUTES_AT :]) != header.crc:
        raise CorruptRecords("the batch's CRC does not match")
    _check_header(header)
    _check_times(header, config, now_ms)
    if config.compacted:
        _check_keys(records)
    if codec is not None and header.codec != codec:
        records = memoryview(convert.recompress(records, codec))
        header = v2.parse_header(records)
        if header.size_bytes > config.max_message_bytes:
            raise _too_large(header.size_bytes, config)
    body = records[v2.HEADER_BYTES :]
    if config.log_append_time:
        header = _stamped(header, body, now_ms)
    return header, body


def _one_header(records: memoryview) -> v2.BatchHeader:
    if not len(records):
        raise Refused(ErrorCode.INVALID_RECORD, "no record batch for a partition")
    if len(records) > v2.MAGIC_AT and records[v2.MAGIC_AT] != v2.MAGIC:
        raise Refused(ErrorCode.INVALID_RECORD, f"magic {records[v2.MAGIC_AT]} where 2 is asked for")
    header = v2.parse_header(records)
    if header.size_bytes < v2.HEADER_BYTES:
        raise CorruptRecords(f"a batch of {header.size_bytes} bytes")
    return header


def _too_large(size: int, config: LogConfig) -> Refused:
    return Refused(
        ErrorCode.MESSAGE_TOO_LARGE, f"{size} bytes, max.message.bytes is {config.max_message_bytes}"
    )


def _check_header(header: v2.BatchHeader) -> None:
    if header.count <= 0 or header.last_offset_delta != header.count - 1:
        raise Refused(
            ErrorCode.INVALID_RECORD,
            f"{header.count} records with last_offset_delta {header.last_offset_delta}",
        )
    if header.attributes & v2.COMPRESSION_MASK > max(Codec):
        raise UnsupportedCompression(f"no codec has the number {header.attributes & v2.COMPRESSION_MASK}")
    uncompressed = not header.attributes & v2.COMPRESSION_MASK
    if uncompressed and header.count * LEAST_RECORD_BYTES > header.size_bytes - v2.HEADER_BYTES:
        raise Refused(ErrorCode.INVALID_RECORD, f"{header.count} records in {header.size_bytes} bytes")
    if header.control:
        raise Refused(ErrorCode.INVALID_RECORD, "clients may not write control batches")
    if header.transactional:
        raise Refused(ErrorCode.INVALID_TXN_STATE, "transactions are not supported")
    if header.producer_id >= 0 and (header.producer_epoch < 0 or header.base_sequence < 0):
        raise Refused(ErrorCode.INVALID_RECORD, "a producer id without epoch or sequence")


def _check_times(header: v2.BatchHeader, config: LogConfig, now_ms: int) -> None:
    if header.log_append_time:
        raise Refused(ErrorCode.INVALID_TIMESTAMP, "a producer sent a batch with LogAppendTime")
    if not config.log_append_time:
        _check_time(header.base_timestamp, config, now_ms)
        _check_time(header.max_timestamp, config, now_ms)


def _check_time(timestamp: int, config: LogConfig, now_ms: int) -> None:
    if timestamp == NO_TIMESTAMP:
        return
    if timestamp > now_ms + config.message_timestamp_after_max_ms:
        raise Refused(
            ErrorCode.INVALID_TIMESTAMP,
            f"timestamp {timestamp} is more than message.timestamp.after.max.ms after {now_ms}",
        )
    if timestamp < now_ms - config.message_timestamp_before_max_ms:
        raise Refused(
            ErrorCode.INVALID_TIMESTAMP,
            f"timestamp {timestamp} is more than message.timestamp.before.max.ms before {now_ms}",
        )


def _check_keys(records: memoryview) -> None:
    keys: list[bytes | None] = []
    v2.read_columns(records, [], [], keys, [])
    _refuse_null_keys(keys)


def _refuse_null_keys(keys: list[bytes | None]) -> None:
    if None in keys:
        errors = [(index, "a compacted topic needs keys") for index, key in enumerate(keys) if key is None]
        raise Refused(ErrorCode.INVALID_RECORD, "a compacted topic needs keys", errors)


def _stamped(header: v2.BatchHeader, body: memoryview, now_ms: int) -> v2.BatchHeader:
    """The header with the broker's time, and the CRC that this makes right."""
    header = header._replace(attributes=header.attributes | v2.TIMESTAMP_TYPE, max_timestamp=now_ms)
    checked = v2.HEADER.pack(*header)[v2.ATTRIBUTES_AT :]
    return header._replace(crc=crc32c(body, crc32c(checked)))


def check_message_set(
    records: memoryview, config: LogConfig, codec: Codec | None, base_offset: int, now_ms: int
) -> tuple[bytes, legacy.AssignedInfo]:
    """Check what a Produce v0-2 sent and give it offsets.

    :return: the set as it is to be stored, and what it holds.
    :raises RequestError: the set is refused.
    """
    spans = list(convert.batches(records))
    for span in spans:
        if span.magic > 1:
            raise Refused(ErrorCode.INVALID_RECORD, "a batch of magic 2 in a request for older ones")
        if span.size > config.max_message_bytes:
            raise _too_large(span.size, config)
    append_ms = now_ms if config.log_append_time else None
    data, info = legacy.assign_offsets(records, base_offset, append_ms)
    if append_ms is None:
        _check_time(info.max_timestamp, config, now_ms)
    if config.compacted:
        _refuse_null_keys([record.key for record in legacy.iter_records(memoryview(data))])
    if codec is not None and any(span_codec(data, at.position) != codec for at in info.positions):
        return _recompressed(data, codec, spans[0].magic, base_offset, append_ms)
    return data, info


def span_codec(data: bytes, position: int) -> int:
    """The codec in the attributes of the message of magic 0 or 1 at *position*."""
    return data[position + 17] & v2.COMPRESSION_MASK


def _recompressed(
    data: bytes, codec: Codec, magic: int, base_offset: int, append_ms: int | None
) -> tuple[bytes, legacy.AssignedInfo]:
    records = list(legacy.iter_records(memoryview(data)))
    built = legacy.build(records, magic, codec, base_offset)
    return legacy.assign_offsets(memoryview(built), base_offset, append_ms)
