"""What goes into a producer and what comes back, as values."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from kafkatx.types import NO_TIMESTAMP

NO_OFFSET = -1


class ProducerRecord(NamedTuple):
    """A record as the application gave it, key and value not encoded yet."""

    topic: str
    value: Any
    key: Any = None
    partition: int | None = None
    headers: Sequence[tuple[str, bytes | None]] = ()
    timestamp_ms: int | None = None


class RecordMetadata(NamedTuple):
    """Where a record is. ``offset`` is -1 where nobody said: acks=0, or an old broker's word on a duplicate.

    ``timestamp_ms`` is the broker's where the topic has its time, else the record's.
    """

    topic: str
    partition: int
    offset: int = NO_OFFSET
    timestamp_ms: int = NO_TIMESTAMP


class BatchMetadata(NamedTuple):
    """Where the records of a list are: in one partition, in order, ``records`` of them.

    Offsets are inclusive, -1 as :class:`RecordMetadata` has it. They have no gaps unless the list did not fit
    in one batch and another producer's records came between.
    """

    topic: str
    partition: int
    base_offset: int
    last_offset: int
    records: int
    timestamp_ms: int = NO_TIMESTAMP


class ProducerData(NamedTuple):
    """Values for one topic, with one key: what Kafka 0.7's ``Producer.send`` takes a list of.

    The key is that of all values and chooses their partition; None: the partitioner chooses.
    """

    topic: str
    values: Sequence[Any]
    key: Any = None
