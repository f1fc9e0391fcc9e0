"""The states of one member of a group, and the one table of what leads from which to which.

They are those of Apache Kafka's ``AbstractCoordinator.MemberState``, with two more for the way out. A pair
that the table lacks cannot happen: it is a bug of ours, and raises.
"""

from __future__ import annotations

import enum
from collections.abc import Mapping
from types import MappingProxyType


class State(enum.Enum):
    """Where a member stands; the value says it to people."""

    UNJOINED = "not in the group, or about to join again"
    JOINING = "waits for the others to join"
    SYNCING = "waits for its assignment, or makes that of all"
    STABLE = "has its assignment"
    LEAVING = "has asked to be let go"
    CLOSED = "is no member any more, and will be none"


class Event(enum.Enum):
    """What moves a member; the value says it to people."""

    JOIN = "it joins, for the first time or again"
    JOINED = "all have joined"
    SYNCED = "the assignment is there"
    REFUSED = "an answer is an error, or does not come"
    RESET = "the coordinator does not know it any more"
    LEAVE = "it leaves"
    LEFT = "it has left, and may come again"
    CLOSE = "it is closed, or has failed for good"


TRANSITIONS: Mapping[State, Mapping[Event, State]] = MappingProxyType(
    {
        State.UNJOINED: MappingProxyType(
            {
                Event.JOIN: State.JOINING,
                Event.RESET: State.UNJOINED,
                Event.LEAVE: State.LEAVING,
                Event.LEFT: State.UNJOINED,
                Event.CLOSE: State.CLOSED,
            },
        ),
        State.JOINING: MappingProxyType(
            {
                Event.JOINED: State.SYNCING,
                Event.REFUSED: State.UNJOINED,
                Event.RESET: State.UNJOINED,
                Event.LEAVE: State.LEAVING,
                Event.LEFT: State.UNJOINED,
                Event.CLOSE: State.CLOSED,
            },
        ),
        State.SYNCING: MappingProxyType(
            {
                Event.SYNCED: State.STABLE,
                Event.REFUSED: State.UNJOINED,
                Event.RESET: State.UNJOINED,
                Event.LEAVE: State.LEAVING,
                Event.LEFT: State.UNJOINED,
                Event.CLOSE: State.CLOSED,
            },
        ),
        State.STABLE: MappingProxyType(
            {
                Event.JOIN: State.JOINING,
                Event.RESET: State.UNJOINED,
                Event.LEAVE: State.LEAVING,
                Event.LEFT: State.UNJOINED,
                Event.CLOSE: State.CLOSED,
            },
        ),
        State.LEAVING: MappingProxyType({Event.LEFT: State.UNJOINED, Event.CLOSE: State.CLOSED}),
        State.CLOSED: MappingProxyType({}),
    }
)
"""A member begins UNJOINED."""


def next_state(state: State, event: Event) -> State:
    """Where *event* leads from *state*.

    :raises RuntimeError: the table does not know the event in this state.
    """
    try:
        return TRANSITIONS[state][event]
    except KeyError:
        raise RuntimeError(f"{event.name} cannot happen to a member that is {state.name}") from None
