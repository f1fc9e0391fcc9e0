"""ElectLeaders (key 43), versions 0-2: elect the preferred, or any, replica as leader (KIP-183, KIP-460).

1 adds the type of election, 2 is flexible.
"""

from __future__ import annotations

from kafkatx.wire.schema import (
    INT8,
    INT16,
    INT32,
    STRING,
    Message,
    Struct,
    array,
    field,
    nullable,
)


class TopicPartitions(Struct):
    """Partitions of one topic."""

    topic: str = field(STRING)
    partitions: list[int] = field(array(INT32))


class ElectLeadersRequest(Message, key=43, versions=(0, 2), flexible=2):
    """Elect: 0 the preferred leader, 1 any replica; null is every partition."""

    election_type: int = field(INT8, since=1)
    topic_partitions: list[TopicPartitions] | None = field(nullable(array(TopicPartitions)))
    timeout_ms: int = field(INT32, default=60000)


class PartitionResult(Struct):
    """The result for one partition."""

    partition_id: int = field(INT32)
    error_code: int = field(INT16)
    error_message: str | None = field(nullable(STRING))


class ReplicaElectionResult(Struct):
    """The partitions of one topic."""

    topic: str = field(STRING)
    partition_result: list[PartitionResult] = field(array(PartitionResult))


class ElectLeadersResponse(Message, key=43, versions=(0, 2), flexible=2):
    """The results."""

    throttle_time_ms: int = field(INT32)
    error_code: int = field(INT16, since=1)
    replica_election_results: list[ReplicaElectionResult] = field(array(ReplicaElectionResult))
