"""A cluster's metadata as values: brokers, topics, partitions and leaders. Pure."""

from __future__ import annotations

import uuid
from collections.abc import Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING

import attrs

from kafkatx.errors import ErrorCode
from kafkatx.types import BrokerNode

if TYPE_CHECKING:
    from kafkatx.wire.messages.metadata import (
        MetadataResponse,
        MetadataResponsePartition,
        MetadataResponseTopic,
    )

NO_TOPIC_ID = uuid.UUID(int=0)


@attrs.frozen
class PartitionMetadata:
    """A partition with its leader and replicas; ``leader`` is -1 while there is none."""

    partition: int
    leader: int
    leader_epoch: int = -1
    replicas: tuple[int, ...] = ()
    isr: tuple[int, ...] = ()
    error: ErrorCode = ErrorCode.NONE


@attrs.frozen
class TopicMetadata:
    """One topic; with an ``error`` it has no partitions."""

    name: str
    partitions: Mapping[int, PartitionMetadata] = MappingProxyType({})
    topic_id: uuid.UUID = NO_TOPIC_ID
    internal: bool = False
    error: ErrorCode = ErrorCode.NONE

    @property
    def usable(self) -> bool:
        """True if the topic exists; some of its partitions may lack a leader."""
        return not self.error and bool(self.partitions)

    def following(self, older: TopicMetadata | None) -> TopicMetadata:
        """Return this topic, with the partitions of *older* that have a later epoch, if the ids match."""
        if older is None or older.topic_id != self.topic_id:
            return self
        ahead = {
            number: before
            for number, before in older.partitions.items()
            if number in self.partitions and before.leader_epoch > self.partitions[number].leader_epoch >= 0
        }
        return attrs.evolve(self, partitions={**self.partitions, **ahead}) if ahead else self


@attrs.frozen
class ClusterMetadata:
    """The brokers by id and the topics by name, as one broker saw them."""

    brokers: Mapping[int, BrokerNode] = MappingProxyType({})
    controller_id: int = -1
    cluster_id: str | None = None
    topics: Mapping[str, TopicMetadata] = MappingProxyType({})

    def merged(self, older: ClusterMetadata) -> ClusterMetadata:
        """Return this metadata plus the topics that only *older* has."""
        return attrs.evolve(self, topics={**older.topics, **self.topics})

    def following(self, older: ClusterMetadata, kept: Mapping[str, TopicMetadata]) -> ClusterMetadata:
        """Return this metadata plus the topics *kept*, without going back to older leaders.

        A broker may be behind the one that was asked before: where its leader epoch of a partition is
        earlier, the known leader stays (KIP-320).
        """
        topics = {name: topic.following(older.topics.get(name)) for name, topic in self.topics.items()}
        return attrs.evolve(self, topics={**kept, **topics})


def from_response(response: MetadataResponse) -> ClusterMetadata:
    """Convert a reply of any version; fields that the version lacks are ``-1`` or ``None``."""
    brokers = {b.node_id: BrokerNode(b.node_id, b.host, b.port, b.rack) for b in response.brokers}
    topics = {topic.name or "": _topic(topic) for topic in response.topics}
    return ClusterMetadata(brokers, response.controller_id, response.cluster_id, topics)


def _topic(topic: MetadataResponseTopic) -> TopicMetadata:
    partitions = {p.partition_index: _partition(p) for p in topic.partitions}
    return TopicMetadata(
        topic.name or "",
        dict(sorted(partitions.items())),
        topic.topic_id or NO_TOPIC_ID,
        topic.is_internal,
        ErrorCode.of(topic.error_code),
    )


def _partition(partition: MetadataResponsePartition) -> PartitionMetadata:
    return PartitionMetadata(
        partition.partition_index,
        partition.leader_id,
        partition.leader_epoch,
        tuple(partition.replica_nodes),
        tuple(partition.isr_nodes),
        ErrorCode.of(partition.error_code),
    )
