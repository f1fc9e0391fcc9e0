"""The states of a group member and their transitions, in one table.

They are those of Apache Kafka's ``AbstractCoordinator.MemberState``, and two more for leaving. A transition
that is not in the table is a bug, and raises.
"""

from __future__ import annotations

import enum
from collections.abc import Mapping
from types import MappingProxyType


class State(enum.Enum):
    """A member's state; the value describes it."""

    UNJOINED = "not in the group, or about to join again"
    JOINING = "waiting for the other members to join"
    SYNCING = "waiting for its assignment, or computing all of them as the leader"
    STABLE = "has its assignment"
    LEAVING = "has sent LeaveGroup"
    CLOSED = "has left or failed for good"


class Event(enum.Enum):
    """The events that change a member's state; the value describes them."""

    JOIN = "it sends JoinGroup"
    JOINED = "JoinGroup was answered: all members have joined"
    SYNCED = "SyncGroup was answered with its assignment"
    REFUSED = "a request failed or was answered with an error"
    RESET = "the coordinator does not know it any more"
    LEAVE = "it sends LeaveGroup"
    LEFT = "it has left, and may join again"
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
"""The next state by state and event. A member starts UNJOINED."""


def next_state(state: State, event: Event) -> State:
    """Return the state after *event* in *state*.

    :raises RuntimeError: the table has no such transition.
    """
    try:
        return TRANSITIONS[state][event]
    except KeyError:
        raise RuntimeError(f"{event.name} cannot happen to a member that is {state.name}") from None
