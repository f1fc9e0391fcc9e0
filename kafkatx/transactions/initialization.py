"""The decision about an InitProducerId request, as ``TransactionCoordinator`` makes it. Pure.

A new instance of a producer comes without an id and an epoch, and fences the one before. A producer that goes
on after an error names its own (KIP-360), and is fenced if another one came after it.
"""

from __future__ import annotations

import attrs

from kafkatx.errors import ErrorCode
from kafkatx.transactions.completion import fenced
from kafkatx.transactions.metadata import LAST_EPOCH, Producer, TransactionMetadata
from kafkatx.transactions.states import Event, State, next_state
from kafkatx.types import NO_PRODUCER_EPOCH, NO_TIMESTAMP


def initialized(
    metadata: TransactionMetadata, expected: Producer | None, timeout_ms: int, new_id: int, wall_ms: int
) -> TransactionMetadata | ErrorCode:
    """Return the state after the request, or its error.

    ===============  ========================================================================================
    state            new state
    ===============  ========================================================================================
    Empty, Complete  Empty, with the next epoch; with a new producer id if the epochs are used up
    Ongoing          PrepareAbort, with the next epoch, which only this producer may be told later
    Prepare          CONCURRENT_TRANSACTIONS
    ===============  ========================================================================================

    :param expected: the producer's own id and epoch; None for a new instance.
    :param new_id: an unused producer id; it may remain unused.
    """
    if metadata.state.is_preparing:
        return ErrorCode.CONCURRENT_TRANSACTIONS
    if expected is not None and not _may_be_current(metadata, expected):
        return ErrorCode.PRODUCER_FENCED
    if metadata.state is State.ONGOING:
        return fenced(metadata, expected == metadata.producer, wall_ms)
    empty = attrs.evolve(
        metadata,
        state=next_state(metadata.state, Event.INITIALIZE),
        timeout_ms=timeout_ms,
        partitions=frozenset(),
        start_ms=NO_TIMESTAMP,
        update_ms=wall_ms,
    )
    if metadata.is_epoch_exhausted and (expected is None or expected.epoch == metadata.producer_epoch):
        return attrs.evolve(
            empty,
            producer_id=new_id,
            producer_epoch=0,
            last_producer_epoch=NO_PRODUCER_EPOCH if expected is None else metadata.producer_epoch,
            previous_producer_id=metadata.producer_id,
        )
    return _raised(empty, expected)


def _may_be_current(metadata: TransactionMetadata, expected: Producer) -> bool:
    """Return False if the producer id was replaced by another instance's."""
    return (
        metadata.producer_epoch == NO_PRODUCER_EPOCH  # the id was forgotten, and is new again
        or expected.id == metadata.producer_id
        or (expected.id == metadata.previous_producer_id and expected.epoch >= LAST_EPOCH)
    )


def _raised(empty: TransactionMetadata, expected: Producer | None) -> TransactionMetadata | ErrorCode:
    """Return the state with the next epoch, or with the same one if the request is repeated."""
    epoch = empty.producer_epoch
    if expected is None:
        return attrs.evolve(empty, producer_epoch=epoch + 1, last_producer_epoch=NO_PRODUCER_EPOCH)
    if epoch == NO_PRODUCER_EPOCH or (
        expected.epoch == epoch and expected.id == empty.producer_id and epoch < LAST_EPOCH
    ):
        return attrs.evolve(empty, producer_epoch=epoch + 1, last_producer_epoch=epoch)
    if expected.epoch == empty.last_producer_epoch != NO_PRODUCER_EPOCH:
        return empty
    return ErrorCode.PRODUCER_FENCED
