"""Sets of partitions by topic id, as members hold them and as the wire lists them.

No topic of an assignment is without partitions, so that equal assignments are equal mappings.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import Protocol, TypeAlias, TypeVar

Assignment: TypeAlias = Mapping[uuid.UUID, frozenset[int]]

NOTHING: Assignment = MappingProxyType({})


class Listed(Protocol):
    """As messages and records list the partitions of one topic."""

    topic_id: uuid.UUID
    partitions: list[int]


L = TypeVar("L")


def both(one: Assignment, other: Assignment) -> Assignment:
    """What stands in both."""
    return _kept({topic: numbers & other[topic] for topic, numbers in one.items() if topic in other})


def without(one: Assignment, other: Assignment) -> Assignment:
    """What stands in *one* and not in *other*."""
    return _kept({topic: numbers - other.get(topic, frozenset()) for topic, numbers in one.items()})


def together(one: Assignment, other: Assignment) -> Assignment:
    """What stands in either."""
    added = {topic: numbers | one.get(topic, frozenset()) for topic, numbers in other.items()}
    return {**one, **added}


def is_within(one: Assignment, other: Assignment) -> bool:
    """Whether all of *one* stands in *other*."""
    return all(numbers <= other.get(topic, frozenset()) for topic, numbers in one.items())


def _kept(made: dict[uuid.UUID, frozenset[int]]) -> Assignment:
    return {topic: numbers for topic, numbers in made.items() if numbers}


def from_list(listed: Iterable[Listed]) -> Assignment:
    """Read it from a message or record; a topic may be listed twice."""
    made: dict[uuid.UUID, frozenset[int]] = {}
    for topic in listed:
        made[topic.topic_id] = made.get(topic.topic_id, frozenset()) | frozenset(topic.partitions)
    return _kept(made)


def to_list(assignment: Assignment, listed: type[L]) -> list[L]:
    """List it for a message or record; *listed* is the message's own struct of a topic's partitions."""
    return [
        listed(topic_id=topic, partitions=sorted(assignment[topic]))  # type: ignore[call-arg]
        for topic in sorted(assignment, key=lambda topic: topic.int)
    ]
