"""What a Metadata reply says of the cluster, as values."""

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
    """Who leads a partition and who holds its replicas; ``leader`` is -1 while there is none."""

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
        """Whether there is a topic to speak of; single partitions may still lack a leader."""
        return not self.error and bool(self.partitions)

    def following(self, older: TopicMetadata | None) -> TopicMetadata:
        """This one, with those partitions of *older* that are of a later epoch; of the same topic id only."""
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
    """The brokers by id and the topics by name, as one broker saw them when it was asked."""

    brokers: Mapping[int, BrokerNode] = MappingProxyType({})
    controller_id: int = -1
    cluster_id: str | None = None
    topics: Mapping[str, TopicMetadata] = MappingProxyType({})

    def merged(self, older: ClusterMetadata) -> ClusterMetadata:
        """This one, with the topics that only *older* knows added."""
        return attrs.evolve(self, topics={**older.topics, **self.topics})

    def following(self, older: ClusterMetadata, kept: Mapping[str, TopicMetadata]) -> ClusterMetadata:
        """This one with the topics *kept* added, and without going back where *older* was further.

        A broker may be behind the one that was asked before: where its leader of a partition is of an earlier
        epoch, the leader that was known stays (KIP-320).
        """
        topics = {name: topic.following(older.topics.get(name)) for name, topic in self.topics.items()}
        return attrs.evolve(self, topics={**kept, **topics})


def from_response(response: MetadataResponse) -> ClusterMetadata:
    """Turn a reply of any version into values; what the version lacks is ``-1`` or ``None``."""
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
