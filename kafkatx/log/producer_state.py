"""The state of a partition's idempotent producers (KIP-98): the last five batches and the open transaction.

Pure: no I/O, no clock. A producer's state is an immutable value, so that a failed write is undone by
putting the old value back.

A batch ``(epoch e, sequences f..l)`` against the state ``(epoch E, last sequence L)``:

================================  ===========================================
no state                          append, whatever *f* is (as Apache Kafka)
e < E                             INVALID_PRODUCER_EPOCH
e > E, f == 0                     append
e > E, f != 0                     OUT_OF_ORDER_SEQUENCE_NUMBER
e == E, f == L + 1                append (0 follows 2^31 - 1)
e == E, one of the last five      duplicate: answer its offsets
e == E, else                      OUT_OF_ORDER_SEQUENCE_NUMBER
================================  ===========================================

A transaction is open from its first batch to its marker (:mod:`kafkatx.records.control`). A producer has one
at a time, also if its epoch changes meanwhile, and is not forgotten before it has ended.

Snapshot (``.snapshot``, big-endian, as Kafka's ``ProducerStateManager`` writes it): ``version i16 = 1,
crc-32c u32 of all that follows, count i32``, then entries ``producer_id i64, epoch i16, last_sequence i32,
last_offset i64, offset_delta i32, timestamp i64, coordinator_epoch i32, current_txn_first_offset i64``.

Kafka writes one entry per producer, for its last batch. Here each of the last five batches has an entry,
oldest first, so that duplicates are found after a restart: a client has up to five requests in flight and
repeats those without an answer. Of several entries Kafka takes the last, the only one that it would write.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Mapping
from itertools import islice, takewhile
from typing import NamedTuple

from kafkatx.errors import ErrorCode
from kafkatx.records.checksum import crc32c
from kafkatx.types import NO_SEQUENCE, ActiveProducer, Marker

BATCHES_KEPT = 5
SEQUENCE_MASK = 0x7FFFFFFF
"""Sequences run from 0 to this and then from 0 again."""

NO_TRANSACTION = -1

_HEAD = struct.Struct(">hI")
_COUNT = struct.Struct(">i")
_ENTRY = struct.Struct(">qhiqiqiq")
_VERSION = 1


class SnapshotDamaged(Exception):
    """The bytes are no producer snapshot, or their checksum is wrong."""


class ProducerBatch(NamedTuple):
    """One batch that is in the log; sequences and offsets are inclusive."""

    first_sequence: int
    last_sequence: int
    base_offset: int
    last_offset: int


_NO_BATCH = ProducerBatch(-1, -1, -1, -1)


class ProducerState(NamedTuple):
    """The state of one producer id; ``batches`` has at most five, oldest first."""

    epoch: int
    batches: tuple[ProducerBatch, ...]
    last_used_ms: int
    coordinator_epoch: int = -1
    txn_first_offset: int = NO_TRANSACTION


class ProducerStateManager:
    """The states of all producers of one partition, as Kafka's ``ProducerStateManager``.

    :ivar states: by producer id; the least recently active come first.
    :ivar open: producer id -> first offset of its open transaction; the lowest offset comes first.
    """

    def __init__(self, states: Mapping[int, ProducerState] | None = None) -> None:
        self.states: dict[int, ProducerState] = dict(sorted((states or {}).items(), key=_last_used))
        self.open = _open_transactions(self.states)

    def check(
        self, producer_id: int, epoch: int, first_sequence: int, count: int
    ) -> ProducerBatch | ErrorCode | None:
        """Check a batch by the table above; return None to append it, a duplicate's original, or an error."""
        state = self.states.get(producer_id)
        if state is None:
            return None
        known_epoch, batches = state[0], state[1]
        if epoch != known_epoch:
            if epoch < known_epoch:
                return ErrorCode.INVALID_PRODUCER_EPOCH
            return ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER if first_sequence else None
        last_known = batches[-1][1] if batches else -1
        if first_sequence == (last_known + 1) & SEQUENCE_MASK:
            return None
        last_sequence = (first_sequence + count - 1) & SEQUENCE_MASK
        for batch in batches:
            if batch[0] == first_sequence and batch[1] == last_sequence:
                return batch
        return ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER

    def check_epoch(self, producer_id: int, epoch: int) -> ErrorCode | None:
        """Check a batch without sequence; return None to append it, or an error."""
        state = self.states.get(producer_id)
        is_old = state is not None and epoch < state.epoch
        return ErrorCode.INVALID_PRODUCER_EPOCH if is_old else None

    def check_marker(
        self, producer_id: int, epoch: int, marker: Marker, bumps_epoch: bool
    ) -> ErrorCode | None:
        """Check a marker of the coordinator; return None to append it, or an error.

        =========================================  ====================================================
        coordinator epoch below the last marker's  TRANSACTION_COORDINATOR_FENCED
        epoch below the producer's                 INVALID_PRODUCER_EPOCH
        *bumps_epoch*, equal, transaction open     INVALID_PRODUCER_EPOCH: of an earlier transaction
        *bumps_epoch*, equal, none open            append: the marker is repeated (KAFKA-19999)
        else                                       append
        =========================================  ====================================================

        :param bumps_epoch: the transaction is of version 2 (KIP-890): its end raises the producer's epoch.
        """
        state = self.states.get(producer_id)
        if state is None:
            return None
        if epoch < state.epoch or (bumps_epoch and epoch == state.epoch and state.txn_first_offset >= 0):
            return ErrorCode.INVALID_PRODUCER_EPOCH
        if marker.coordinator_epoch < state.coordinator_epoch:
            return ErrorCode.TRANSACTION_COORDINATOR_FENCED
        return None

    def record(
        self,
        producer_id: int,
        epoch: int,
        first_sequence: int,
        base_offset: int,
        last_offset: int,
        now_ms: int,
        transactional: bool = False,
    ) -> ProducerState | None:
        """Add a batch; return the producer's previous state, for :meth:`restore`.

        :param first_sequence: -1 for a batch without sequence, which the broker wrote for the producer.
        :param transactional: it is part of the producer's open transaction, or begins one.
        """
        old = self.states.pop(producer_id, None)
        batch = ProducerBatch(
            first_sequence,
            (first_sequence + last_offset - base_offset) & SEQUENCE_MASK,
            base_offset,
            last_offset,
        )
        first_offset = NO_TRANSACTION if old is None else old[4]
        if transactional and first_offset < 0:
            first_offset = self.open[producer_id] = base_offset
        if first_sequence < 0:
            batches = old[1] if old is not None and old[0] == epoch else ()
            coordinator_epoch = -1 if old is None else old[3]
            self.states[producer_id] = ProducerState(epoch, batches, now_ms, coordinator_epoch, first_offset)
        elif old is None:
            self.states[producer_id] = ProducerState(epoch, (batch,), now_ms, -1, first_offset)
        else:
            earlier = old[1][1 - BATCHES_KEPT :] if old[0] == epoch else ()
            self.states[producer_id] = ProducerState(epoch, (*earlier, batch), now_ms, old[3], first_offset)
        return old

    def end_transaction(
        self, producer_id: int, epoch: int, coordinator_epoch: int, now_ms: int
    ) -> tuple[ProducerState | None, int]:
        """Add a marker.

        :param epoch: the marker's; a new one begins with sequence 0.
        :return: the producer's previous state, for :meth:`restore`; and the first offset of the transaction
            that ends; -1 if it has no records here.
        """
        old = self.states.pop(producer_id, None)
        batches = old[1] if old is not None and old[0] == epoch else ()
        self.states[producer_id] = ProducerState(epoch, batches, now_ms, coordinator_epoch)
        return old, self.open.pop(producer_id, NO_TRANSACTION)

    def restore(self, before: Iterable[tuple[int, ProducerState | None]]) -> None:
        """Put back, in this order, what :meth:`record` and :meth:`end_transaction` returned."""
        changed = False
        for producer_id, state in before:
            put_back(self.states, producer_id, state)
            first_offset = NO_TRANSACTION if state is None else state.txn_first_offset
            changed = changed or self.open.get(producer_id, NO_TRANSACTION) != first_offset
        if changed:
            self.open = _open_transactions(self.states)

    def expire(self, now_ms: int, expiration_ms: int) -> None:
        """Forget the producers that have not written for *expiration_ms* and have no open transaction."""
        idle = takewhile(lambda one: now_ms - one[1].last_used_ms >= expiration_ms, self.states.items())
        for key, state in list(idle):
            if state.txn_first_offset < 0:
                del self.states[key]

    def forget_oldest(self) -> None:
        """Forget the least recently active producers: a twentieth of all, and one at least.

        One at a time would be slow: a dict finds its first entry by passing all deleted ones. Those with an
        open transaction stay, even if they are too many.
        """
        count = len(self.states) // 20 + 1
        for key in list(islice((key for key in self.states if key not in self.open), count)):
            del self.states[key]


