"""The states of a classic group, and the one table of what leads from which to which.

They are those of Apache Kafka's ``ClassicGroupState``. A pair that the table lacks cannot happen: it is a bug
of ours, and raises. ``docs/group-states.md`` is drawn from the table (:mod:`kafkatx.group.classic.diagram`).
"""

from __future__ import annotations

import enum
from collections.abc import Mapping
from types import MappingProxyType


class State(enum.Enum):
    """Where a group stands; the value is what DescribeGroups and ListGroups call it."""

    EMPTY = "Empty"
    PREPARING_REBALANCE = "PreparingRebalance"
    COMPLETING_REBALANCE = "CompletingRebalance"
    STABLE = "Stable"
    DEAD = "Dead"


class Event(enum.Enum):
    """What moves a group; the value says it to people."""

    REBALANCE = "a member joins, leaves, changes or falls silent"
    JOINED = "all have joined, or their time is over"
    DESERTED = "no member is left"
    ASSIGNED = "the leader's assignment is stored"
    UNLOADED = "deleted, converted, or coordinated elsewhere"


TRANSITIONS: Mapping[State, Mapping[Event, State]] = MappingProxyType(
    {
        State.EMPTY: MappingProxyType(
            {Event.REBALANCE: State.PREPARING_REBALANCE, Event.UNLOADED: State.DEAD},
        ),
        State.PREPARING_REBALANCE: MappingProxyType(
            {
                Event.JOINED: State.COMPLETING_REBALANCE,
                Event.DESERTED: State.EMPTY,
                Event.UNLOADED: State.DEAD,
            },
        ),
        State.COMPLETING_REBALANCE: MappingProxyType(
            {
                Event.ASSIGNED: State.STABLE,
                Event.REBALANCE: State.PREPARING_REBALANCE,
                Event.UNLOADED: State.DEAD,
            },
        ),
        State.STABLE: MappingProxyType(
            {Event.REBALANCE: State.PREPARING_REBALANCE, Event.UNLOADED: State.DEAD},
        ),
        State.DEAD: MappingProxyType({}),
    }
)
"""A group begins EMPTY; one that is loaded with members begins STABLE."""


def next_state(state: State, event: Event) -> State:
    """Where *event* leads from *state*.

    :raises RuntimeError: the table does not know the event in this state.
    """
    try:
        return TRANSITIONS[state][event]
    except KeyError:
        raise RuntimeError(f"{event.name} cannot happen to a group that is {state.name}") from None
