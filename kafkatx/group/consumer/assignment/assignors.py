"""The server-side assignors ``uniform`` and ``range`` of KIP-848. Pure.

Both take the members' subscriptions, the number of partitions of each topic, and the previous target; both
return the new target of every member. Every partition of a subscribed topic is assigned to one of its
subscribers. Racks are not taken into account, as in Apache Kafka 4.0 with its default assignors.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable, Mapping
from typing import NamedTuple, TypeAlias

from kafkatx.group.consumer.assignment.balance import Balance
from kafkatx.group.consumer.assignment.partitions import NOTHING, Assignment


class Subscriber(NamedTuple):
    """A member as an assignor sees it: its subscriptions and its previous target."""

    instance_id: str | None
    topics: frozenset[uuid.UUID]
    previous: Assignment = NOTHING


Subscribers: TypeAlias = Mapping[str, Subscriber]
"""Members by member id."""

Partitions: TypeAlias = Mapping[uuid.UUID, int]
"""Number of partitions by topic id; other topics are not assigned."""

Assignor: TypeAlias = Callable[[Subscribers, Partitions], "dict[str, Assignment]"]


def uniform(subscribers: Subscribers, partitions: Partitions) -> dict[str, Assignment]:
    """Balance the number of partitions per member as far as subscriptions allow, and move few.

    With equal subscriptions no member has two partitions more than another. With different ones no member has
    two more than another to which one could be moved, directly or through other members
    (:mod:`kafkatx.group.consumer.assignment.balance`).
    """
    balance = Balance(
        {
            topic: (count, [member for member in sorted(subscribers) if topic in subscribers[member].topics])
            for topic, count in sorted(partitions.items(), key=lambda item: item[0].int)
        },
        subscribers,
    )
    for member in sorted(subscribers):
        balance.keep(member, subscribers[member].topics, subscribers[member].previous)
    balance.give_the_rest()
    balance.even_out()
    return balance.result()


def ranges(subscribers: Subscribers, partitions: Partitions) -> dict[str, Assignment]:
    """Divide each topic into ranges, one per subscriber; the subscribers have the same order in all topics.

    So partitions with the same number go to the same member if topics have equally many partitions and the
    same subscribers, as joins require. The order is by instance id, then by member id. The previous target is
    not taken into account.
    """
    given: dict[str, dict[uuid.UUID, frozenset[int]]] = {member: {} for member in subscribers}
    order = sorted(subscribers, key=lambda member: _place(member, subscribers[member].instance_id))
    for topic, count in partitions.items():
        takers = [member for member in order if topic in subscribers[member].topics]
        begin = 0
        for number, member in enumerate(takers):
            end = begin + count // len(takers) + (number < count % len(takers))
            if begin < end:
                given[member][topic] = frozenset(range(begin, end))
            begin = end
    return dict(given)


def _place(member_id: str, instance_id: str | None) -> tuple[bool, str]:
    return (instance_id is None, member_id if instance_id is None else instance_id)


ASSIGNORS: Mapping[str, Assignor] = {"uniform": uniform, "range": ranges}
"""Assignors by name."""
