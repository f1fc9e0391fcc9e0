"""What stands inside of a produced batch: inflated, counted, compressed anew. Pure, and bounded.

Small batches are looked into where they are appended. A larger one would keep the reactor: appending it gives
a :class:`ValidationRequired`. Its ``validate`` is called in a worker, the result goes to a second append.
What one look may cost is bounded by the largest inflated batch (``kafkatx.records.max.inflated.bytes``): no
more is inflated, and nothing that grows with the number of records is kept, but by what is compressed anew.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import NamedTuple

import attrs
from zope.interface import implementer

from kafkatx.config.log_config import FULL, LogConfig
from kafkatx.errors import CorruptRecords, ErrorCode, RequestError
from kafkatx.interfaces import IAppended
from kafkatx.interfaces.storage import NEEDS_VALIDATION
from kafkatx.records import batch as v2
from kafkatx.records import conversion
from kafkatx.records.compression import Codec, InflatedTooLarge
from kafkatx.records.legacy import message_sets
from kafkatx.records.record_checks import check_fields

CHECK_EVERY_MS = 10
"""Where checks are bounded, so much of a log's time pays for one record."""

UNCHECKED_MOST_MS = 10_000
"""What an idle log has saved up at most: 1,000 records' worth. What it owes at most is as much."""

SMALL_BYTES = 16 << 10
SMALL_INFLATED_BYTES = 64 << 10
SMALL_RECORDS = 1024


class Refused(RequestError):
    """The records cannot be appended; ``record_errors`` are (index in the batch, message)."""

    def __init__(self, code: ErrorCode, message: str, record_errors: Sequence[tuple[int, str]] = ()) -> None:
        super().__init__(code, message)
        self.record_errors = record_errors


class Refusal(NamedTuple):
    """What an error says, without the frames that it was raised in and all that they hold."""

    code: ErrorCode
    message: str
    record_errors: Sequence[tuple[int, str]]
    inflated_too_large: bool

    @classmethod
    def of(cls, error: RequestError) -> Refusal:
        """The refusal that an error tells of."""
        too_large = isinstance(error, InflatedTooLarge)
        return cls(error.code, str(error), getattr(error, "record_errors", ()), too_large)


@attrs.frozen(eq=False)
class ValidatedRecords:
    """What a look into the records of one append has given.

    :ivar config: the settings it was done by; after a change of them it is done again.
    :ivar records: as they are to be stored, but for what a header is stamped with; empty if refused.
    :ivar info: what a message set holds, with offsets from ``base_offset`` on; None for magic 2.
    :ivar refused: why they cannot be stored.
    """

    config: LogConfig
    records: bytes | memoryview = b""
    base_offset: int = -1
    info: message_sets.AssignedInfo | None = None
    refused: Refusal | None = None


@implementer(IAppended)
@attrs.frozen(eq=False)
class ValidationRequired:
    """As IAppended says: nothing is staged yet."""

    validate: Callable[[], ValidatedRecords]
    error: int = NEEDS_VALIDATION
    message: str | None = None
    base_offset: int = -1
    last_offset: int = -1
    log_append_time_ms: int = -1
    record_errors: Sequence[tuple[int, str]] = ()


def must_look(header: v2.BatchHeader, config: LogConfig, codec: Codec | None) -> bool:
    """True if the settings ask for a look into such a batch."""
    if config.compacted or (codec is not None and header.codec != codec):
        return True
    return config.checks_records and (header.codec != Codec.NONE or config.records_validation == FULL)


class Allowance:
    """How many records of one log have every field checked where checks are bounded.

    :ivar open_ms: from this time on the next batch's have, however many there are.
    """

    __slots__ = ("open_ms",)

    def __init__(self) -> None:
        self.open_ms = 0

    def take(self, count: int, now_ms: int) -> bool:
        """Return True if every field of a batch of *count* records is to be checked."""
        if now_ms < self.open_ms:
            return False
        cost_ms = min(count * CHECK_EVERY_MS, 2 * UNCHECKED_MOST_MS)
        self.open_ms = max(self.open_ms, now_ms - UNCHECKED_MOST_MS) + cost_ms
        return True

    def give_back(self, count: int) -> None:
        """Take a batch that was refused for none: who sends many of them is not to use the allowance up."""
        self.open_ms -= min(count * CHECK_EVERY_MS, 2 * UNCHECKED_MOST_MS)


def validate_batch(
    records: memoryview, config: LogConfig, codec: Codec | None, thorough: bool
) -> ValidatedRecords:
    """Look into a batch whose header is sound; for a worker.

    :param thorough: every field is checked, also where the settings ask for less.
    """
    look = partial(looked_into, records, config, codec, thorough, config.inflated_limit_bytes)
    return _validated(config, look)


def validate_small_batch(
    records: memoryview, config: LogConfig, codec: Codec | None, thorough: bool
) -> ValidatedRecords | None:
    """As :func:`validate_batch` if that takes no time; else None."""
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
    """True if it was refused because it inflates to more than was allowed."""
    return validated.refused is not None and validated.refused.inflated_too_large


def looked_into(
    records: memoryview, config: LogConfig, codec: Codec | None, thorough: bool, limit_bytes: int
) -> bytes | memoryview:
    """Inflate a batch and check its records as the settings say; return it as the topic's codec has it.

    :raises InflatedTooLarge: it holds more than *limit_bytes*.
    :raises RequestError: INVALID_RECORD: it does not inflate, its records are not what its header says, or
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
        # The checksum is right, so that sending it again, as CORRUPT_MESSAGE asks for, would not help.
        raise Refused(ErrorCode.INVALID_RECORD, str(error)) from None
    if codec is None or header.codec == codec:
        return records
    return conversion.recompress(records, codec, payload=data)


def refuse_null_keys(keyless: Sequence[int]) -> None:
    """Refuse the records with these numbers, if there are any."""
    if keyless:
        errors = [(number, "a compacted topic needs keys") for number in keyless]
        raise Refused(ErrorCode.INVALID_RECORD, "a compacted topic needs keys", errors)
