"""The decision about an EndTxn request in both versions of transactions, as ``TransactionCoordinator``. Pure.

Version 2 (KIP-890) raises the epoch with each end, so that a late request of a transaction never counts for
the next one: a request with the current epoch is about the current transaction, one with the epoch before it
is the repetition of a request that has succeeded.

A transaction that was aborted for a new instance of the producer is stored as one of version 1, so that the
old instance is fenced, and never told the raised epoch as if it had aborted the transaction itself. Apache
Kafka tells it. After a time-out there is no other instance, and a client of version 2 goes on as there.
"""

from __future__ import annotations

from typing import TypeAlias

import attrs

from kafkatx.errors import ErrorCode
from kafkatx.transactions.metadata import LAST_EPOCH, TV1, TV2, Producer, TransactionMetadata
from kafkatx.transactions.states import Event, State, next_state
from kafkatx.types import NO_PRODUCER_EPOCH, NO_PRODUCER_ID

_ENDED = {
    True: (State.PREPARE_COMMIT, State.COMPLETE_COMMIT),
    False: (State.PREPARE_ABORT, State.COMPLETE_ABORT),
}
"""The states after a commit (True) and after an abort (False)."""

Decision: TypeAlias = TransactionMetadata | ErrorCode
"""The new state, or the error; NONE if the request has succeeded before."""


def ended_by_tv1(metadata: TransactionMetadata, producer: Producer, commit: bool, wall_ms: int) -> Decision:
    """Return the state after an EndTxn of version 4 or less; the epoch stays.

    In PrepareCommit and PrepareAbort the request that led there gets CONCURRENT_TRANSACTIONS, so that the
    client asks again until the markers are written.
    """
    if producer.id != metadata.producer_id:
        return ErrorCode.INVALID_PRODUCER_ID_MAPPING
    if producer.epoch != metadata.producer_epoch:
        return ErrorCode.PRODUCER_FENCED
    if metadata.state is not State.ONGOING:
        return _repeated(metadata, commit)
    return _prepared(metadata, commit, TV1, wall_ms)


def _repeated(metadata: TransactionMetadata, commit: bool) -> ErrorCode:
    """Return the error of a request that has succeeded before, or would contradict the one that has."""
    if metadata.state not in _ENDED[commit]:
        return ErrorCode.INVALID_TXN_STATE
    return ErrorCode.CONCURRENT_TRANSACTIONS if metadata.state.is_preparing else ErrorCode.NONE


def ended_by_tv2(
    metadata: TransactionMetadata, producer: Producer, commit: bool, new_id: int, wall_ms: int
) -> Decision:
    """Return the state after an EndTxn of version 5, with the epoch raised.

    ===================  ==================  =============  ==================  ==================
    state                abort, epoch - 1    abort          commit, epoch - 1   commit
    ===================  ==================  =============  ==================  ==================
    Empty                fenced              aborted        fenced              INVALID_TXN_STATE
    Ongoing              fenced              aborted        fenced              committed
    CompleteAbort        NONE                aborted        INVALID_TXN_STATE   INVALID_TXN_STATE
    CompleteCommit       INVALID_TXN_STATE   aborted        NONE                INVALID_TXN_STATE
    PrepareAbort         CONCURRENT          fenced         INVALID_TXN_STATE   fenced
    PrepareCommit        INVALID_TXN_STATE   fenced         CONCURRENT          fenced
    ===================  ==================  =============  ==================  ==================

    :param new_id: an unused producer id. If the epochs are used up it takes over when the transaction
        is complete; a repeated request then still has the id before.
    """
    by_tv2 = metadata.client_version == TV2
    replaced = Producer(metadata.previous_producer_id, LAST_EPOCH)
    after_rollover = by_tv2 and producer == replaced and metadata.producer_epoch == 0
    if producer.id != metadata.producer_id and not after_rollover:
        return ErrorCode.INVALID_PRODUCER_ID_MAPPING
    if producer.epoch > LAST_EPOCH:  # no producer was told such an epoch
        return ErrorCode.PRODUCER_FENCED
    repeated = after_rollover or (by_tv2 and producer.epoch == metadata.producer_epoch - 1)
    state = metadata.state
    if not _is_epoch_valid(state, repeated, producer.epoch == metadata.producer_epoch):
        return ErrorCode.PRODUCER_FENCED
    if repeated:
        return _repeated(metadata, commit)
    if commit and state is not State.ONGOING:
        return ErrorCode.INVALID_TXN_STATE
    return _prepared(metadata, commit, TV2, wall_ms, new_id)


def _is_epoch_valid(state: State, repeated: bool, current: bool) -> bool:
    if state.is_preparing:
        return repeated
    return current or (repeated and state in (State.COMPLETE_COMMIT, State.COMPLETE_ABORT))


def _prepared(
    metadata: TransactionMetadata, commit: bool, version: int, wall_ms: int, new_id: int = NO_PRODUCER_ID
) -> TransactionMetadata:
    began = metadata.state is State.ONGOING
    prepared = attrs.evolve(
        metadata,
        state=next_state(metadata.state, Event.COMMIT if commit else Event.ABORT),
        start_ms=metadata.start_ms if began else wall_ms,
        update_ms=wall_ms,
        client_version=version,
        next_producer_id=NO_PRODUCER_ID,
    )
    if version < TV2:
        return prepared
    return attrs.evolve(
        prepared,
        producer_epoch=metadata.producer_epoch + 1,
        last_producer_epoch=metadata.producer_epoch,
        next_producer_id=new_id if metadata.is_epoch_exhausted else NO_PRODUCER_ID,
    )


def fenced(metadata: TransactionMetadata, version: int, wall_ms: int) -> TransactionMetadata:
    """Return the state after the open transaction was taken from its producer, and is being aborted.

    The epoch is raised, and InitProducerId does not give the new one to the old producer.

    :param version: TV2 if the producer may repeat the abort and go on; see above.
    """
    fence = attrs.evolve(metadata, state=next_state(metadata.state, Event.FENCE))
    aborted = _prepared(fence, False, TV2, wall_ms)
    return attrs.evolve(
        aborted,
        start_ms=metadata.start_ms,
        last_producer_epoch=NO_PRODUCER_EPOCH,
        next_producer_id=NO_PRODUCER_ID,
        client_version=TV1 if metadata.is_epoch_exhausted else version,
    )
