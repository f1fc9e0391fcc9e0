"""The producers' state of a :class:`~kafkatx.log.batch_log.BatchLog` after a cut."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain, islice

from kafkatx.log.batches.chunk import Chunk
from kafkatx.log.batches.storage import BatchStorage
from kafkatx.log.producer_state import ProducerStateManager
from kafkatx.log.segment.batches import BatchInfo
from kafkatx.log.segment.scan import parse
from kafkatx.records.header import CONTROL, TRANSACTIONAL

REPLAYED_BATCHES = 2000
"""The most batches that are read again: the reactor thread does it."""


def cut_producers(
    producers: ProducerStateManager,
    offset: int,
    chunks: Sequence[Chunk],
    storage: BatchStorage,
) -> None:
    """Forget the batches from *offset* on; find earlier ones of their producers among the last that are left.

    :raises OSError: the storage cannot be read.
    """
    affected = {
        producer_id: state.last_used_ms
        for producer_id, state in producers.states.items()
        if any(batch.last_offset >= offset for batch in state.batches)
    }
    for producer_id in affected:
        del producers.states[producer_id]
    if not affected:
        return
    newest_first = chain.from_iterable(reversed(chunk.written) for chunk in reversed(chunks))
    last: list[BatchInfo] = list(islice(newest_first, REPLAYED_BATCHES))
    for written in reversed(last):
        header = parse(storage.get((written,)), 0, 0)
        if header.producer_id in affected and header.base_sequence >= 0:
            producers.record(
                header.producer_id,
                header.producer_epoch,
                header.base_sequence,
                header.base_offset,
                header.last_offset,
                affected[header.producer_id],
            )
        if header.producer_id in affected and header.magic == 2 and header.attributes & TRANSACTIONAL:
            is_end = header.attributes & CONTROL != 0
            producers.note_transaction(header.producer_id, header.base_offset, is_end)
