"""DeleteRecords (key 21), versions 0-2: raise the log start offset of partitions (KIP-107).

The new offset is on the disk before the reply: deleted records never come back, not even after kill -9. Of a
partition with several replicas the reply waits until all live ones have deleted the records, at most
``timeout_ms``: so they do not come back with another leader either.
"""

from __future__ import annotations

from typing import NamedTuple

from twisted.internet.defer import Deferred
from twisted.internet.defer import TimeoutError as TimedOut

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
    deadline_s = broker.clock.seconds() + max(0, request.timeout_ms) / 1000
    topics = [
        (topic.name, [_begin(broker, topic.name, asked, context) for asked in topic.partitions])
        for topic in request.topics
    ]
    return Deferred.fromCoroutine(_finish(broker, topics, deadline_s))


class _Begun(NamedTuple):
    """A log start offset that was raised: the result is true once it is saved, here and by other replicas."""

    result: DeleteRecordsPartitionResult
    partition: Partition
    leader_epoch: int
    saving: Deferred[None]


class _Deletion:
    """A wait until all live replicas of a partition have deleted the records below an offset.

    :ivar done: fires with NONE, or with an error if this broker does not lead the partition any more;
        cancelling it ends the wait.
    """

    def __init__(self, broker: Broker, begun: _Begun) -> None:
        self._broker = broker
        self._begun = begun
        self.done: Deferred[ErrorCode] = Deferred(lambda _: self._leave())
        begun.partition.delayed_deletes.add(self)
        self.wake()

    def wake(self) -> None:
        """End the wait if the replicas have moved far enough, or the partition has another leader."""
        result, partition, leader_epoch, _ = self._begun
        code = partition.error
        if not code and partition.leader_epoch != leader_epoch:
            code = ErrorCode.NOT_LEADER_OR_FOLLOWER
        if code or _low_watermark(self._broker, partition) >= result.low_watermark:
            self._leave()
            self.done.callback(code)

    def _leave(self) -> None:
        self._begun.partition.delayed_deletes.discard(self)


def _low_watermark(broker: Broker, partition: Partition) -> int:
    """Return the smallest log start offset of the live replicas, and of those that may lead next."""
    own_start: int = partition.log.log_start_offset
    if partition.leadership is None:
        return own_start
    state, name = broker.metadata.state, partition.topic_partition
    may_lead = {*partition.state.isr, *partition.state.eligible}
    return partition.leadership.low_watermark(
        own_start, lambda one: one in may_lead or state.has_live(one, name)
    )


def _begin(
    broker: Broker, topic: str, asked: DeleteRecordsPartition, context: RequestContext
) -> DeleteRecordsPartitionResult | _Begun:
    """Raise one log start offset."""
    try:
        partition = _find(broker, topic, asked.partition_index)
        deleted = Deleted(partition.log)
        start = _move(partition, asked.offset, deleted)
    except RequestError as error:
        ended = error.code is ErrorCode.OFFSET_OUT_OF_RANGE and not broker.replicas.has_lease()
        return _error(asked, ErrorCode.NOT_LEADER_OR_FOLLOWER if ended else error.code)
    except OSError:
        return _error(asked, ErrorCode.KAFKA_STORAGE_ERROR)
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
    result = DeleteRecordsPartitionResult(asked.partition_index, start)
    return _Begun(result, partition, partition.leader_epoch, saving)


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
    if partition.mirror is not None and not partition.mirror.writable:
        raise RequestError(ErrorCode.POLICY_VIOLATION)  # its source deletes them
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
    broker: Broker,
    topics: list[tuple[str, list[DeleteRecordsPartitionResult | _Begun]]],
    deadline_s: float,
) -> DeleteRecordsResponse:
    """Wait for each partition in turn; the time of all of them ends together."""
    response = DeleteRecordsResponse()
    for name, parts in topics:
        results = []
        for part in parts:
            if isinstance(part, _Begun):
                code = await _outcome(broker, part, deadline_s)
                if code == ErrorCode.REQUEST_TIMED_OUT:
                    part.result.error_code = code
                    part.result.low_watermark = _low_watermark(broker, part.partition)
                elif code:
                    part.result.error_code, part.result.low_watermark = code, -1
                part = part.result
            results.append(part)
        response.topics.append(DeleteRecordsTopicResult(name, results))
    return response


async def _outcome(broker: Broker, begun: _Begun, deadline_s: float) -> ErrorCode:
    """Wait until a log start offset is saved, and until the other replicas have it."""
    try:
        await begun.saving
    except OSError:
        return ErrorCode.KAFKA_STORAGE_ERROR
    if not begun.partition.replicated:
        return ErrorCode.NONE
    waiting = _Deletion(broker, begun).done
    waiting.addTimeout(max(0.0, deadline_s - broker.clock.seconds()), broker.clock)
    try:
        return await waiting
    except TimedOut:
        return ErrorCode.REQUEST_TIMED_OUT


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
