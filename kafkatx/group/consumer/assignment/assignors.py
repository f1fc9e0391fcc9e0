"""Who gets which partition: the assignors ``uniform`` and ``range`` of KIP-848, as pure functions.

Both take what each member subscribes to, how many partitions each topic has, and who had what; both give
every member its new set. Every partition of a topic that somebody subscribes to goes to one who does.
Where replicas are (racks) plays no part, as in Apache Kafka 4.0 with its default assignors.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable, Mapping
from typing import NamedTuple, TypeAlias

from kafkatx.group.consumer.assignment.balance import Balance
from kafkatx.group.consumer.assignment.partitions import NOTHING, Assignment


class Subscriber(NamedTuple):
    """What an assignor may know of a member: its wishes, and what the last target gave it."""

    instance_id: str | None
    topics: frozenset[uuid.UUID]
    previous: Assignment = NOTHING


Subscribers: TypeAlias = Mapping[str, Subscriber]
"""By member id."""

Partitions: TypeAlias = Mapping[uuid.UUID, int]
"""How many partitions each topic has; of topics that are not in it nothing is given."""

Assignor: TypeAlias = Callable[[Subscribers, Partitions], "dict[str, Assignment]"]


def uniform(subscribers: Subscribers, partitions: Partitions) -> dict[str, Assignment]:
    """Give everybody as many partitions as the others, as far as subscriptions allow, and move few.

    With the same subscriptions nobody has two more than another; with different ones nobody has two more than
    another to whom one could be passed on, be it by way of others
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
    """Cut each topic into ranges, one for each of its subscribers in the same order for all topics.

    So partitions of the same number go to the same member where topics have as many partitions and the same
    subscribers, as joins need. The order is that of instance ids, then of member ids. It moves what it must.
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
"""By the name that members ask for."""
