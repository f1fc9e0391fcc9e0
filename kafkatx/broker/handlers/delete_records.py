"""DeleteRecords (key 21), versions 0-2: raise the log start offset of partitions (KIP-107).

The new offset is on the disk before the reply: deleted records never come back, not even after kill -9.
"""

from __future__ import annotations

from twisted.internet.defer import Deferred

from kafkatx.broker.broker import Broker
from kafkatx.broker.dispatch import Api
from kafkatx.broker.replica.logs.deletions import Deleted
from kafkatx.broker.replica.partition import Partition
from kafkatx.broker.requests.context import RequestContext
from kafkatx.errors import ErrorCode, RequestError
from kafkatx.names import INTERNAL_TOPICS
from kafkatx.wire.messages.delete_records import (
    DeleteRecordsPartition,
    DeleteRecordsPartitionResult,
    DeleteRecordsRequest,
    DeleteRecordsResponse,
    DeleteRecordsTopicResult,
)

HIGH_WATERMARK = -1


def answer(
    broker: Broker, request: DeleteRecordsRequest, context: RequestContext
) -> Deferred[DeleteRecordsResponse]:
    """Raise the log start offsets of all partitions, then wait until each is on the disk."""
    topics = [
        (topic.name, [_begin(broker, topic.name, asked, context) for asked in topic.partitions])
        for topic in request.topics
    ]
    return Deferred.fromCoroutine(_finish(topics))


def _begin(
    broker: Broker, topic: str, asked: DeleteRecordsPartition, context: RequestContext
) -> tuple[DeleteRecordsPartitionResult, Deferred[None] | None]:
    """Raise one log start offset; return the result, true once the Deferred has fired."""
    try:
        partition = _find(broker, topic, asked.partition_index)
        deleted = Deleted(partition.log)
        start = _move(partition, asked.offset, deleted)
    except RequestError as error:
        return _error(asked, error.code), None
    except OSError:
        return _error(asked, ErrorCode.KAFKA_STORAGE_ERROR), None
    if deleted.segments:
        broker.limited_log.info(
            "DeleteRecords from {peer} deleted {segments} segments of {partition}, {size} bytes; the log"
            " starts at offset {start} now",
            peer=context.peer,
            segments=deleted.segments,
            partition=partition.topic_partition,
            size=deleted.size_bytes,
            start=start,
        )
    # fetches that wait below the new start are answered at once
    partition.wake()
    saving = broker.store.checkpoint_log_start(partition.topic_partition)
    return DeleteRecordsPartitionResult(asked.partition_index, start), saving


def _find(broker: Broker, topic: str, number: int) -> Partition:
    """Return the partition, if its records may be deleted.

    :raises RequestError: it does not exist, or they may not.
    """
    if topic in INTERNAL_TOPICS:
        raise RequestError(ErrorCode.INVALID_TOPIC_EXCEPTION)
    partition = broker.topics.find(topic, number)
    if partition is None:
        raise RequestError(broker.topics.absent(topic, number))
    if partition.error:
        raise RequestError(partition.error)
    config = partition.log.config
    if config.compacted and "delete" not in config.cleanup_policy:
        raise RequestError(ErrorCode.POLICY_VIOLATION)
    return partition


def _move(partition: Partition, offset: int, deleted: Deleted) -> int:
    """Raise a log start offset to *offset*, unless it is higher already; return it.

    :raises RequestError: OFFSET_OUT_OF_RANGE: the offset is negative or above the high watermark.
    :raises OSError: old segments cannot be renamed.
    """
    if offset == HIGH_WATERMARK:
        offset = partition.high_watermark
    if not 0 <= offset <= partition.high_watermark:
        raise RequestError(ErrorCode.OFFSET_OUT_OF_RANGE)
    with deleted:
        partition.log.advance_log_start(offset)
    start: int = partition.log.log_start_offset
    return start


async def _finish(
    topics: list[tuple[str, list[tuple[DeleteRecordsPartitionResult, Deferred[None] | None]]]],
) -> DeleteRecordsResponse:
    for _, results in topics:
        for result, saving in results:
            try:
                if saving is not None:
                    await saving
            except OSError:
                result.low_watermark, result.error_code = -1, ErrorCode.KAFKA_STORAGE_ERROR
    return DeleteRecordsResponse(
        topics=[DeleteRecordsTopicResult(name, [result for result, _ in results]) for name, results in topics]
    )


def _error(asked: DeleteRecordsPartition, code: int) -> DeleteRecordsPartitionResult:
    return DeleteRecordsPartitionResult(asked.partition_index, -1, code)


def refuse(
    request: DeleteRecordsRequest, context: RequestContext, code: ErrorCode, why: str
) -> DeleteRecordsResponse:
    """Refuse every partition with the same error."""
    return DeleteRecordsResponse(
        topics=[
            DeleteRecordsTopicResult(topic.name, [_error(asked, code) for asked in topic.partitions])
            for topic in request.topics
        ]
    )


API = Api(DeleteRecordsRequest, DeleteRecordsResponse, answer, refuse)
