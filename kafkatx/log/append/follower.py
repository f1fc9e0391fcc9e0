"""Batches that a follower has fetched from its leader: checked, and made ready to be staged. Pure.

A reply's batches go into the follower's log as they are. :func:`check_batches` reads each header once and
each checksum once; it copies no bytes and decodes no record but the markers of transactions. The appender
(:mod:`kafkatx.log.append.appender`) stages what is found here.
"""

from __future__ import annotations

import zlib
from typing import TypeAlias

import attrs

from kafkatx.errors import CorruptRecords
from kafkatx.log.segment.batches import BatchInfo
from kafkatx.log.segment.scan import parse
from kafkatx.records.batch import (
    ATTRIBUTES_AT,
    COMPRESSION_MASK,
    CONTROL,
    HEADER,
    HEADER_BYTES,
    LOG_OVERHEAD,
    MAGIC_AT,
    TRANSACTIONAL,
)
from kafkatx.records.checksum import crc32c
from kafkatx.records.control import read_marker
from kafkatx.types import NO_LEADER_EPOCH, Marker

_LEAST_MESSAGE_BYTES = 26
"""A message of magic 0 with null key and null value."""
_MESSAGE_CHECKED_FROM = 16
_LAST_OFFSET = 2**63 - 2
_new_tuple = tuple.__new__


FollowedBatch: TypeAlias = tuple[int, int, int, int, int, bool, "Marker | None"]
"""Producer id, epoch, first sequence, base offset, last offset; True if it is part of a transaction; the
marker, if it is one."""


@attrs.define
class FollowedBatches:
    """Whole batches at the start of a fetch reply.

    :ivar next_offset: the offset after the last one.
    :ivar latest_epoch: the leader epoch of the last one; -1 if that is of magic 0 or 1.
    :ivar size: their size in bytes.
    :ivar batches: one entry for each.
    :ivar epoch_starts: leader epochs that begin with one of them, and their start offsets.
    :ivar forgets_epochs: True if one is of magic 0 or 1; ``epoch_starts`` has only what is after it.
    :ivar gap_end: the base offset of the last one with a gap before it; 0 if there is none.
    :ivar of_producers: the batches of idempotent producers, and the markers of their transactions.
    """

    next_offset: int
    latest_epoch: int
    size: int = 0
    batches: list[BatchInfo] = attrs.field(factory=list)
    epoch_starts: list[tuple[int, int]] = attrs.field(factory=list)
    forgets_epochs: bool = False
    gap_end: int = 0
    of_producers: list[FollowedBatch] = attrs.field(factory=list)

    @property
    def changes(self) -> bool:
        """True if they change more of the log than its records and producers."""
        return bool(self.epoch_starts) or self.forgets_epochs or self.gap_end > 0


def check_batches(
    records: memoryview, next_offset: int, latest_epoch: int, leader_epoch: int, is_empty: bool
) -> FollowedBatches:
    """Check that batches can follow a log's end; the last one may be cut off and is left out.

    :param next_offset: the log's end.
    :param latest_epoch: the latest leader epoch of the log.
    :param leader_epoch: the epoch of the leader that sent them.
    :param is_empty: True if the log has no record: the first batch may begin below the log's end.
    :raises CorruptRecords: as ``IPartitionLog.append_as_follower``.
    """
    found = FollowedBatches(next_offset, latest_epoch)
    batches, unpack = found.batches, HEADER.unpack_from
    at, end, expected = 0, len(records), next_offset
    if end and latest_epoch > leader_epoch:
        raise CorruptRecords(f"records of leader epoch {leader_epoch} for a log that has {latest_epoch}")
    while at + MAGIC_AT < end:
        if records[at + MAGIC_AT] != 2:
            after = _check_message(records, at, expected, found)
            if not after:
                break
            expected, at = batches[-1].last_offset + 1, after
            continue
        if at + HEADER_BYTES > end:
            break
        (
            base,
            length,
            epoch,
            _,
            crc,
            attributes,
            delta,
            _,
            newest,
            producer_id,
            producer_epoch,
            sequence,
            _,
        ) = unpack(records, at)
        after = at + length + LOG_OVERHEAD
        last = base + delta
        if length < HEADER_BYTES - LOG_OVERHEAD or delta < 0 or not 0 <= base <= last <= _LAST_OFFSET:
            raise CorruptRecords(f"a batch of {length + LOG_OVERHEAD} bytes, offsets {base} to {last}")
        if after > end:
            break
        if crc32c(records[at + ATTRIBUTES_AT : after]) != crc:
            raise CorruptRecords(f"wrong checksum of the batch at offset {base}")
        if base != expected:
            if base < expected and (at or not is_empty or last < expected):
                raise _misplaced(base, expected)
            if base > expected:
                found.gap_end = base
        if epoch != found.latest_epoch:
            if not found.latest_epoch < epoch <= leader_epoch:
                raise CorruptRecords(
                    f"the batch at offset {base} is of leader epoch {epoch}, after {found.latest_epoch}; the"
                    f" leader's is {leader_epoch}"
                )
            found.latest_epoch = epoch
            found.epoch_starts.append((epoch, base))
        if producer_id >= 0:
            marker = read_marker(records[at:after]) if attributes & CONTROL else None
            transactional = attributes & TRANSACTIONAL != 0
            if marker is not None or sequence >= 0 or (transactional and not attributes & CONTROL):
                found.of_producers.append(
                    (producer_id, producer_epoch, sequence, base, last, transactional, marker)
                )
        batches.append(_new_tuple(BatchInfo, (after - at, base, last, newest)))
        expected, at = last + 1, after
    found.size, found.next_offset = at, expected
    return found


def _check_message(records: memoryview, at: int, expected: int, found: FollowedBatches) -> int:
    """Check a message of magic 0 or 1 and note it; return the position of its end, 0 if it is cut off.

    Of a compressed one the header has only the last offset.

    :raises CorruptRecords: it is damaged, or does not follow.
    """
    if records[at + MAGIC_AT] > 2:
        raise CorruptRecords(f"a batch of magic {records[at + MAGIC_AT]} where {expected} is expected")
    if at + _LEAST_MESSAGE_BYTES > len(records):
        return 0
    message = parse(records, at, at)
    after, last = at + message.size, message.last_offset
    if after > len(records):
        return 0
    if zlib.crc32(records[at + _MESSAGE_CHECKED_FROM : after]) != message.crc:
        raise CorruptRecords(f"wrong checksum of the message at offset {last}")
    if not expected <= last <= _LAST_OFFSET:
        raise _misplaced(last, expected)
    base = expected if message.attributes & COMPRESSION_MASK else last
    if base > expected:
        found.gap_end = base
    found.forgets_epochs, found.latest_epoch, found.epoch_starts = True, NO_LEADER_EPOCH, []
    found.batches.append(BatchInfo(message.size, base, last, message.max_timestamp))
    return after


def _misplaced(offset: int, expected: int) -> CorruptRecords:
    return CorruptRecords(f"a batch at offset {offset} where {expected} or a later one is expected")
