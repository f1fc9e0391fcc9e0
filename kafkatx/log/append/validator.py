"""Validation of the headers of produced batches, with a reason for each refusal. Pure.

``Appender.append`` accepts plain batches on a shorter path. All others come here, to be accepted or refused.
Both paths must agree; a test checks it.

:mod:`kafkatx.log.append.content` validates the content of batches. Apache Kafka's ``LogValidator``
compares the timestamp of every record with the clock; here only the timestamps in the header are compared.
"""

from __future__ import annotations

from kafkatx.config.log_config import LogConfig
from kafkatx.errors import CorruptRecords, ErrorCode, RequestError, UnsupportedCompression
from kafkatx.log.append.content import (
    SMALL_BYTES,
    SMALL_INFLATED_BYTES,
    Refusal,
    Refused,
    ValidatedRecords,
    is_too_large,
    refuse_null_keys,
)
from kafkatx.records import batch as v2
from kafkatx.records import conversion
from kafkatx.records.checksum import crc32c
from kafkatx.records.compression import Codec, codec_named
from kafkatx.records.legacy import message_sets
from kafkatx.records.record_checks import LEAST_RECORD_BYTES, is_one_record
from kafkatx.types import NO_TIMESTAMP

_KNOWN_ATTRIBUTES = v2.COMPRESSION_MASK | v2.TIMESTAMP_TYPE | v2.TRANSACTIONAL | v2.CONTROL


def topic_codec(config: LogConfig) -> Codec | None:
    """Return the codec of the topic's ``compression.type``; None if it is ``producer``."""
    if config.compression_type == "producer":
        return None
    if config.compression_type == "uncompressed":
        return Codec.NONE
    return codec_named(config.compression_type)


def check_frame(
    records: memoryview, config: LogConfig, now_ms: int, verified: bool = False
) -> v2.BatchHeader:
    """Check the header of a batch of Produce v3+, and the length of a single record.

    :param verified: it may be part of a transaction.
    :raises RequestError: the batch is refused.
    """
    header = _one_header(records)
    if header.size_bytes > config.max_message_bytes:
        raise too_large(header.size_bytes, config)
    if header.size_bytes > len(records):
        raise CorruptRecords(f"a batch of {header.size_bytes} bytes in {len(records)}")
    if header.size_bytes < len(records):
        raise Refused(ErrorCode.INVALID_RECORD, "more than one batch for a partition")
    if crc32c(records[v2.ATTRIBUTES_AT :]) != header.crc:
        raise CorruptRecords("the batch's CRC does not match")
    _check_header(header, config, verified)
    _check_times(header, config, now_ms)
    single = header.codec == Codec.NONE and header.count == 1
    if config.checks_records and single and not is_one_record(records):
        raise Refused(ErrorCode.INVALID_RECORD, f"{header.size_bytes} bytes are not one record")
    return header


def stamped(records: memoryview, config: LogConfig, now_ms: int) -> tuple[v2.BatchHeader, memoryview]:
    """Stamp a batch with the broker's time if the topic says so.

    :return: the header to store, in which base offset and leader epoch are still the producer's; and the
        bytes that follow the header.
    :raises RequestError: it is too large, now that it is compressed as the topic says.
    """
    header = v2.parse_header(records)
    if header.size_bytes > config.max_message_bytes:
        raise too_large(header.size_bytes, config)
    body = records[v2.HEADER_BYTES :]
    return (_stamped(header, body, now_ms) if config.log_append_time else header), body


def _one_header(records: memoryview) -> v2.BatchHeader:
    if not len(records):
        raise Refused(ErrorCode.INVALID_RECORD, "no record batch for a partition")
    if len(records) > v2.MAGIC_AT and records[v2.MAGIC_AT] != v2.MAGIC:
        raise Refused(ErrorCode.INVALID_RECORD, f"magic {records[v2.MAGIC_AT]} where 2 is asked for")
    header = v2.parse_header(records)
    if header.size_bytes < v2.HEADER_BYTES:
        raise CorruptRecords(f"a batch of {header.size_bytes} bytes")
    return header


def too_large(size: int, config: LogConfig) -> Refused:
    """Return the error for a batch of *size* bytes."""
    return Refused(
        ErrorCode.MESSAGE_TOO_LARGE, f"{size} bytes, max.message.bytes is {config.max_message_bytes}"
    )


