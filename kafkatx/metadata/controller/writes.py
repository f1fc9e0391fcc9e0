"""The writes that the controller decides on, as values. Pure.

:mod:`kafkatx.metadata.controller.reconcile`, ``elections`` and ``reassignments`` decide on them,
:mod:`kafkatx.metadata.controller.pieces` makes transactions of them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TypeAlias

import attrs

from kafkatx.errors import RequestError
from kafkatx.types import PartitionState, Topic, TopicPartition


@attrs.frozen
class StateWrite:
    """A new state of a partition.

    :ivar state: the state after the write; its ``revision`` is 0, since it is not known before.
    """

    topic: str
    partition: int
    state: PartitionState

    @property
    def replaces(self) -> int:
        """The partition epoch of the state that it replaces; -1 if it is the first."""
        return self.state.partition_epoch - 1


@attrs.frozen
class TopicWrite:
    """A topic gets an id or other replicas, in one transaction with the states that change with it.

    :ivar topic: the topic after the write, with the version that it has before.
    :ivar states: the new states; none for partitions that only get more replicas.
    :ivar changed: numbers of the partitions whose replicas change.
    """

    topic: Topic
    states: tuple[StateWrite, ...] = ()
    changed: tuple[int, ...] = ()


@attrs.frozen
class TopicDeletion:
    """A topic is deleted, and its mark after it.

    :ivar topic: the topic before the deletion.
    """

    topic: Topic


@attrs.frozen
class MarkRemoval:
    """The mark of a topic that does not exist is deleted."""

    topic: str


Write: TypeAlias = StateWrite | TopicWrite | TopicDeletion | MarkRemoval
Answers: TypeAlias = dict[TopicPartition, RequestError | None]
"""The outcome of a request for each partition; None: done, or to be done by the writes beside it."""

MOST_CHANGED = 200
"""Partitions whose replicas one write changes: a topic's node may have hundreds of kilobytes itself."""


def topic_writes(
    topic: Topic, changed: Mapping[int, PartitionState], states: Mapping[int, PartitionState]
) -> list[TopicWrite]:
    """Return the writes of a topic with other replicas of some partitions, :data:`MOST_CHANGED` in each.

    :param changed: the partitions with their new replicas.
    :param states: those of them that get a new state, too.
    :return: one write at least, also for none.
    """
    numbers: Sequence[int] = sorted(changed)
    partitions = list(topic.partitions)
    writes: list[TopicWrite] = []
    for first in range(0, len(numbers) or 1, MOST_CHANGED):
        some = tuple(numbers[first : first + MOST_CHANGED])
        for number in some:
            partitions[number] = changed[number]
        writes.append(
            TopicWrite(
                attrs.evolve(topic, partitions=tuple(partitions), version=topic.version + len(writes)),
                tuple(StateWrite(topic.name, number, states[number]) for number in some if number in states),
                some,
            )
        )
    return writes
