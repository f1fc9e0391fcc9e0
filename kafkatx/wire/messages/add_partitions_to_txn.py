"""AddPartitionsToTxn (key 24), versions 0-5: add partitions to a transaction, or ask whether they are in it.

*   0-3 are sent by clients, for one transaction; 3 is flexible; 2 may return PRODUCER_FENCED.
*   4 is sent by brokers, for several transactions, and may ask only whether the partitions are in them
    (KIP-890); 5 may return TRANSACTION_ABORTABLE.
"""

from __future__ import annotations

from kafkatx.wire.schema import BOOLEAN, INT16, INT32, INT64, STRING, Message, Struct, array, field


class AddPartitionsToTxnTopic(Struct):
    """Partitions of one topic."""

    name: str = field(STRING)
    partitions: list[int] = field(array(INT32))


class AddPartitionsToTxnTransaction(Struct):
    """The partitions of one transaction; with *verify_only* they are not added."""

    transactional_id: str = field(STRING)
    producer_id: int = field(INT64)
    producer_epoch: int = field(INT16)
    verify_only: bool = field(BOOLEAN)
    topics: list[AddPartitionsToTxnTopic] = field(array(AddPartitionsToTxnTopic))


class AddPartitionsToTxnRequest(Message, key=24, versions=(0, 5), flexible=3):
    """Add partitions to one transaction, or from version 4 on to several."""

    transactions: list[AddPartitionsToTxnTransaction] = field(array(AddPartitionsToTxnTransaction), since=4)
    v3_and_below_transactional_id: str = field(STRING, until=3)
    v3_and_below_producer_id: int = field(INT64, until=3)
    v3_and_below_producer_epoch: int = field(INT16, until=3)
    v3_and_below_topics: list[AddPartitionsToTxnTopic] = field(array(AddPartitionsToTxnTopic), until=3)


class AddPartitionsToTxnPartitionResult(Struct):
    """The result for one partition."""

    partition_index: int = field(INT32)
    partition_error_code: int = field(INT16)


class AddPartitionsToTxnTopicResult(Struct):
    """The partitions of one topic."""

    name: str = field(STRING)
    results_by_partition: list[AddPartitionsToTxnPartitionResult] = field(
        array(AddPartitionsToTxnPartitionResult)
    )


class AddPartitionsToTxnResult(Struct):
    """The results for one transaction."""

    transactional_id: str = field(STRING)
    topic_results: list[AddPartitionsToTxnTopicResult] = field(array(AddPartitionsToTxnTopicResult))


class AddPartitionsToTxnResponse(Message, key=24, versions=(0, 5), flexible=3):
    """The results; from version 4 on also an error of the whole request."""

    throttle_time_ms: int = field(INT32)
    error_code: int = field(INT16, since=4)
    results_by_transaction: list[AddPartitionsToTxnResult] = field(array(AddPartitionsToTxnResult), since=4)
    results_by_topic_v3_and_below: list[AddPartitionsToTxnTopicResult] = field(
        array(AddPartitionsToTxnTopicResult), until=3
    )