def _check_header(header: v2.BatchHeader, config: LogConfig, verified: bool) -> None:
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
    if header.count > config.inflated_limit_bytes // LEAST_RECORD_BYTES:
        raise Refused(
            ErrorCode.INVALID_RECORD,
            f"{header.count} records are more than a batch can hold that inflates to "
            f"{config.inflated_limit_bytes} bytes (kafkatx.records.max.inflated.bytes)",
        )
    if header.attributes & ~_KNOWN_ATTRIBUTES:
        raise Refused(
            ErrorCode.INVALID_RECORD, f"attributes {header.attributes:#x} are not a client's to set"
        )
    if header.control:
        raise Refused(ErrorCode.INVALID_RECORD, "clients may not write control batches")
    if header.transactional and not verified:
        raise Refused(ErrorCode.INVALID_TXN_STATE, "the transaction is not known to have this partition")
    if header.transactional and header.producer_id < 0:
        raise Refused(ErrorCode.INVALID_RECORD, "a transaction without a producer id")
    unnumbered = header.producer_epoch < 0 or (header.base_sequence < 0 and not header.transactional)
    if header.producer_id >= 0 and unnumbered:  # the appender looks at those of transactions
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


def _stamped(header: v2.BatchHeader, body: memoryview, now_ms: int) -> v2.BatchHeader:
    """Return the header with the broker's time and the CRC that fits it."""
    header = header._replace(attributes=header.attributes | v2.TIMESTAMP_TYPE, max_timestamp=now_ms)
    checked = v2.HEADER.pack(*header)[v2.ATTRIBUTES_AT :]
    return header._replace(crc=crc32c(body, crc32c(checked)))


def check_message_set(
    records: memoryview, config: LogConfig, codec: Codec | None, base_offset: int, now_ms: int
) -> ValidatedRecords:
    """Check a message set of Produce v0-2 and assign its offsets.

    :return: the set as it is to be stored, and what it holds; or why it is refused.
    """
    return _validated(records, config, codec, base_offset, now_ms, config.inflated_limit_bytes)


def check_small_message_set(
    records: memoryview, config: LogConfig, codec: Codec | None, base_offset: int, now_ms: int
) -> ValidatedRecords | None:
    """Check a message set like :func:`check_message_set` if it is small; otherwise return None."""
    if len(records) > SMALL_BYTES:
        return None
    limit_bytes = min(SMALL_INFLATED_BYTES, config.inflated_limit_bytes)
    validated = _validated(records, config, codec, base_offset, now_ms, limit_bytes)
    return None if limit_bytes < config.inflated_limit_bytes and is_too_large(validated) else validated


def _validated(
    records: memoryview,
    config: LogConfig,
    codec: Codec | None,
    base_offset: int,
    now_ms: int,
    limit_bytes: int,
) -> ValidatedRecords:
    try:
        data, info = _assigned(records, config, codec, base_offset, now_ms, limit_bytes)
    except RequestError as error:
        return ValidatedRecords(config, base_offset=base_offset, refused=Refusal.of(error))
    return ValidatedRecords(config, data, base_offset, info)


def _assigned(
    records: memoryview,
    config: LogConfig,
    codec: Codec | None,
    base_offset: int,
    now_ms: int,
    limit_bytes: int,
) -> tuple[bytes, message_sets.AssignedInfo]:
    """Check a message set; all of its wrappers together may be *limit_bytes* large, decompressed.

    :raises RequestError: the set is refused.
    """
    spans = list(conversion.batches(records))
    for span in spans:
        if span.magic > 1:
            raise Refused(ErrorCode.INVALID_RECORD, "a batch of magic 2 in a request for older ones")
        if span.size > config.max_message_bytes:
            raise too_large(span.size, config)
    append_ms = now_ms if config.log_append_time else None
    data, info = message_sets.assign_offsets(records, base_offset, append_ms, limit_bytes)
    if append_ms is None:
        _check_time(info.max_timestamp, config, now_ms)
    if config.compacted:
        refuse_null_keys(message_sets.keyless(data, limit_bytes))
    if codec is not None and any(span_codec(data, at.position) != codec for at in info.positions):
        return _recompressed(data, codec, spans[0].magic, base_offset, append_ms, limit_bytes)
    return data, info


def span_codec(data: bytes, position: int) -> int:
    """Return the codec of the message of magic 0 or 1 at *position*."""
    return data[position + 17] & v2.COMPRESSION_MASK


def _recompressed(
    data: bytes, codec: Codec, magic: int, base_offset: int, append_ms: int | None, limit_bytes: int
) -> tuple[bytes, message_sets.AssignedInfo]:
    records = message_sets.iter_records(memoryview(data), limit_bytes=limit_bytes)
    built = message_sets.build(records, magic, codec, base_offset)
    return message_sets.assign_offsets(memoryview(built), base_offset, append_ms, limit_bytes)
