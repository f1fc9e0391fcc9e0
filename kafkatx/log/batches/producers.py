"""The producers' state of a :class:`~kafkatx.log.batch_log.BatchLog`, by its batches. Reads the storage."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import chain, islice

from kafkatx.log.batches.chunk import Chunk
from kafkatx.log.batches.storage import BatchStorage
from kafkatx.log.producer_state import ProducerStateManager
from kafkatx.log.segment.batches import BatchInfo
from kafkatx.log.segment.scan import parse
from kafkatx.log.transactions.ended import replay

REPLAYED_BATCHES = 2000
"""The most batches that are read again where there are no transactions: the reactor thread does it."""


def cut_producers(
    producers: ProducerStateManager,
    offset: int,
    chunks: Sequence[Chunk],
    storage: BatchStorage,
    now_ms: int,
) -> ProducerStateManager:
    """Return the producers' state without the batches from *offset* on, which are gone already.

    Earlier batches of the same producers are searched for among the last that are left. A log that knows
    transactions is read as a whole: the marker that was cut may have ended a transaction that began long ago.

    :raises OSError: the storage cannot be read.
    """
    if producers.open or any(state.coordinator_epoch >= 0 for state in producers.states.values()):
        return _replayed(producers, offset, chunks, storage, now_ms)
    affected = {
        producer_id: state.last_used_ms
        for producer_id, state in producers.states.items()
        if any(batch.last_offset >= offset for batch in state.batches)
    }
    for producer_id in affected:
        del producers.states[producer_id]
    if affected:
        newest_first = chain.from_iterable(reversed(chunk.written) for chunk in reversed(chunks))
        last: list[BatchInfo] = list(islice(newest_first, REPLAYED_BATCHES))
        for written in reversed(last):
            batch = parse(storage.get((written,)), 0, 0)
            if batch.producer_id in affected:
                replay(producers, batch, bytes, affected[batch.producer_id])
    return producers


def _replayed(
    before: ProducerStateManager,
    offset: int,
    chunks: Iterable[Chunk],
    storage: BatchStorage,
    now_ms: int,
) -> ProducerStateManager:
    """Return the state by all batches; of producers without one as it was."""
    found = ProducerStateManager()
    for written in chain.from_iterable(chunk.written for chunk in chunks):
        data = storage.get((written,))
        replay(found, parse(data, 0, 0), lambda data=data: data, now_ms)  # type: ignore[misc]
    for producer_id, state in before.states.items():
        if producer_id not in found.states and all(one.last_offset < offset for one in state.batches):
            found.states[producer_id] = state
    return ProducerStateManager(found.states)
