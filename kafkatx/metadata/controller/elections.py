"""Elections on request: of preferred leaders, and of replicas that are not in sync. Pure.

The errors are those of Apache Kafka's ``KafkaController.processReplicaLeaderElection``.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator

import attrs

from kafkatx.errors import ErrorCode, RequestError
from kafkatx.metadata.controller.leaders import Replicas, elected_unclean
from kafkatx.metadata.controller.reassignments import is_reassigned
from kafkatx.metadata.controller.writes import Answers, StateWrite
from kafkatx.types import ClusterState, ElectionKind, PartitionState, TopicPartition


def elect(
    state: ClusterState,
    deleting: Collection[str],
    kind: ElectionKind,
    partitions: Collection[TopicPartition] | None,
) -> tuple[list[StateWrite], Answers]:
    """Elect leaders.

    :param state: a state that needs no writes.
    :param deleting: names of the topics that are marked for deletion.
    :param partitions: None for all that need such an election.
    :return: the writes, and for each partition None or one of the errors UNKNOWN_TOPIC_OR_PARTITION,
        INVALID_TOPIC_EXCEPTION (it is being deleted), ELECTION_NOT_NEEDED, PREFERRED_LEADER_NOT_AVAILABLE and
        ELIGIBLE_LEADERS_NOT_AVAILABLE.
    """
    replicas = Replicas(state)
    writes: list[StateWrite] = []
    answers: Answers = {}
    for one in _in_need(replicas, deleting, kind) if partitions is None else dict.fromkeys(partitions):
        try:
            partition = _found(state, deleting, one)
            if not _needs(partition, kind, replicas):
                raise RequestError(
                    ErrorCode.ELECTION_NOT_NEEDED, "Leader election not needed for topic partition."
                )
            elected = _preferred if kind is ElectionKind.PREFERRED else _unclean
            writes.append(StateWrite(one.topic, one.partition, elected(partition, one, replicas)))
        except RequestError as error:
            answers[one] = error
        else:
            answers[one] = None
    return writes, answers


def imbalanced(state: ClusterState, deleting: Collection[str], percentage: int) -> list[TopicPartition]:
    """Return the partitions to give back to their preferred leaders.

    A broker gets partitions back if others lead more than a share of those that prefer it; only those that it
    can lead now, and whose replicas are not being reassigned.

    :param percentage: ``leader.imbalance.per.broker.percentage``.
    """
    replicas = Replicas(state)
    preferring: dict[int, int] = {}
    elsewhere: dict[int, list[TopicPartition]] = {}
    for name, topic in state.topics.items():
        if name in deleting:
            continue
        for number, partition in enumerate(topic.partitions):
            preferred = partition.replicas[0] if partition.replicas else -1
            preferring[preferred] = preferring.get(preferred, 0) + 1
            if partition.leader != preferred:
                elsewhere.setdefault(preferred, []).append(TopicPartition(name, number))
    found = []
    for preferred, partitions in elsewhere.items():
        if len(partitions) * 100 > percentage * preferring[preferred] and preferred in state.brokers:
            for one in partitions:
                partition = state.topics[one.topic].partitions[one.partition]
                if not is_reassigned(partition) and _can_be_preferred(partition, one, replicas):
                    found.append(one)
    return found


def _in_need(replicas: Replicas, deleting: Collection[str], kind: ElectionKind) -> Iterator[TopicPartition]:
    for name, topic in replicas.state.topics.items():
        if name not in deleting:
            for number, partition in enumerate(topic.partitions):
                if _needs(partition, kind, replicas):
                    yield TopicPartition(name, number)


def _needs(partition: PartitionState, kind: ElectionKind, replicas: Replicas) -> bool:
    if kind is ElectionKind.PREFERRED:
        return partition.leader != next(iter(partition.replicas), None)
    return partition.leader < 0 or replicas.is_stale(partition)


def _found(state: ClusterState, deleting: Collection[str], one: TopicPartition) -> PartitionState:
    topic = state.topics.get(one.topic)
    if topic is None or not 0 <= one.partition < len(topic.partitions):
        raise RequestError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, "The partition does not exist.")
    if one.topic in deleting:
        raise RequestError(ErrorCode.INVALID_TOPIC_EXCEPTION, "The topic is being deleted")
    return topic.partitions[one.partition]


def _can_be_preferred(partition: PartitionState, one: TopicPartition, replicas: Replicas) -> bool:
    preferred = partition.replicas[0]
    node = replicas.state.brokers.get(preferred)
    return (
        partition.partition_epoch >= 0
        and preferred in partition.isr
        and node is not None
        and not node.stopping
        and replicas.state.has_live(preferred, one)
        and not replicas.is_stale(partition)
    )


def _preferred(partition: PartitionState, one: TopicPartition, replicas: Replicas) -> PartitionState:
    if not _can_be_preferred(partition, one, replicas):
        raise RequestError(
            ErrorCode.PREFERRED_LEADER_NOT_AVAILABLE,
            f"Failed to elect leader for partition {one} under strategy"
            f" PreferredReplicaPartitionLeaderElectionStrategy: broker {partition.replicas[0]} is not live,"
            " is stopping or is not in sync",
        )
    return attrs.evolve(
        partition,
        leader=partition.replicas[0],
        leader_epoch=partition.leader_epoch + 1,
        partition_epoch=partition.partition_epoch + 1,
        revision=0,
    )


def _unclean(partition: PartitionState, one: TopicPartition, replicas: Replicas) -> PartitionState:
    elected = elected_unclean(partition, one, replicas) if partition.partition_epoch >= 0 else None
    if elected is None:
        raise RequestError(
            ErrorCode.ELIGIBLE_LEADERS_NOT_AVAILABLE,
            f"Failed to elect leader for partition {one} under strategy"
            " OfflinePartitionLeaderElectionStrategy(true): no replica is live",
        )
    return elected
