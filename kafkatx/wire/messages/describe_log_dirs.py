"""DescribeLogDirs (key 35), versions 0-4: the contents of a broker's log dirs (KIP-113).

*   2 is flexible; 3 adds an error of the whole response, 4 the size of each dir's volume (KIP-827).
"""

from __future__ import annotations

from kafkatx.wire.schema import (
    BOOLEAN,
    INT16,
    INT32,
    INT64,
    STRING,
    Message,
    Struct,
    array,
    field,
    nullable,
)


class DescribableLogDirTopic(Struct):
    """Some partitions of one topic."""

    topic: str = field(STRING)
    partitions: list[int] = field(array(INT32))


class DescribeLogDirsRequest(Message, key=35, versions=(0, 4), flexible=2):
    """Describe the log dirs; with ``topics`` not None only these partitions in them."""

    topics: list[DescribableLogDirTopic] | None = field(nullable(array(DescribableLogDirTopic)))


class DescribeLogDirsPartition(Struct):
    """A partition's size in bytes and, while it is being moved, the offset lag of the copy."""

    partition_index: int = field(INT32)
    partition_size: int = field(INT64)
    offset_lag: int = field(INT64)
    is_future_key: bool = field(BOOLEAN)


class DescribeLogDirsTopic(Struct):
    """The partitions of one topic that are in a dir."""

    name: str = field(STRING)
    partitions: list[DescribeLogDirsPartition] = field(array(DescribeLogDirsPartition))


class DescribeLogDirsResult(Struct):
    """One dir: its absolute path, and KAFKA_STORAGE_ERROR if it is offline."""

    error_code: int = field(INT16)
    log_dir: str = field(STRING)
    topics: list[DescribeLogDirsTopic] = field(array(DescribeLogDirsTopic))
    total_bytes: int = field(INT64, since=4, default=-1)
    usable_bytes: int = field(INT64, since=4, default=-1)


class DescribeLogDirsResponse(Message, key=35, versions=(0, 4), flexible=2):
    """The log dirs."""

    throttle_time_ms: int = field(INT32)
    error_code: int = field(INT16, since=3)
    results: list[DescribeLogDirsResult] = field(array(DescribeLogDirsResult))
