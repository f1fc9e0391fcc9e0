"""Sets of partitions by topic id, and their form in messages and records. Pure.

An assignment has no topics without partitions, so that equal assignments are equal mappings.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import Protocol, TypeAlias, TypeVar

Assignment: TypeAlias = Mapping[uuid.UUID, frozenset[int]]

NOTHING: Assignment = MappingProxyType({})


class Listed(Protocol):
    """The partitions of one topic in a message or record."""

    topic_id: uuid.UUID
    partitions: list[int]


L = TypeVar("L")


def both(one: Assignment, other: Assignment) -> Assignment:
    """Return the intersection."""
    return _kept({topic: numbers & other[topic] for topic, numbers in one.items() if topic in other})


def without(one: Assignment, other: Assignment) -> Assignment:
    """Return the partitions in *one* that are not in *other*."""
    return _kept({topic: numbers - other.get(topic, frozenset()) for topic, numbers in one.items()})


def together(one: Assignment, other: Assignment) -> Assignment:
    """Return the union."""
    added = {topic: numbers | one.get(topic, frozenset()) for topic, numbers in other.items()}
    return {**one, **added}


def is_within(one: Assignment, other: Assignment) -> bool:
    """Return True if *one* is a subset of *other*."""
    return all(numbers <= other.get(topic, frozenset()) for topic, numbers in one.items())


def _kept(made: dict[uuid.UUID, frozenset[int]]) -> Assignment:
    return {topic: numbers for topic, numbers in made.items() if numbers}


def from_list(listed: Iterable[Listed]) -> Assignment:
    """Return the assignment in a message or record; a topic may occur twice."""
    made: dict[uuid.UUID, frozenset[int]] = {}
    for topic in listed:
        made[topic.topic_id] = made.get(topic.topic_id, frozenset()) | frozenset(topic.partitions)
    return _kept(made)


def to_list(assignment: Assignment, listed: type[L]) -> list[L]:
    """Return an assignment for a message or record; *listed* is the struct for one topic's partitions."""
    return [
        listed(topic_id=topic, partitions=sorted(assignment[topic]))  # type: ignore[call-arg]
        for topic in sorted(assignment, key=lambda topic: topic.int)
    ]
