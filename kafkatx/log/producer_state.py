"""The state of a partition's idempotent producers (KIP-98): the last five batches of each.

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

A batch of a transaction begins one, unless one is open; a control batch ends it. Only batches that come from
another cluster have such (mirrors, logs of Apache Kafka): clients cannot write them.

Snapshot (``.snapshot``, big-endian, as Kafka's ``ProducerStateManager`` writes it): ``version i16 = 1,
crc-32c u32 of all that follows, count i32``, then entries ``producer_id i64, epoch i16, last_sequence i32,
last_offset i64, offset_delta i32, timestamp i64, coordinator_epoch i32, current_txn_first_offset i64``.

Kafka writes one entry per producer, for its last batch. Here each of the last five batches has an entry,
oldest first, so that duplicates are found after a restart: a client has up to five requests in flight and
repeats those without an answer. Of several entries Kafka takes the last, the only one that it would write.
"""

from __future__ import annotations

import struct
from collections.abc import Mapping
from itertools import islice, takewhile
from typing import NamedTuple

from kafkatx.errors import ErrorCode
from kafkatx.records.checksum import crc32c
from kafkatx.types import NO_SEQUENCE, ActiveProducer

BATCHES_KEPT = 5
SEQUENCE_MASK = 0x7FFFFFFF
"""Sequences run from 0 to this and then from 0 again."""

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
    txn_first_offset: int = -1


class ProducerStateManager:
    """The states of all producers of one partition, as Kafka's ``ProducerStateManager``.

    :ivar states: by producer id; the least recently active come first.
    """

    def __init__(self, states: Mapping[int, ProducerState] | None = None) -> None:
        self.states: dict[int, ProducerState] = dict(sorted((states or {}).items(), key=_last_used))

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

    def record(
        self,
        producer_id: int,
        epoch: int,
        first_sequence: int,
        base_offset: int,
        last_offset: int,
        now_ms: int,
    ) -> ProducerState | None:
        """Add a batch; return the producer's previous state, for :meth:`restore`."""
        old = self.states.pop(producer_id, None)
        batch = ProducerBatch(
            first_sequence,
            (first_sequence + last_offset - base_offset) & SEQUENCE_MASK,
            base_offset,
            last_offset,
        )
        if old is None:
            self.states[producer_id] = ProducerState(epoch, (batch,), now_ms)
        elif old[0] != epoch:
            self.states[producer_id] = ProducerState(epoch, (batch,), now_ms, txn_first_offset=old[4])
        else:
            self.states[producer_id] = ProducerState(
                epoch, (*old[1][1 - BATCHES_KEPT :], batch), now_ms, old[3], old[4]
            )
        return old

    def note_transaction(self, producer_id: int, base_offset: int, is_end: bool) -> ProducerState | None:
        """Note a batch of a transaction, or its end; call it after :meth:`record`.

        :return: the producer's previous state, for :meth:`restore`; None if nothing has changed.
        """
        state = self.states.get(producer_id)
        if state is None or is_end == (state.txn_first_offset < 0):
            return None
        self.states[producer_id] = state._replace(txn_first_offset=-1 if is_end else base_offset)
        return state

    def restore(self, producer_id: int, state: ProducerState | None) -> None:
        """Put back what :meth:`record` returned."""
        if state is None:
            self.states.pop(producer_id, None)
        else:
            self.states[producer_id] = state

    def expire(self, now_ms: int, expiration_ms: int) -> None:
        """Forget the producers that have not written for *expiration_ms*, unless a transaction is open."""
        idle = takewhile(lambda one: now_ms - one[1].last_used_ms >= expiration_ms, self.states.items())
        for key, state in list(idle):
            if state.txn_first_offset < 0:
                del self.states[key]

    def forget_oldest(self) -> None:
        """Forget the least recently active producers: a twentieth of all, and one at least.

        One at a time would be slow: a dict finds its first entry by passing all deleted ones.
        """
        for key in list(islice(self.states, len(self.states) // 20 + 1)):
            del self.states[key]


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
