"""The states of a transactional producer, and the table of what may follow (``TransactionManager.State``)."""

from __future__ import annotations

import enum
from collections.abc import Mapping
from types import MappingProxyType

from kafkatx.clientcore.producer.transactions.errors import TransactionMisuse


class State(enum.Enum):
    """The state of a transactional producer, in words for messages."""

    UNINITIALIZED = "the producer is not started"
    READY = "no transaction is open: call begin()"
    IN_TRANSACTION = "a transaction is open"
    COMMITTING = "the transaction is being committed: call commit() until it succeeds"
    ABORTING = "the transaction is being aborted: call abort() until it succeeds"
    ABORTABLE_ERROR = "the transaction has failed: call abort()"
    FATAL_ERROR = "the producer can have no more transactions: close it"


class Event(enum.Enum):
    """An event in the life of a transactional producer; the values name calls in messages."""

    INITIALIZED = "the coordinator has given a producer id"
    BEGIN = "begin()"
    COMMIT = "commit()"
    ABORT = "abort()"
    ENDED = "the coordinator has ended the transaction"
    FAILED = "a part of the transaction has failed"
    FATAL = "the producer was fenced, or is not allowed to go on"


TRANSITIONS: Mapping[tuple[State, Event], State] = MappingProxyType(
    {
        (State.UNINITIALIZED, Event.INITIALIZED): State.READY,
        (State.READY, Event.BEGIN): State.IN_TRANSACTION,
        (State.IN_TRANSACTION, Event.COMMIT): State.COMMITTING,
        (State.IN_TRANSACTION, Event.ABORT): State.ABORTING,
        (State.IN_TRANSACTION, Event.FAILED): State.ABORTABLE_ERROR,
        (State.COMMITTING, Event.COMMIT): State.COMMITTING,
        (State.COMMITTING, Event.ENDED): State.READY,
        (State.COMMITTING, Event.FAILED): State.ABORTABLE_ERROR,
        (State.ABORTABLE_ERROR, Event.ABORT): State.ABORTING,
        (State.ABORTABLE_ERROR, Event.FAILED): State.ABORTABLE_ERROR,
        (State.ABORTING, Event.ABORT): State.ABORTING,
        (State.ABORTING, Event.FAILED): State.ABORTING,
        (State.ABORTING, Event.ENDED): State.READY,
        **{(state, Event.FATAL): State.FATAL_ERROR for state in State},
    }
)
"""What is not in the table is an error of the caller."""


def after(state: State, event: Event) -> State:
    """Return the state after an event.

    :raises TransactionMisuse: the event is not possible in this state.
    """
    try:
        return TRANSITIONS[state, event]
    except KeyError:
        raise TransactionMisuse(f"{event.value} is not possible now: {state.value}") from None
