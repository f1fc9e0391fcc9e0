"""DeleteRecords (key 21), versions 0-2: delete records before an offset (KIP-107). Version 2 is flexible."""

from __future__ import annotations

from kafkatx.wire.schema import INT16, INT32, INT64, STRING, Message, Struct, array, field


class DeleteRecordsPartition(Struct):
    """Delete the records below ``offset``; -1 means the high watermark."""

    partition_index: int = field(INT32)
    offset: int = field(INT64)


class DeleteRecordsTopic(Struct):
    """The partitions of one topic."""

    name: str = field(STRING)
    partitions: list[DeleteRecordsPartition] = field(array(DeleteRecordsPartition))


class DeleteRecordsRequest(Message, key=21, versions=(0, 2), flexible=2):
    """Delete records from the start of partitions."""

    topics: list[DeleteRecordsTopic] = field(array(DeleteRecordsTopic))
    timeout_ms: int = field(INT32)


class DeleteRecordsPartitionResult(Struct):
    """The new log start offset; -1 on an error."""

    partition_index: int = field(INT32)
    low_watermark: int = field(INT64)
    error_code: int = field(INT16)


class DeleteRecordsTopicResult(Struct):
    """The results for one topic's partitions."""

    name: str = field(STRING)
    partitions: list[DeleteRecordsPartitionResult] = field(array(DeleteRecordsPartitionResult))


class DeleteRecordsResponse(Message, key=21, versions=(0, 2), flexible=2):
    """The results."""

    throttle_time_ms: int = field(INT32)
    topics: list[DeleteRecordsTopicResult] = field(array(DeleteRecordsTopicResult))
