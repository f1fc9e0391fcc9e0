"""Replica assignments: checks of those that clients ask for, and look-ups of those that there are. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from kafkatx.errors import ErrorCode, RequestError
from kafkatx.types import ClusterState, PartitionState


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
