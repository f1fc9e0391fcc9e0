"""The public values of a producer: records in, metadata out."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from kafkatx.types import NO_TIMESTAMP

NO_OFFSET = -1


class ProducerRecord(NamedTuple):
    """A record before key and value are encoded."""

    topic: str
    value: Any
    key: Any = None
    partition: int | None = None
    headers: Sequence[tuple[str, bytes | None]] = ()
    timestamp_ms: int | None = None


class RecordMetadata(NamedTuple):
    """The place of a record in the log.

    ``offset`` is -1 if it is not known: with acks=0, or after an old broker's reply to a duplicate.
    ``timestamp_ms`` is the broker's with ``message.timestamp.type=LogAppendTime``, else the record's.
    """

    topic: str
    partition: int
    offset: int = NO_OFFSET
    timestamp_ms: int = NO_TIMESTAMP


class BatchMetadata(NamedTuple):
    """The place of a list of records in the log: ``records`` of them in one partition, in order.

    Offsets are inclusive; -1 if they are not known, as in :class:`RecordMetadata`. There are no gaps between
    them unless the list did not fit in one batch and another producer's records came between.
    """

    topic: str
    partition: int
    base_offset: int
    last_offset: int
    records: int
    timestamp_ms: int = NO_TIMESTAMP


class ProducerData(NamedTuple):
    """Values for one topic, with one key: the element of the list for Kafka 0.7's ``Producer.send``.

    All values have the key, which chooses their partition; None: the partitioner chooses.
    """

    topic: str
    values: Sequence[Any]
    key: Any = None
