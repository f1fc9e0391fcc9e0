"""AlterReplicaLogDirs (key 34), versions 0-2: move partitions to other log dirs of a broker (KIP-113).

*   2 is flexible.
"""

from __future__ import annotations

from kafkatx.wire.schema import INT16, INT32, STRING, Message, Struct, array, field


class AlterReplicaLogDirTopic(Struct):
    """Partitions of one topic."""

    name: str = field(STRING)
    partitions: list[int] = field(array(INT32))


class AlterReplicaLogDir(Struct):
    """A log dir, by its absolute path, and the partitions to move there."""

    path: str = field(STRING)
    topics: list[AlterReplicaLogDirTopic] = field(array(AlterReplicaLogDirTopic))


class AlterReplicaLogDirsRequest(Message, key=34, versions=(0, 2), flexible=2):
    """Move partitions to log dirs."""

    dirs: list[AlterReplicaLogDir] = field(array(AlterReplicaLogDir))


class AlterReplicaLogDirPartitionResult(Struct):
    """The error of one partition; 0 if the move has begun or is not needed."""

    partition_index: int = field(INT32)
    error_code: int = field(INT16)


class AlterReplicaLogDirTopicResult(Struct):
    """The partitions of one topic."""

    topic_name: str = field(STRING)
    partitions: list[AlterReplicaLogDirPartitionResult] = field(array(AlterReplicaLogDirPartitionResult))


class AlterReplicaLogDirsResponse(Message, key=34, versions=(0, 2), flexible=2):
    """The results."""

    throttle_time_ms: int = field(INT32)
    results: list[AlterReplicaLogDirTopicResult] = field(array(AlterReplicaLogDirTopicResult))
