"""The records of one batch that compaction retains. Pure.

A record is retained if no later one has its key; a tombstone only for a time::

    magic 2, first pass     the batch gets a delete horizon: pass time + delete.retention.ms, stored in
                            base_timestamp and marked by attribute bit 6 (KIP-534, Kafka 3.1)
    magic 2, later passes   its tombstones are removed after the horizon
    magic 0 and 1           they are removed if the segment is older than delete.retention.ms, counted from
                            the last clean segment, as in Apache Kafka

Retained records keep their offsets, leader epoch, producer, sequence, codec and timestamp type. The batch
with a producer's last sequence is retained as an empty header, so that the producer is not forgotten; its
max_timestamp is -1, whereas Kafka keeps the old one, which no record has.

Records of aborted transactions are not retained, and do not make others obsolete. Markers of transactions are
removed like tombstones when nothing else is left of these (:mod:`kafkatx.log.cleaner.transactions`). The last
marker of a producer of which the log knows no batch stays, for its epoch; other control batches are retained.
"""

from __future__ import annotations

from collections.abc import Mapping

import attrs

from kafkatx.errors import CorruptRecords
from kafkatx.log.cleaner import spans
from kafkatx.log.cleaner.offset_map import OffsetMap, names_of
from kafkatx.log.cleaner.transactions import TransactionFilter
from kafkatx.log.segment.scan import Shallow
from kafkatx.records import batch as v2
from kafkatx.records.builder import assemble
from kafkatx.records.compression import LIMIT_BYTES, Codec, compress
from kafkatx.records.control import read_marker
from kafkatx.records.legacy import message_sets
from kafkatx.types import NO_TIMESTAMP


@attrs.frozen
class Kept:
    """A batch to write, with the values that its index entries need."""

    data: bytes | memoryview
    base_offset: int
    last_offset: int
    max_timestamp: int


@attrs.frozen
class Rules:
    """Values that do not change within a pass.

    :ivar now_ms: the start of the pass.
    :ivar last_offsets: producer id -> last offset of the last batch that it wrote.
    :ivar marker_epochs: producer id -> epoch, of producers of which the log knows markers only.
    :ivar transactions: the transactions of the pass; notes every batch that :func:`retained` gets.
    :ivar inflated_limit_bytes: maximum decompressed size of a batch.
    """

    map: OffsetMap
    now_ms: int
    delete_retention_ms: int
    last_offsets: Mapping[int, int]
    marker_epochs: Mapping[int, int] = attrs.field(factory=dict)
    transactions: TransactionFilter = attrs.field(factory=lambda: TransactionFilter(()))
    inflated_limit_bytes: int = LIMIT_BYTES


def keys_of(
    data: memoryview, batch: Shallow, limit_bytes: int = LIMIT_BYTES
) -> tuple[list[bytes | None], list[int]]:
    """Return the names of the keys (see ``offset_map``) and the offsets of a batch's records.

    Both are empty for a control batch.

    :raises CorruptRecords: the batch cannot be decoded.
    :raises UnsupportedCompression: its codec is not installed.
    """
    if batch.magic < 2:
        keys: list[bytes | None] = []
        offsets: list[int] = []
        for record in message_sets.iter_records(data, limit_bytes=limit_bytes):
            keys.append(record.key)
            offsets.append(record.offset)
        return names_of(keys), offsets
    if batch.attributes & v2.CONTROL:
        return [], []
    header = v2.parse_header(data)
    payload = v2.payload(data, header, limit_bytes)
    keys, offsets = spans.find_keys(payload, header.count, header.base_offset)
    return names_of(keys), offsets


def retained(data: memoryview, batch: Shallow, rules: Rules, legacy_tombstones: bool) -> Kept | None:
    """Return the retained part of a batch; None if there is none.

    :param legacy_tombstones: retain tombstones of magic 0 and 1.
    :raises CorruptRecords: the batch cannot be decoded.
    :raises UnsupportedCompression: its codec is not installed.
    """
    beyond = batch.base_offset >= rules.map.end_offset
    if batch.magic == 2 and batch.attributes & v2.CONTROL:
        return _retained_marker(data, batch, rules, beyond)
    if batch.magic == 2:
        rules.transactions.note(batch)
    if beyond:
        return _whole(data, batch)
    if batch.magic < 2:
        return _retained_messages(data, batch, rules, legacy_tombstones)
    if rules.transactions.is_aborted(batch):
        return _nothing_of(v2.parse_header(data), rules)
    return _retained_records(data, rules)


def _whole(data: memoryview, batch: Shallow) -> Kept:
    return Kept(data, batch.base_offset, batch.last_offset, batch.max_timestamp)