def put_back(states: dict[int, ProducerState], producer_id: int, state: ProducerState | None) -> None:
    """Put a producer's earlier state into *states*; None if it had none."""
    if state is None:
        states.pop(producer_id, None)
    else:
        states[producer_id] = state


def _open_transactions(states: Mapping[int, ProducerState]) -> dict[int, int]:
    """Return producer id -> first offset of each open transaction, by offset."""
    found = [(state.txn_first_offset, key) for key, state in states.items() if state.txn_first_offset >= 0]
    return {key: first_offset for first_offset, key in sorted(found)}


def _last_used(entry: tuple[int, ProducerState]) -> int:
    return entry[1].last_used_ms


def active_producers(states: Mapping[int, ProducerState]) -> list[ActiveProducer]:
    """Return the producers, for DescribeProducers."""
    return [
        ActiveProducer(
            producer_id,
            state.epoch,
            state.batches[-1].last_sequence if state.batches else NO_SEQUENCE,
            state.last_used_ms,
            state.coordinator_epoch,
            state.txn_first_offset,
        )
        for producer_id, state in states.items()
    ]


def encode_snapshot(states: Mapping[int, ProducerState]) -> bytes:
    """Return the content of a ``.snapshot`` file; slow for many producers, so call it in a worker."""
    entries = [
        _ENTRY.pack(
            producer_id,
            state.epoch,
            batch.last_sequence,
            batch.last_offset,
            batch.last_offset - batch.base_offset,
            state.last_used_ms,
            state.coordinator_epoch,
            state.txn_first_offset,
        )
        for producer_id, state in states.items()
        for batch in state.batches or (_NO_BATCH,)
    ]
    body = _COUNT.pack(len(entries)) + b"".join(entries)
    return _HEAD.pack(_VERSION, crc32c(body)) + body


