"""The state of a cluster's brokers and partitions, from the brokers' own answers to Metadata.

It sends requests through the blocking client, to each broker once; :mod:`kafkatx.cli.cluster.status` prints
the result. Any Kafka broker answers these requests.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, TypeAlias

import attrs

from kafkatx.errors import ErrorCode, KafkaTXError

if TYPE_CHECKING:
    from kafkatx.blocking.connection import Channel
    from kafkatx.clientcore.metadata import ClusterMetadata, PartitionMetadata
    from kafkatx.types import BrokerNode

LIVE, SILENT, AWAY = "live", "no answer", "away"


@attrs.frozen
class BrokerHealth:
    """A broker that is registered, or that has a replica.

    :ivar address: ``host:port``; None if the broker is not registered.
    :ivar leads: number of partitions that it leads.
    :ivar replicas: number of partitions that it has a replica of.
    :ivar state: ``LIVE``; ``SILENT``: registered, but does not answer here; ``AWAY``: not registered.
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
    """

    topic: str
    partition: int
    replicas: list[int]
    error: str


@attrs.frozen
class ClusterHealth:
    """The state of a whole cluster.

    :ivar controller: -1 if there is none.
    :ivar partitions: number of partitions of all topics.
    :ivar under_replicated: number of partitions with a leader that lack in-sync replicas.
    """

    cluster_id: str | None
    controller: int
    brokers: list[BrokerHealth]
    partitions: int
    under_replicated: int
    offline: list[OfflinePartition]

    @property
    def led(self) -> int:
        """Number of partitions with a leader."""
        return self.partitions - len(self.offline)


Answers: TypeAlias = "Mapping[int, ClusterMetadata | None]"
"""The answer of each registered broker; None if it gave none."""

Connect: TypeAlias = "Callable[[BrokerNode], Channel]"


def ask_brokers(found: ClusterMetadata, connect: Connect) -> Answers:
    """Ask each registered broker for its view of the cluster, one after the other.

    :param connect: opens a connection to a broker, which is closed after its answer.
    """
    return {node.id: _ask(node, connect) for _, node in sorted(found.brokers.items())}


def _ask(node: BrokerNode, connect: Connect) -> ClusterMetadata | None:
    from kafkatx.clientcore.metadata import from_response
    from kafkatx.clientcore.metadata_request import metadata_request
    from kafkatx.wire.messages.metadata import MetadataRequest

    try:
        channel = connect(node)
        try:
            version = channel.version_for(MetadataRequest)
            return from_response(channel.request(metadata_request(None, version, False), version))
        finally:
            channel.close()
    except KafkaTXError:
        return None


def health(found: ClusterMetadata, answers: Answers) -> ClusterHealth:
    """Join the brokers' answers.

    A broker knows best about the partitions that it leads: only itself tells that a log dir of it has failed.

    :param found: the answer of one broker, which decides about all else.
    """
    leads: Counter[int] = Counter()
    replicas: Counter[int] = Counter()
    offline = []
    under_replicated = total = 0
    for name, topic in sorted(found.topics.items()):
        for partition in topic.partitions.values():
            total += 1
            replicas.update(partition.replicas)
            error = _problem(partition, name, answers)
            if error is not None:
                offline.append(
                    OfflinePartition(name, partition.partition, list(partition.replicas), error.name)
                )
                continue
            leads[partition.leader] += 1
            under_replicated += len(partition.isr) < len(partition.replicas)
    brokers = [
        _broker(broker_id, found, answers, leads[broker_id], replicas[broker_id])
        for broker_id in sorted({*found.brokers, *replicas})
    ]
    return ClusterHealth(found.cluster_id, found.controller_id, brokers, total, under_replicated, offline)


def _problem(partition: PartitionMetadata, topic: str, answers: Answers) -> ErrorCode | None:
    """Return why a partition cannot be used; None if it can."""
    if partition.leader < 0:
        return partition.error or ErrorCode.LEADER_NOT_AVAILABLE
    own = answers.get(partition.leader)
    if own is not None and topic in own.topics:
        seen = own.topics[topic].partitions.get(partition.partition, partition)
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
    state = LIVE if answers.get(broker_id) is not None else SILENT
    return BrokerHealth(broker_id, format_address((node.host, node.port)), node.rack, leads, replicas, state)