def _retained_marker(data: memoryview, batch: Shallow, rules: Rules, beyond: bool) -> Kept | None:
    """Return a control batch with or without a delete horizon; None if that has passed."""
    has_records = not rules.transactions.end(batch)
    is_last = rules.marker_epochs.get(batch.producer_id) == batch.producer_epoch
    if beyond or has_records or is_last or not _is_marker(data):
        return _whole(data, batch)
    header = v2.parse_header(data)
    if header.attributes & v2.DELETE_HORIZON:
        return None if header.base_timestamp <= rules.now_ms else _whole(data, batch)
    payload = v2.payload(data, header, rules.inflated_limit_bytes)
    found = spans.find_spans(payload, header.count, header.base_offset)
    every = list(range(header.count))
    header, rest = _with_horizon(header, payload, found, every, rules)
    return _kept(_rebuilt(header, compress(header.codec, rest)), header, header.max_timestamp)


def _is_marker(data: memoryview) -> bool:
    try:
        return read_marker(data) is not None
    except CorruptRecords:
        return False


def _with_horizon(
    header: v2.BatchHeader, payload: bytes, found: spans.Spans, kept: list[int], rules: Rules
) -> tuple[v2.BatchHeader, bytes]:
    """Return a header with a delete horizon, and the payload of the records in *kept* for it."""
    horizon = rules.now_ms + rules.delete_retention_ms
    rest = spans.cut_rebased(payload, found, kept, header.base_timestamp - horizon)
    return header._replace(attributes=header.attributes | v2.DELETE_HORIZON, base_timestamp=horizon), rest


def _retained_records(data: memoryview, rules: Rules) -> Kept | None:
    header = v2.parse_header(data)
    if not rules.map.may_hold(header.base_offset, header.last_offset):
        return _nothing_of(header, rules)
    payload = v2.payload(data, header, rules.inflated_limit_bytes)
    found = spans.find_spans(payload, header.count, header.base_offset)
    names = names_of(found.keys)
    stays = rules.map.latest(names, found.offsets)
    has_horizon = header.attributes & v2.DELETE_HORIZON != 0
    if has_horizon and header.base_timestamp <= rules.now_ms:
        stays = [keep and not dead for keep, dead in zip(stays, found.tombstones, strict=True)]
    kept = [number for number, keep in enumerate(stays) if keep]
    if not kept:
        return _nothing_of(header, rules)
    needs_horizon = not has_horizon and any(found.tombstones[number] for number in kept)
    if len(kept) == header.count and not needs_horizon:
        return Kept(data, header.base_offset, header.last_offset, header.max_timestamp)
    max_timestamp = header.max_timestamp
    if not header.log_append_time:
        max_timestamp = header.base_timestamp + max(found.timestamps[number] for number in kept)
    if needs_horizon:
        header, rest = _with_horizon(header, payload, found, kept, rules)
    else:
        rest = spans.cut(payload, found, kept)
    header = header._replace(max_timestamp=max_timestamp, count=len(kept))
    return _kept(_rebuilt(header, compress(header.codec, rest)), header, max_timestamp)


def _kept(data: bytes, header: v2.BatchHeader, max_timestamp: int) -> Kept:
    return Kept(data, header.base_offset, header.last_offset, max_timestamp)


def _nothing_of(header: v2.BatchHeader, rules: Rules) -> Kept | None:
    """Return an empty batch if it has a producer's last sequence, else None."""
    last = rules.last_offsets.get(header.producer_id) == header.last_offset
    return _kept(_emptied(header), header, NO_TIMESTAMP) if last else None


def _emptied(header: v2.BatchHeader) -> bytes:
    attributes = header.attributes & (v2.TIMESTAMP_TYPE | v2.TRANSACTIONAL)
    header = header._replace(attributes=attributes, base_timestamp=NO_TIMESTAMP, max_timestamp=NO_TIMESTAMP)
    return _rebuilt(header._replace(count=0), b"")


def _rebuilt(header: v2.BatchHeader, payload: bytes) -> bytes:
    """Return a batch with this header; length and CRC are recomputed."""
    return assemble(
        payload,
        header.count,
        header.attributes,
        header.base_timestamp,
        header.max_timestamp,
        header.producer_id,
        header.producer_epoch,
        header.base_sequence,
        header.base_offset,
        header.partition_leader_epoch,
        header.last_offset_delta,
    )


def _retained_messages(data: memoryview, batch: Shallow, rules: Rules, tombstones_stay: bool) -> Kept | None:
    """Return the retained part of a message of magic 0 or 1, or of the messages in a wrapper."""
    records = list(message_sets.iter_records(data, limit_bytes=rules.inflated_limit_bytes))
    offsets = [record.offset for record in records]
    stays = rules.map.latest(names_of(record.key for record in records), offsets)
    kept = [
        record
        for record, keep in zip(records, stays, strict=True)
        if keep and (tombstones_stay or record.value is not None)
    ]
    if not kept:
        return None
    if len(kept) == len(records):
        return Kept(data, offsets[0], batch.last_offset, batch.max_timestamp)
    # A wrapper: other messages have one record.
    codec = Codec(batch.attributes & v2.COMPRESSION_MASK)
    appended = batch.magic == 1 and batch.attributes & v2.TIMESTAMP_TYPE != 0
    built = message_sets.build(kept, batch.magic, codec, log_append_time=appended)
    newest = max(record.timestamp for record in kept)
    return Kept(built, kept[0].offset, kept[-1].offset, newest)
