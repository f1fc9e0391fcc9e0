"""The state of a cluster's brokers and partitions, from their own answers to Metadata and DescribeCluster.

It sends requests through the blocking client, to each broker once; :mod:`kafkatx.cli.cluster.status` prints
the result. Any Kafka broker answers these requests.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, TypeAlias

import attrs

from kafkatx.errors import ErrorCode, KafkaTXError, RequestError

if TYPE_CHECKING:
    from kafkatx.blocking.connection import Channel
    from kafkatx.clientcore.metadata import ClusterMetadata, PartitionMetadata
    from kafkatx.types import BrokerNode

LIVE, FENCED, SILENT, AWAY = "live", "fenced", "no answer", "away"


@attrs.frozen
class BrokerHealth:
    """A broker that is registered, or that has a replica.

    :ivar address: ``host:port``; None if the broker is not registered.
    :ivar leads: number of partitions that it leads.
    :ivar replicas: number of partitions that it has a replica of.
    :ivar state: ``LIVE``; ``FENCED``: it has lost the cluster and leads nothing; ``SILENT``: registered, but
        does not answer here; ``AWAY``: not registered.
    """

    id: int
    address: str | None
    rack: str | None
    leads: int
    replicas: int
    state: str


@attrs.frozen
class OfflinePartition:
    """A partition that cannot be used now.

    :ivar error: Kafka's name of the error.
    :ivar leader: the broker that should lead it, -1 if there is none.
    :ivar isr: the in-sync replicas of its last state.
    """

    topic: str
    partition: int
    replicas: list[int]
    error: str
    leader: int = -1
    isr: list[int] = attrs.Factory(list)


@attrs.frozen
class LaggingPartition:
    """A partition with a leader that lacks in-sync replicas.

    :ivar min_isr: ``min.insync.replicas`` of the topic, at most the number of replicas; None if the broker
        does not show it.
    """

    topic: str
    partition: int
    leader: int
    replicas: list[int]
    isr: list[int]
    min_isr: int | None = None

    @property
    def below_min(self) -> bool:
        """True if producers with ``acks=all`` are refused."""
        return self.min_isr is not None and len(self.isr) < self.min_isr


@attrs.frozen
class ClusterHealth:
    """The state of a whole cluster.

    :ivar controller: -1 if there is none.
    :ivar partitions: number of partitions of all topics.
    :ivar under_replicated: partitions with a leader that lack in-sync replicas.
    """

    cluster_id: str | None
    controller: int
    brokers: list[BrokerHealth]
    partitions: int
    under_replicated: list[LaggingPartition]
    offline: list[OfflinePartition]

    @property
    def led(self) -> int:
        """Number of partitions with a leader."""
        return self.partitions - len(self.offline)

    @property
    def under_min_isr(self) -> list[LaggingPartition]:
        """The under-replicated partitions with fewer in-sync replicas than ``min.insync.replicas``."""
        return [partition for partition in self.under_replicated if partition.below_min]


@attrs.frozen
class Answer:
    """The answer of a broker: its view of the cluster, and of itself.

    :ivar fenced: True if it says that it leads nothing; brokers before DescribeCluster v2 do not tell.
    """

    view: ClusterMetadata
    fenced: bool = False


Answers: TypeAlias = "Mapping[int, Answer | None]"
"""The answer of each registered broker; None if it gave none."""

Connect: TypeAlias = "Callable[[BrokerNode], Channel]"


def ask_brokers(found: ClusterMetadata, connect: Connect) -> Answers:
    """Ask each registered broker for its view of the cluster, one after the other.

    :param connect: opens a connection to a broker, which is closed after its answer.
    """
    return {node.id: _ask(node, connect) for _, node in sorted(found.brokers.items())}


def _ask(node: BrokerNode, connect: Connect) -> Answer | None:
    from kafkatx.clientcore.metadata import from_response
    from kafkatx.clientcore.metadata_request import metadata_request
    from kafkatx.wire.messages.metadata import MetadataRequest

    try:
        channel = connect(node)
        try:
            version = channel.version_for(MetadataRequest)
            view = from_response(channel.request(metadata_request(None, version, False), version))
            return Answer(view, _is_fenced(node.id, channel))
        finally:
            channel.close()
    except KafkaTXError:
        return None


def _is_fenced(broker_id: int, channel: Channel) -> bool:
    from kafkatx.wire.messages.describe_cluster import DescribeClusterRequest

    try:
        version = channel.version_for(DescribeClusterRequest)
    except RequestError:  # a broker before Kafka 2.8 does not know the request
        return False
    described = channel.request(DescribeClusterRequest(), version)
    return any(node.is_fenced for node in described.brokers if node.broker_id == broker_id)


def health(found: ClusterMetadata, answers: Answers) -> ClusterHealth:
    """Join the brokers' answers.

    A broker knows best about the partitions that it leads: only itself tells that a log dir of it has failed.

    :param found: the answer of one broker, which decides about all else.
    """
    leads: Counter[int] = Counter()
    replicas: Counter[int] = Counter()
    offline = []
    under_replicated = []
    total = 0
    for name, topic in sorted(found.topics.items()):
        for partition in topic.partitions.values():
            total += 1
            replicas.update(partition.replicas)
            error = _problem(partition, name, answers)
            if error is not None:
                offline.append(
                    OfflinePartition(
                        name,
                        partition.partition,
                        list(partition.replicas),
                        error.name,
                        partition.leader,
                        list(partition.isr),
                    )
                )
                continue
            leads[partition.leader] += 1
            if len(partition.isr) < len(partition.replicas):
                under_replicated.append(
                    LaggingPartition(
                        name,
                        partition.partition,
                        partition.leader,
                        list(partition.replicas),
                        list(partition.isr),
                    )
                )
    brokers = [
        _broker(broker_id, found, answers, leads[broker_id], replicas[broker_id])
        for broker_id in sorted({*found.brokers, *replicas})
    ]
    return ClusterHealth(found.cluster_id, found.controller_id, brokers, total, under_replicated, offline)


def with_min_isr(state: ClusterHealth, values: Mapping[str, str]) -> ClusterHealth:
    """Add ``min.insync.replicas`` to the partitions that lack in-sync replicas.

    :param values: the setting's value by topic; a topic may be missing.
    """
    lagging = [
        attrs.evolve(one, min_isr=min(int(values[one.topic]), len(one.replicas)))
        if values.get(one.topic, "").isdecimal()
        else one
        for one in state.under_replicated
    ]
    return attrs.evolve(state, under_replicated=lagging)


def _problem(partition: PartitionMetadata, topic: str, answers: Answers) -> ErrorCode | None:
    """Return why a partition cannot be used; None if it can."""
    if partition.leader < 0:
        return partition.error or ErrorCode.LEADER_NOT_AVAILABLE
    own = answers.get(partition.leader)
    if own is not None and own.fenced:
        return ErrorCode.NOT_LEADER_OR_FOLLOWER
    if own is not None and topic in own.view.topics:
        seen = own.view.topics[topic].partitions.get(partition.partition, partition)
        if seen.leader_epoch >= partition.leader_epoch:
            partition = seen
    if partition.error is ErrorCode.KAFKA_STORAGE_ERROR or partition.leader < 0:
        return partition.error or ErrorCode.LEADER_NOT_AVAILABLE
    return None


def _broker(
    broker_id: int, found: ClusterMetadata, answers: Answers, leads: int, replicas: int
) -> BrokerHealth:
    from kafkatx.clientcore.bootstrap import format_address

    node = found.brokers.get(broker_id)
    if node is None:
        return BrokerHealth(broker_id, None, None, leads, replicas, AWAY)
    answer = answers.get(broker_id)
    state = SILENT if answer is None else FENCED if answer.fenced else LIVE
    return BrokerHealth(broker_id, format_address((node.host, node.port)), node.rack, leads, replicas, state)
