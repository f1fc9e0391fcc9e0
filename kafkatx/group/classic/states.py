"""The states of a classic group, and the table of all transitions between them. Pure.

The states are those of Apache Kafka's ``ClassicGroupState``. A (state, event) pair that the table lacks is a
bug, and raises. ``docs/group-states.md`` is generated from the table (:mod:`kafkatx.group.documents`).
"""

from __future__ import annotations

import enum
from collections.abc import Mapping
from types import MappingProxyType


class State(enum.Enum):
    """The state of a group; the value is its name in DescribeGroups and ListGroups."""

    EMPTY = "Empty"
    PREPARING_REBALANCE = "PreparingRebalance"
    COMPLETING_REBALANCE = "CompletingRebalance"
    STABLE = "Stable"
    DEAD = "Dead"


class Event(enum.Enum):
    """An event that changes the state; the value describes it for people."""

    REBALANCE = "a member joins, leaves or changes, or its session ends"
    JOINED = "all members have joined, or the rebalance time-out has passed"
    DESERTED = "the last member has left"
    ASSIGNED = "the leader's assignment is stored"
    UNLOADED = "the group is deleted, changes its protocol, or moves to another coordinator"


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
"""A new group is EMPTY; one that is loaded with members is STABLE."""


def next_state(state: State, event: Event) -> State:
    """Return the state after *event* in *state*.

    :raises RuntimeError: the table has no such transition.
    """
    try:
        return TRANSITIONS[state][event]
    except KeyError:
        raise RuntimeError(f"{event.name} cannot happen to a group that is {state.name}") from None
