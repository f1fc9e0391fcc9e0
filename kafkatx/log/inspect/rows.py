"""The rows of a dump: named tuples, each with the path of its file. Pure."""

from __future__ import annotations

from typing import NamedTuple, TypeAlias

from kafkatx.log.segment.scan import Shallow
from kafkatx.records.batch import Headers
from kafkatx.records.compression import Codec
from kafkatx.records.header import (
    BASE_TIMESTAMP_AT,
    COMPRESSION_MASK,
    CONTROL,
    COUNT_AT,
    MAGIC,
    TIMESTAMP_TYPE,
    TRANSACTIONAL,
)


class BatchRow(NamedTuple):
    """A batch of magic 2, or an outer message of magic 0 or 1.

    A compressed message has only its last offset without decompression; ``count`` is None then. Values that
    the format does not have are None.
    """

    file: str
    position: int
    size: int
    magic: int
    base_offset: int
    last_offset: int
    count: int | None  # type: ignore[assignment]  # hides tuple.count, which is not needed here
    codec: str
    timestamp_type: str | None
    base_timestamp: int | None
    max_timestamp: int | None
    leader_epoch: int | None
    producer_id: int | None
    producer_epoch: int | None
    base_sequence: int | None
    transactional: bool
    control: bool
    crc: int
    crc_ok: bool


class RecordRow(NamedTuple):
    """A record, and the position of its batch."""

    file: str
    position: int
    offset: int
    timestamp: int
    key: bytes | None
    value: bytes | None
    headers: Headers


class DamageRow(NamedTuple):
    """A damaged part; ``size`` is None if it is the rest of the file, or the whole file."""

    file: str
    position: int
    size: int | None
    problem: str


class IndexRow(NamedTuple):
    """An entry of a ``.index``: *position* is its own, *log_position* that of the batch."""

    file: str
    position: int
    offset: int
    log_position: int


class TimeRow(NamedTuple):
    """An entry of a ``.timeindex``."""

    file: str
    position: int
    timestamp: int
    offset: int


class AbortedRow(NamedTuple):
    """An entry of a ``.txnindex``; ``last_offset`` is that of the marker."""

    file: str
    position: int
    producer_id: int
    first_offset: int
    last_offset: int
    last_stable_offset: int


class ProducerRow(NamedTuple):
    """A batch of a producer in a ``.snapshot``; its fields are None if the producer has none."""

    file: str
    producer_id: int
    producer_epoch: int
    first_sequence: int | None
    last_sequence: int | None
    base_offset: int | None
    last_offset: int | None
    timestamp: int
    coordinator_epoch: int
    txn_first_offset: int


class OffsetRow(NamedTuple):
    """A line of an offset checkpoint."""

    file: str
    topic: str
    partition: int
    offset: int


class EpochRow(NamedTuple):
    """A line of ``leader-epoch-checkpoint``."""

    file: str
    leader_epoch: int
    start_offset: int


class PropertyRow(NamedTuple):
    """A line of ``meta.properties`` or ``partition.metadata``."""

    file: str
    name: str
    value: str


Row: TypeAlias = (
    BatchRow
    | RecordRow
    | DamageRow
    | IndexRow
    | TimeRow
    | AbortedRow
    | ProducerRow
    | OffsetRow
    | EpochRow
    | PropertyRow
)

KINDS: dict[type, str] = {
    BatchRow: "batch",
    RecordRow: "record",
    DamageRow: "damage",
    IndexRow: "index",
    TimeRow: "timeindex",
    AbortedRow: "aborted",
    ProducerRow: "producer",
    OffsetRow: "offset",
    EpochRow: "epoch",
    PropertyRow: "property",
}
"""The kind of each row in JSON output."""


def batch_row(path: str, batch: Shallow, head: bytes, crc_ok: bool) -> BatchRow:
    """Return the row of a batch.

    :param head: its first 61 bytes.
    """
    attributes, codec = batch.attributes, batch.attributes & COMPRESSION_MASK
    count: int | None = 1
    base_timestamp: int | None = None
    if batch.magic == MAGIC:
        count = int.from_bytes(head[COUNT_AT : COUNT_AT + 4], "big", signed=True)
        base_timestamp = int.from_bytes(head[BASE_TIMESTAMP_AT : BASE_TIMESTAMP_AT + 8], "big", signed=True)
    elif codec:
        count = None
    new = batch.magic == MAGIC
    return BatchRow(
        path,
        batch.position,
        batch.size,
        batch.magic,
        batch.base_offset,
        batch.last_offset,
        count,
        Codec(codec).name.lower() if codec <= max(Codec) else f"unknown ({codec})",
        None if not batch.magic else "LogAppendTime" if attributes & TIMESTAMP_TYPE else "CreateTime",
        base_timestamp,
        batch.max_timestamp if batch.magic else None,
        batch.leader_epoch if new else None,
        batch.producer_id if new else None,
        batch.producer_epoch if new else None,
        batch.base_sequence if new else None,
        new and bool(attributes & TRANSACTIONAL),
        new and bool(attributes & CONTROL),
        batch.crc,
        crc_ok,
    )
