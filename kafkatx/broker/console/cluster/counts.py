"""Counts of topics and partitions in the cluster's state, walked through again when the state has changed.

It touches the clock.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

import attrs

from kafkatx.broker.broker import Broker
from kafkatx.broker.console.cluster.turns import Kept, Turns
from kafkatx.config.table.topic import MIN_INSYNC_REPLICAS
from kafkatx.config.topic_config import topic_value
from kafkatx.errors import SettingError
from kafkatx.types import NO_LEADER, ClusterState, Topic, TopicPartition

KEPT_S = 0.5
MOST_NAMES = 5
"""Partitions of each kind of trouble that are named."""


@attrs.define
class Trouble:
    """Partitions of one kind of trouble.

    :ivar names: some of them.
    """

    count: int = 0
    names: list[TopicPartition] = attrs.Factory(list)

    def add(self, topic: str, partition: int) -> None:
        """Add a partition."""
        self.count += 1
        if len(self.names) < MOST_NAMES:
            self.names.append(TopicPartition(topic, partition))


@attrs.define
class OfBroker:
    """The replicas of a broker, and those of them that it leads."""

    leaders: int = 0
    replicas: int = 0


@attrs.define
class Counts:
    """The counts.

    :ivar offline: partitions without a leader.
    :ivar under_min_isr: with a leader, and too few in-sync replicas for ``acks=all``.
    :ivar under_replicated: with a leader and in-sync replicas missing.
    :ivar by_topic: the number of under-replicated and of offline partitions of each topic that has some.
    :ivar brokers: of all brokers that are live or have a replica.
    """

    topics: int = 0
    partitions: int = 0
    offline: Trouble = attrs.Factory(Trouble)
    under_min_isr: Trouble = attrs.Factory(Trouble)
    under_replicated: Trouble = attrs.Factory(Trouble)
    by_topic: dict[str, tuple[int, int]] = attrs.Factory(dict)
    brokers: dict[int, OfBroker] = attrs.Factory(dict)


class ClusterCounts:
    """The counts of the state of now, or of half a second ago."""

    def __init__(self, broker: Broker) -> None:
        self._broker = broker
        self._topics: Mapping[str, Topic] = MappingProxyType({})
        self._counts = Counts()
        self._kept: Kept[Counts] = Kept(self._count, broker.clock, KEPT_S)
        self.get = self._kept.get

    async def _count(self) -> Counts:
        state = self._broker.metadata.state
        if state.topics is not self._topics:
            self._counts = await self._walk(state)
            self._topics = state.topics
        for broker_id in state.brokers:
            self._counts.brokers.setdefault(broker_id, OfBroker())
        return self._counts

    async def _walk(self, state: ClusterState) -> Counts:
        counts, turns = Counts(topics=len(state.topics)), Turns(self._broker.clock)
        for topic in state.topics.values():
            self._add(counts, topic)
            await turns.step(len(topic.partitions))
        return counts

    def _add(self, counts: Counts, topic: Topic) -> None:
        counts.partitions += len(topic.partitions)
        least, behind, offline = self._min_insync(topic), 0, 0
        for number, partition in enumerate(topic.partitions):
            for broker_id in partition.replicas:
                counts.brokers.setdefault(broker_id, OfBroker()).replicas += 1
            if partition.leader == NO_LEADER:
                offline += 1
                counts.offline.add(topic.name, number)
                continue
            counts.brokers.setdefault(partition.leader, OfBroker()).leaders += 1
            in_sync, replicas = len(partition.isr), len(partition.replicas)
            if in_sync < replicas:
                behind += 1
                counts.under_replicated.add(topic.name, number)
            if in_sync < min(least, replicas):
                counts.under_min_isr.add(topic.name, number)
        if behind or offline:
            counts.by_topic[topic.name] = behind, offline

    def _min_insync(self, topic: Topic) -> int:
        try:
            return topic_value(self._broker.config, topic.configs, MIN_INSYNC_REPLICAS)
        except SettingError:
            return 1
