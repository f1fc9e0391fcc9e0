"""Validation of the content of a produced batch: decompress, check records, recompress. Pure and bounded.

Small batches are validated during the append. A larger one would block the reactor: its append returns
a :class:`ValidationRequired`. Its ``validate`` is called in a worker, the result goes to a second append.
The cost is bounded by ``kafkatx.records.max.inflated.bytes``: no more is decompressed, and memory does not
grow with the number of records, except where a batch is recompressed.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import NamedTuple

import attrs
from zope.interface import implementer

from kafkatx.config.log_config import FULL, LogConfig
from kafkatx.errors import CorruptRecords, ErrorCode, RequestError
from kafkatx.interfaces import INeedsValidation
from kafkatx.interfaces.storage import NEEDS_VALIDATION
from kafkatx.records import batch as v2
from kafkatx.records import conversion
from kafkatx.records.compression import Codec, InflatedTooLarge
from kafkatx.records.legacy import message_sets
from kafkatx.records.record_checks import check_fields

CHECK_EVERY_MS = 10
"""With ``kafkatx.records.validation=bounded``: time (ms) that must pass for each record that is checked."""

UNCHECKED_MOST_MS = 10_000
"""The most that an idle log saves up, or a busy one owes: enough for 1,000 records."""

SMALL_BYTES = 16 << 10
SMALL_INFLATED_BYTES = 64 << 10
SMALL_RECORDS = 1024


class Refused(RequestError):
    """The records cannot be appended; ``record_errors`` are (index in the batch, message)."""

    def __init__(self, code: ErrorCode, message: str, record_errors: Sequence[tuple[int, str]] = ()) -> None:
        super().__init__(code, message)
        self.record_errors = record_errors


class Refusal(NamedTuple):
    """The content of an error, without the traceback and the objects that it keeps alive."""

    code: ErrorCode
    message: str
    record_errors: Sequence[tuple[int, str]]
    inflated_too_large: bool

    @classmethod
    def of(cls, error: RequestError) -> Refusal:
        """Make a refusal of an error."""
        too_large = isinstance(error, InflatedTooLarge)
        return cls(error.code, str(error), getattr(error, "record_errors", ()), too_large)


@attrs.frozen(eq=False)
class ValidatedRecords:
    """The result of validating the content of one append.

    :ivar config: the settings that were applied; after a change the records are validated again.
    :ivar records: the records to store, except for the fields that are stamped; empty if refused.
    :ivar info: of a message set, with offsets from ``base_offset`` on; None for magic 2.
    :ivar refused: why they cannot be stored; None if they can.
    """

    config: LogConfig
    records: bytes | memoryview = b""
    base_offset: int = -1
    info: message_sets.AssignedInfo | None = None
    refused: Refusal | None = None


@implementer(INeedsValidation)
@attrs.frozen(eq=False)
class ValidationRequired:
    """See IAppended: nothing is staged yet."""

    validate: Callable[[], ValidatedRecords]
    error: int = NEEDS_VALIDATION
    message: str | None = None
    base_offset: int = -1
    last_offset: int = -1
    log_append_time_ms: int = -1
    record_errors: Sequence[tuple[int, str]] = ()


def must_look(header: v2.BatchHeader, config: LogConfig, codec: Codec | None) -> bool:
    """Return True if the content of such a batch must be validated."""
    if config.compacted or (codec is not None and header.codec != codec):
        return True
    return config.checks_records and (header.codec != Codec.NONE or config.records_validation == FULL)


class Allowance:
    """Limits the records of one log that are checked field by field (``kafkatx.records.validation=bounded``).

    :ivar open_ms: from this time on the next batch is checked, however many records it has.
    """

    __slots__ = ("open_ms",)

    def __init__(self) -> None:
        self.open_ms = 0

    def take(self, count: int, now_ms: int) -> bool:
        """Return True if every field of a batch of *count* records must be checked."""
        if now_ms < self.open_ms:
            return False
        cost_ms = min(count * CHECK_EVERY_MS, 2 * UNCHECKED_MOST_MS)
        self.open_ms = max(self.open_ms, now_ms - UNCHECKED_MOST_MS) + cost_ms
        return True

    def give_back(self, count: int) -> None:
        """Do not count a batch that was refused: a client that sends many must not use up the allowance."""
        self.open_ms -= min(count * CHECK_EVERY_MS, 2 * UNCHECKED_MOST_MS)


def validate_batch(
    records: memoryview, config: LogConfig, codec: Codec | None, thorough: bool
) -> ValidatedRecords:
    """Validate the content of a batch with a valid header. Runs in a worker.

    :param thorough: check every field, even if the settings ask for less.
    """
    look = partial(looked_into, records, config, codec, thorough, config.inflated_limit_bytes)
    return _validated(config, look)


def validate_small_batch(
    records: memoryview, config: LogConfig, codec: Codec | None, thorough: bool
) -> ValidatedRecords | None:
    """Validate a batch like :func:`validate_batch` if it is small; otherwise return None."""
    header = v2.parse_header(records)
    plain = header.codec == Codec.NONE and codec in (None, Codec.NONE)
    if header.count > SMALL_RECORDS or (len(records) > SMALL_BYTES and not plain):
        return None
    limit_bytes = config.inflated_limit_bytes
    if not plain:
        limit_bytes = min(SMALL_INFLATED_BYTES, limit_bytes)
    look = partial(looked_into, records, config, codec, thorough, limit_bytes)
    validated = _validated(config, look)
    if limit_bytes < config.inflated_limit_bytes and is_too_large(validated):
        return None
    return validated


def _validated(config: LogConfig, look: Callable[[], bytes | memoryview]) -> ValidatedRecords:
    try:
        return ValidatedRecords(config, look())
    except RequestError as error:
        return ValidatedRecords(config, refused=Refusal.of(error))


def is_too_large(validated: ValidatedRecords) -> bool:
    """Return True if the records were refused because they are larger, decompressed, than the limit."""
    return validated.refused is not None and validated.refused.inflated_too_large


def looked_into(
    records: memoryview, config: LogConfig, codec: Codec | None, thorough: bool, limit_bytes: int
) -> bytes | memoryview:
    """Decompress a batch, check its records by the settings, return it in the topic's codec.

    :raises InflatedTooLarge: it is larger, decompressed, than *limit_bytes*.
    :raises RequestError: INVALID_RECORD: it cannot be decompressed, its records do not fit its header, or
        one lacks the key that a compacted topic needs.
    """
    header = v2.parse_header(records)
    try:
        data = v2.payload(records, header, limit_bytes)
        if thorough or config.compacted or config.records_validation == FULL:
            refuse_null_keys(check_fields(data, header.count, config.compacted))
    except InflatedTooLarge as error:
        raise InflatedTooLarge(f"{error} (kafkatx.records.max.inflated.bytes)") from None
    except CorruptRecords as error:
        # The checksum is right: to send it again, which CORRUPT_MESSAGE asks for, would not help.
        raise Refused(ErrorCode.INVALID_RECORD, str(error)) from None
    if codec is None or header.codec == codec:
        return records
    return conversion.recompress(records, codec, payload=data)


def refuse_null_keys(keyless: Sequence[int]) -> None:
    """Refuse the records with these numbers, if there are any."""
    if keyless:
        errors = [(number, "a compacted topic needs keys") for number in keyless]
        raise Refused(ErrorCode.INVALID_RECORD, "a compacted topic needs keys", errors)