def decode_snapshot(data: bytes) -> dict[int, ProducerState]:
    """Read what :func:`encode_snapshot` or Apache Kafka wrote.

    :raises SnapshotDamaged: it is something else.
    """
    if len(data) < _HEAD.size + _COUNT.size:
        raise SnapshotDamaged(f"only {len(data)} bytes")
    version, crc = _HEAD.unpack_from(data)
    body = data[_HEAD.size :]
    (count,) = _COUNT.unpack_from(body)
    if version != _VERSION or crc != crc32c(body) or len(body) != _COUNT.size + count * _ENTRY.size:
        raise SnapshotDamaged(f"version {version}, {count} entries, {len(data)} bytes")
    states: dict[int, ProducerState] = {}
    for entry in _ENTRY.iter_unpack(body[_COUNT.size :]):
        producer_id, epoch, sequence, offset, delta, used_ms, coordinator_epoch, txn_offset = entry
        last = ProducerBatch((sequence - delta) & SEQUENCE_MASK, sequence, offset - delta, offset)
        batches = (last,) if offset >= 0 else ()
        earlier = states.get(producer_id)
        if earlier is not None and earlier.epoch == epoch:
            batches = (*earlier.batches[1 - BATCHES_KEPT :], *batches)
        states[producer_id] = ProducerState(epoch, batches, used_ms, coordinator_epoch, txn_offset)
    return states
