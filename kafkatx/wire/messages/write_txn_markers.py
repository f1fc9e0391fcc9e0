"""WriteTxnMarkers (key 27), versions 1-2: write the markers that end transactions in their partitions.

Brokers send it to the leaders of the partitions, and tools to end a hanging transaction. 1 is flexible; 2 has
the transaction's version, by which its epoch is checked (KIP-1228).
"""

from __future__ import annotations

from kafkatx.wire.schema import BOOLEAN, INT8, INT16, INT32, INT64, STRING, Message, Struct, array, field


class WritableTxnMarkerTopic(Struct):
    """Partitions of one topic."""

    name: str = field(STRING)
    partition_indexes: list[int] = field(array(INT32))


class WritableTxnMarker(Struct):
    """The marker of one transaction: a commit, or an abort where *transaction_result* is False."""

    producer_id: int = field(INT64)
    producer_epoch: int = field(INT16)
    transaction_result: bool = field(BOOLEAN)
    topics: list[WritableTxnMarkerTopic] = field(array(WritableTxnMarkerTopic))
    coordinator_epoch: int = field(INT32)
    transaction_version: int = field(INT8, since=2)


class WriteTxnMarkersRequest(Message, key=27, versions=(1, 2), flexible=1):
    """Write markers to partitions that the receiver leads."""

    markers: list[WritableTxnMarker] = field(array(WritableTxnMarker))


class WritableTxnMarkerPartitionResult(Struct):
    """The result for one partition."""

    partition_index: int = field(INT32)
    error_code: int = field(INT16)


class WritableTxnMarkerTopicResult(Struct):
    """The partitions of one topic."""

    name: str = field(STRING)
    partitions: list[WritableTxnMarkerPartitionResult] = field(array(WritableTxnMarkerPartitionResult))


class WritableTxnMarkerResult(Struct):
    """The results of one marker."""

    producer_id: int = field(INT64)
    topics: list[WritableTxnMarkerTopicResult] = field(array(WritableTxnMarkerTopicResult))


class WriteTxnMarkersResponse(Message, key=27, versions=(1, 2), flexible=1):
    """The results, in the order of the request."""

    markers: list[WritableTxnMarkerResult] = field(array(WritableTxnMarkerResult))
