"""The decision about an EndTxn request in both versions of transactions, as ``TransactionCoordinator``. Pure.

Version 2 (KIP-890) raises the epoch with each end, so that a late request of a transaction never counts for
the next one: a request with the current epoch is about the current transaction, one with the epoch before it
is the repetition of a request that has succeeded.

The client is told the next epoch as soon as the decision is stored, and may end its next transaction with it
while the markers of the last one are being written. So until the markers are written each request gets
CONCURRENT_TRANSACTIONS, which the client repeats; that of version 1, whose epoch stays, is checked for its
producer first. Apache Kafka does the same: the end is pending there as soon as the decision is stored.

A transaction that was aborted for a new instance of the producer is stored as one of version 1, so that the
old instance is fenced, and never told the raised epoch as if it had aborted the transaction itself. Apache
Kafka tells it. After a time-out, or if the producer itself has asked for a new epoch, there is no other
instance, and the producer goes on as there.
"""

from __future__ import annotations

from typing import TypeAlias

import attrs

from kafkatx.errors import ErrorCode
from kafkatx.transactions.metadata import LAST_EPOCH, TV1, TV2, Producer, TransactionMetadata
from kafkatx.transactions.states import Event, State, next_state
from kafkatx.types import NO_PRODUCER_EPOCH, NO_PRODUCER_ID

_COMPLETE = {True: State.COMPLETE_COMMIT, False: State.COMPLETE_ABORT}
"""The states after a commit (True) and after an abort (False)."""

Decision: TypeAlias = TransactionMetadata | ErrorCode
"""The new state, or the error; NONE if the request has succeeded before."""


def ended_by_tv1(metadata: TransactionMetadata, producer: Producer, commit: bool, wall_ms: int) -> Decision:
    """Return the state after an EndTxn of version 4 or less; the epoch stays."""
    if producer.id != metadata.producer_id:
        return ErrorCode.INVALID_PRODUCER_ID_MAPPING
    if producer.epoch != metadata.producer_epoch:
        return ErrorCode.PRODUCER_FENCED
    if metadata.state.is_preparing:
        return ErrorCode.CONCURRENT_TRANSACTIONS
    if metadata.state is not State.ONGOING:
        return _repeated(metadata, commit)
    return _prepared(metadata, commit, TV1, wall_ms)


def _repeated(metadata: TransactionMetadata, commit: bool) -> ErrorCode:
    """Return the error of a request that has succeeded before, or would contradict the one that has."""
    return ErrorCode.NONE if metadata.state is _COMPLETE[commit] else ErrorCode.INVALID_TXN_STATE


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
    PrepareAbort         CONCURRENT          CONCURRENT     CONCURRENT          CONCURRENT
    PrepareCommit        CONCURRENT          CONCURRENT     CONCURRENT          CONCURRENT
    ===================  ==================  =============  ==================  ==================

    :param new_id: an unused producer id. If the epochs are used up it takes over when the transaction
        is complete; a repeated request then still has the id before.
    """
    if metadata.state.is_preparing:
        return ErrorCode.CONCURRENT_TRANSACTIONS
    by_tv2 = metadata.client_version == TV2
    replaced = Producer(metadata.previous_producer_id, LAST_EPOCH)
    after_rollover = by_tv2 and producer == replaced and metadata.producer_epoch == 0
    if producer.id != metadata.producer_id and not after_rollover:
        return ErrorCode.INVALID_PRODUCER_ID_MAPPING
    if producer.epoch > LAST_EPOCH:  # no producer was told such an epoch
        return ErrorCode.PRODUCER_FENCED
    repeated = after_rollover or (by_tv2 and producer.epoch == metadata.producer_epoch - 1)
    if repeated and metadata.state in _COMPLETE.values():
        return _repeated(metadata, commit)
    if producer.epoch != metadata.producer_epoch:
        return ErrorCode.PRODUCER_FENCED
    if commit and metadata.state is not State.ONGOING:
        return ErrorCode.INVALID_TXN_STATE
    return _prepared(metadata, commit, TV2, wall_ms, new_id)


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


def fenced(metadata: TransactionMetadata, goes_on: bool, wall_ms: int) -> TransactionMetadata:
    """Return the state after the open transaction was taken from its producer, and is being aborted.

    The epoch is raised. One that is larger than :data:`LAST_EPOCH` is told to no producer.

    :param goes_on: True if the producer may have the raised epoch: by an InitProducerId, and a client of
        version 2 by an abort, which counts as repeated.
    """
    fence = attrs.evolve(metadata, state=next_state(metadata.state, Event.FENCE))
    tells = goes_on and not metadata.is_epoch_exhausted
    return attrs.evolve(
        _prepared(fence, False, TV2, wall_ms),
        start_ms=metadata.start_ms,
        last_producer_epoch=metadata.producer_epoch if tells else NO_PRODUCER_EPOCH,
        next_producer_id=NO_PRODUCER_ID,
        client_version=metadata.client_version if tells else TV1,
    )
