"""TxnOffsetCommit (key 28), versions 0-5: commit the offsets of a group with a transaction.

*   2 adds leader epochs; 3 is flexible, and adds member and generation (KIP-447).
*   4 may return TRANSACTION_ABORTABLE; 5 adds the offsets to the transaction by itself (KIP-890).
"""

from __future__ import annotations

from kafkatx.wire.schema import INT16, INT32, INT64, STRING, Message, Struct, array, field, nullable


class TxnOffsetCommitRequestPartition(Struct):
    """The offset to read next, and metadata that is returned with it."""

    partition_index: int = field(INT32)
    committed_offset: int = field(INT64)
    committed_leader_epoch: int = field(INT32, since=2, default=-1)
    committed_metadata: str | None = field(nullable(STRING))


class TxnOffsetCommitRequestTopic(Struct):
    """The partitions of one topic."""

    name: str = field(STRING)
    partitions: list[TxnOffsetCommitRequestPartition] = field(array(TxnOffsetCommitRequestPartition))


class TxnOffsetCommitRequest(Message, key=28, versions=(0, 5), flexible=3):
    """Commit offsets that count once the transaction is committed."""

    transactional_id: str = field(STRING)
    group_id: str = field(STRING)
    producer_id: int = field(INT64)
    producer_epoch: int = field(INT16)
    generation_id: int = field(INT32, since=3, default=-1)
    member_id: str = field(STRING, since=3)
    group_instance_id: str | None = field(nullable(STRING), since=3)
    topics: list[TxnOffsetCommitRequestTopic] = field(array(TxnOffsetCommitRequestTopic))


class TxnOffsetCommitResponsePartition(Struct):
    """The result for one offset."""

    partition_index: int = field(INT32)
    error_code: int = field(INT16)


class TxnOffsetCommitResponseTopic(Struct):
    """The partitions of one topic."""

    name: str = field(STRING)
    partitions: list[TxnOffsetCommitResponsePartition] = field(array(TxnOffsetCommitResponsePartition))


class TxnOffsetCommitResponse(Message, key=28, versions=(0, 5), flexible=3):
    """The results."""

    throttle_time_ms: int = field(INT32)
    topics: list[TxnOffsetCommitResponseTopic] = field(array(TxnOffsetCommitResponseTopic))
