"""Assignors' inputs and outputs as lines of text, for an oracle in another language.

A question is ``ASSIGNOR|TOPICS|MEMBER|MEMBER...`` with ``t:3+u:2`` for topics and their counts, and for a
member ``ID;INSTANCE;TOPICS;GENERATION;PARTITIONS``: topics with ``+`` between, the generation of its last
assignment (-1: none) and the partitions of that, ``t:0+t:1``. An answer is ``MEMBER|MEMBER...`` with
``ID;PARTITIONS;HEX``: what it gets, and the user data that its subscription had.

Ids and topics of one letter make the order of Java's hash tables the alphabet's.
"""

from __future__ import annotations

import random
from collections.abc import Iterable, Iterator, Mapping

from kafkatx.clientcore.group.assignors import (
    COOPERATIVE_STICKY,
    RANGE,
    ROUND_ROBIN,
    STICKY,
    Assignor,
    Member,
)
from kafkatx.types import TopicPartition

ASSIGNORS = {a.name: a for a in (RANGE, ROUND_ROBIN, STICKY, COOPERATIVE_STICKY)}
IDS = "abcdefghijklmno"
TOPICS = "pqrstu"
ROUNDS = 4


def question(name: str, topics: Mapping[str, int], members: Iterable[Member]) -> str:
    """Return a question."""
    fields = [name, "+".join(f"{topic}:{count}" for topic, count in topics.items())]
    for m in members:
        wanted = "+".join(sorted(m.topics))
        fields.append(f"{m.member_id};{m.instance_id or ''};{wanted};{m.generation};{shown(m.owned)}")
    return "|".join(fields)


def shown(partitions: Iterable[TopicPartition]) -> str:
    """Return partitions as in a line."""
    return "+".join(f"{topic}:{number}" for topic, number in partitions)


def partitions(text: str) -> list[TopicPartition]:
    """Return partitions from a line."""
    parts = [one.split(":") for one in text.split("+") if one]
    return [TopicPartition(topic, int(number)) for topic, number in parts]


def read(line: str) -> tuple[str, dict[str, int], dict[str, Member]]:
    """Return the assignor's name, the topics and the members of a question."""
    name, topics, *fields = line.split("|")
    counts = {at.topic: at.partition for at in partitions(topics)}
    members = {}
    for field in fields:
        member_id, instance, wanted, generation, had = field.split(";")
        members[member_id] = Member(
            member_id,
            frozenset(filter(None, wanted.split("+"))),
            instance or None,
            tuple(partitions(had)),
            int(generation),
        )
    return name, counts, members


def ours(line: str) -> str:
    """Return our answer to a question."""
    name, counts, members = read(line)
    assignor = ASSIGNORS[name]
    data = {
        m.member_id: assignor.user_data(None if m.generation < 0 else m.owned, m.generation) or b""
        for m in members.values()
    }
    shows_owned = assignor.cooperative
    asked = {
        m.member_id: m._replace(user_data=data[m.member_id], owned=m.owned if shows_owned else ())
        for m in members.values()
    }
    given = assignor.assign(asked, counts)
    return "|".join(f"{name};{shown(sorted(given[name]))};{data[name].hex()}" for name in sorted(given))


def ordered(line: str) -> str:
    """Return an answer with the partitions of each member in order."""
    fields = [field.split(";") for field in line.split("|")]
    return "|".join(f"{name};{shown(sorted(partitions(mine)))};{data}" for name, mine, data in fields)


class Story:
    """Rebalances of a group, each of which follows from the answer to the one before.

    Members come, leave, change their minds or were away; topics grow.
    """

    def __init__(self, draw: random.Random) -> None:
        self._draw = draw
        self._assignor: Assignor = draw.choice(list(ASSIGNORS.values()))
        self._topics = {topic: draw.randint(1, 7) for topic in TOPICS[: draw.randint(1, 5)]}
        self._same = draw.random() < 0.5
        chosen = sorted(draw.sample(IDS, draw.randint(1, 7)))
        self._members = {name: self._new(name) for name in chosen}
        self._generation = 1

    def _new(self, name: str) -> Member:
        return Member(name, self._wanted(), self._draw.choice((None, f"i{name}")))

    def _wanted(self) -> frozenset[str]:
        topics = sorted(self._topics)
        return frozenset(
            topics if self._same else self._draw.sample(topics, self._draw.randint(1, len(topics)))
        )

    def questions(self) -> Iterator[str]:
        """Yield questions; call :meth:`answered` before taking the next."""
        for _ in range(ROUNDS):
            yield question(self._assignor.name, self._topics, self._members.values())
            self._change()
            if not self._members:
                return

    def answered(self, line: str) -> None:
        """Apply an answer to the members."""
        self._given = {name: partitions(mine) for name, mine, _ in (f.split(";") for f in line.split("|"))}

    def _change(self) -> None:
        draw, after = self._draw, {}
        self._generation += 1
        for name, member in self._members.items():
            if draw.random() < 0.85 or len(self._members) == 1:
                away = draw.random() < 0.1
                had = member.owned if away else tuple(self._given[name])
                generation = member.generation if away else self._generation
                wanted = member.topics if self._same or draw.random() < 0.8 else self._wanted()
                # Apache Kafka may give a partition back to a member that has unsubscribed
                had = tuple(at for at in had if at.topic in wanted) if away else had
                after[name] = member._replace(owned=had, generation=generation, topics=wanted)
        for name in draw.sample(IDS, draw.randint(0, 2)):
            after.setdefault(name, self._new(name))
        if draw.random() < 0.2:
            self._topics[draw.choice(sorted(self._topics))] += draw.randint(1, 3)
        self._members = dict(sorted(after.items()))
