"""The states of a transactional id, and the table of all transitions between them. Pure.

The states are those of Apache Kafka's ``TransactionState``. A (state, event) pair that the table lacks is a
bug, and raises. ``docs/transaction-states.md`` is generated from the table
(:mod:`kafkatx.transactions.documents`).
"""

from __future__ import annotations

import enum
from collections.abc import Mapping
from types import MappingProxyType


class State(enum.Enum):
    """The state of a transactional id; the value is its name in DescribeTransactions and ListTransactions."""

    EMPTY = "Empty"
    ONGOING = "Ongoing"
    PREPARE_COMMIT = "PrepareCommit"
    PREPARE_ABORT = "PrepareAbort"
    COMPLETE_COMMIT = "CompleteCommit"
    COMPLETE_ABORT = "CompleteAbort"
    DEAD = "Dead"
    PREPARE_EPOCH_FENCE = "PrepareEpochFence"

    @property
    def is_preparing(self) -> bool:
        """True if the transaction has ended, and its markers are not all written."""
        return self in (State.PREPARE_COMMIT, State.PREPARE_ABORT)

    @property
    def may_expire(self) -> bool:
        """True if there is no transaction, so that an unused transactional id is forgotten."""
        return self in (State.EMPTY, State.COMPLETE_COMMIT, State.COMPLETE_ABORT)


NUMBERS: Mapping[State, int] = MappingProxyType({state: number for number, state in enumerate(State)})
"""The number of each state in the records of ``__transaction_state``."""


class Event(enum.Enum):
    """An event that changes the state; the value describes it for people."""

    INITIALIZE = "InitProducerId gives a producer an id and an epoch"
    ADD = "partitions are added to the transaction, or the offsets of a group"
    COMMIT = "EndTxn commits"
    ABORT = "EndTxn aborts; without a transaction only from clients with version 2 of transactions"
    FENCE = "InitProducerId finds the transaction of another producer, or its time-out has passed"
    COMPLETE = "all markers are written"
    EXPIRE = "it was not used for transactional.id.expiration.ms"


def _row(**following: State) -> Mapping[Event, State]:
    return MappingProxyType({Event[name]: state for name, state in following.items()})


_IDLE = _row(INITIALIZE=State.EMPTY, ADD=State.ONGOING, ABORT=State.PREPARE_ABORT, EXPIRE=State.DEAD)

TRANSITIONS: Mapping[State, Mapping[Event, State]] = MappingProxyType(
    {
        State.EMPTY: _IDLE,
        State.ONGOING: _row(
            ADD=State.ONGOING,
            COMMIT=State.PREPARE_COMMIT,
            ABORT=State.PREPARE_ABORT,
            FENCE=State.PREPARE_EPOCH_FENCE,
        ),
        State.PREPARE_COMMIT: _row(COMPLETE=State.COMPLETE_COMMIT),
        State.PREPARE_ABORT: _row(COMPLETE=State.COMPLETE_ABORT),
        State.COMPLETE_COMMIT: _IDLE,
        State.COMPLETE_ABORT: _IDLE,
        State.DEAD: _row(),
        State.PREPARE_EPOCH_FENCE: _row(ABORT=State.PREPARE_ABORT),
    }
)
"""A new transactional id is EMPTY. PREPARE_EPOCH_FENCE is never stored: an abort follows it at once."""


def next_state(state: State, event: Event) -> State:
    """Return the state after *event* in *state*.

    :raises RuntimeError: the table has no such transition.
    """
    try:
        return TRANSITIONS[state][event]
    except KeyError:
        raise RuntimeError(f"{event.name} cannot happen to a transactional id that is {state.name}") from None
