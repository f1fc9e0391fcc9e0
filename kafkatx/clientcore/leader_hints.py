"""New leaders as replies of Produce 10 and Fetch 16 name them: clients need not ask for metadata (KIP-951).

Pure. A broker that does not lead a partition, or leads it in another epoch than the client thinks, refuses
requests for it and names the leader that it knows, with its address. Clients ask :func:`follow` for metadata
with these leaders, and retry at once where that has another leader than the broker that refused.
"""

from __future__ import annotations

import uuid
from collections.abc import Mapping
from typing import TYPE_CHECKING

import attrs

from kafkatx.clientcore.metadata import ClusterMetadata
from kafkatx.types import BrokerNode, TopicPartition

if TYPE_CHECKING:
    from kafkatx.wire.leaders import LeaderIdAndEpoch, NodeEndpoint
    from kafkatx.wire.messages.fetch import FetchResponse
    from kafkatx.wire.messages.produce import ProduceResponse


@attrs.frozen
class LeaderHints:
    """The leaders that a reply names.

    :ivar leaders: for each partition the leader's node id and its epoch.
    :ivar nodes: the brokers whose addresses the reply gives.
    """

    leaders: Mapping[TopicPartition, tuple[int, int]]
    nodes: Mapping[int, BrokerNode]


def of_produce(response: ProduceResponse) -> LeaderHints | None:
    """Return the hints of a reply; None if it has none."""
    if not response.node_endpoints:
        return None
    leaders = {
        TopicPartition(topic.name, part.index): _pair(part.current_leader)
        for topic in response.responses
        for part in topic.partition_responses
        if part.current_leader is not None
    }
    return LeaderHints(leaders, _nodes(response.node_endpoints))


def of_fetch(response: FetchResponse, names: Mapping[uuid.UUID, str]) -> LeaderHints | None:
    """Return the hints of a reply; None if it has none.

    :param names: the names of the topics by their ids.
    """
    if not response.node_endpoints:
        return None
    leaders = {
        TopicPartition(topic.topic or names.get(topic.topic_id, ""), part.partition_index): _pair(
            part.current_leader
        )
        for topic in response.responses
        for part in topic.partitions
        if part.current_leader is not None
    }
    return LeaderHints(leaders, _nodes(response.node_endpoints))


def follow(metadata: ClusterMetadata, hints: LeaderHints) -> ClusterMetadata:
    """Return metadata with the leaders of *hints* that have a later epoch than the known ones.

    Only partitions that the metadata has are changed, and only brokers that are leaders by this are added or
    get another address. If there is nothing new, *metadata* itself is returned.
    """
    topics = dict(metadata.topics)
    brokers = dict(metadata.brokers)
    for (name, number), (leader, epoch) in hints.leaders.items():
        topic = topics.get(name)
        known = topic.partitions.get(number) if topic is not None else None
        node = hints.nodes.get(leader) or metadata.brokers.get(leader)
        if topic is None or known is None or node is None or epoch <= known.leader_epoch:
            continue
        changed = attrs.evolve(known, leader=leader, leader_epoch=epoch)
        topics[name] = attrs.evolve(topic, partitions={**topic.partitions, number: changed})
        brokers[leader] = node
    if topics == metadata.topics:
        return metadata
    return attrs.evolve(metadata, topics=topics, brokers=brokers)


def _pair(leader: LeaderIdAndEpoch) -> tuple[int, int]:
    return leader.leader_id, leader.leader_epoch


def _nodes(endpoints: list[NodeEndpoint]) -> dict[int, BrokerNode]:
    return {one.node_id: BrokerNode(one.node_id, one.host, one.port, one.rack) for one in endpoints}
