"""Replica assignments: those of new partitions, checks of those that clients ask for, look-ups. Pure.

New partitions are spread over the live brokers as Apache Kafka does
(:mod:`kafkatx.metadata.controller.assignment`). Any broker does this for the clients that ask it; the
handlers of CreateTopics and CreatePartitions use it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from random import randrange

from kafkatx.config import BrokerConfig
from kafkatx.config.table import broker as broker_table
from kafkatx.errors import ErrorCode, RequestError
from kafkatx.metadata.controller.assignment import assign_new_partitions, assign_replicas
from kafkatx.types import ClusterState, PartitionState, Topic

MOST_PARTITIONS = 10_000
"""Partitions that one request may create, as in Apache Kafka: each costs files and memory."""

BY_DEFAULT = -1


def plan_topic(
    config: BrokerConfig,
    state: ClusterState,
    partitions: int,
    replication_factor: int,
    draw: Callable[[int], int] = randrange,
) -> list[tuple[int, ...]]:
    """Return the replicas of each partition of a new topic, the preferred leader first.

    :param partitions: ``BY_DEFAULT``: as ``num.partitions`` says.
    :param replication_factor: ``BY_DEFAULT``: as ``default.replication.factor`` says.
    :param draw: returns a random number below its argument.
    :raises RequestError: INVALID_PARTITIONS, POLICY_VIOLATION, INVALID_REPLICATION_FACTOR (there are fewer
        live brokers), or as :func:`assign_replicas`.
    """
    if partitions == BY_DEFAULT:
        partitions = config[broker_table.NUM_PARTITIONS]
    if replication_factor == BY_DEFAULT:
        replication_factor = config[broker_table.DEFAULT_REPLICATION_FACTOR]
    check_count(partitions)
    live = _racks(state)
    start, shift = (draw(len(live)), draw(len(live))) if len(live) > 1 else (0, 0)
    return assign_replicas(live, partitions, replication_factor, start, shift)


def plan_partitions(state: ClusterState, topic: Topic, added: int) -> list[tuple[int, ...]]:
    """Return the replicas of each of *added* new partitions of a topic, as many as partition 0 has.

    :raises RequestError: POLICY_VIOLATION, or as :func:`assign_replicas`.
    """
    check_count(added)
    existing = [partition.replicas for partition in topic.partitions]
    return assign_new_partitions(_racks(state), existing, added)


def _racks(state: ClusterState) -> Mapping[int, str | None]:
    return {node.id: node.rack for node in state.brokers.values()}


def check_count(partitions: int) -> None:
    """Check how many partitions one request creates.

    :raises RequestError: INVALID_PARTITIONS, POLICY_VIOLATION.
    """
    if partitions < 1:
        raise RequestError(ErrorCode.INVALID_PARTITIONS, f"{partitions} partitions: at least 1 is needed")
    if partitions > MOST_PARTITIONS:
        raise RequestError(
            ErrorCode.POLICY_VIOLATION, f"{partitions} partitions: at most {MOST_PARTITIONS} at a time"
        )


def check_replicas(state: ClusterState, replicas: Sequence[int]) -> None:
    """Check that a partition could have these replicas.

    :raises RequestError: INVALID_REPLICA_ASSIGNMENT: the list is empty, repeats a broker, or names an
        unknown one.
    """
    known = state.brokers
    if not replicas or len(set(replicas)) < len(replicas) or not known.keys() >= set(replicas):
        raise RequestError(
            ErrorCode.INVALID_REPLICA_ASSIGNMENT,
            f"{list(replicas)} must be different brokers out of {sorted(known)}",
        )


def check_factor(replicas: Sequence[int], replication_factor: int) -> None:
    """Check that a partition has as many replicas as the others of its topic.

    :raises RequestError: INVALID_REPLICA_ASSIGNMENT, as Apache Kafka.
    """
    if len(replicas) != replication_factor:
        raise RequestError(
            ErrorCode.INVALID_REPLICA_ASSIGNMENT,
            f"{list(replicas)}: all partitions of a topic must have the same number of replicas, and"
            f" partition 0 has {replication_factor}",
        )


def find_state(state: ClusterState, topic: str, partition: int) -> PartitionState:
    """Return the leader and replicas of a partition.

    :raises RequestError: UNKNOWN_TOPIC_OR_PARTITION.
    """
    known = state.topics.get(topic)
    if known is None:
        raise RequestError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, f"there is no topic {topic}")
    if not 0 <= partition < len(known.partitions):
        raise RequestError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, f"there is no partition {topic}-{partition}")
    return known.partitions[partition]
