"""Which brokers may hold a partition, and what clients say of the partitions that there are."""

from __future__ import annotations

from collections.abc import Sequence

from kafkatx.broker.state import Broker
from kafkatx.errors import ErrorCode, RequestError
from kafkatx.types import PartitionState


def check_replicas(broker: Broker, replicas: Sequence[int]) -> None:
    """See that a partition could have these replicas.

    :raises RequestError: INVALID_REPLICA_ASSIGNMENT: there are none, one stands twice, or is no broker.
    """
    known = broker.coordinator.state.brokers
    if not replicas or len(set(replicas)) < len(replicas) or not known.keys() >= set(replicas):
        raise RequestError(
            ErrorCode.INVALID_REPLICA_ASSIGNMENT,
            f"{list(replicas)} must be different brokers out of {sorted(known)}",
        )


def find_state(broker: Broker, topic: str, partition: int) -> PartitionState:
    """Who holds a partition.

    :raises RequestError: UNKNOWN_TOPIC_OR_PARTITION.
    """
    known = broker.coordinator.state.topics.get(topic)
    if known is None:
        raise RequestError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, f"there is no topic {topic}")
    if not 0 <= partition < len(known.partitions):
        raise RequestError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, f"there is no partition {topic}-{partition}")
    state: PartitionState = known.partitions[partition]
    return state
