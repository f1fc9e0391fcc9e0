"""ListOffsets (key 2), versions 0-11.

Nothing is in remote storage here: the earliest local offset (-4) is the log start offset, and there is
neither a last tiered offset (-5) nor one whose upload is pending (-6). ``timeout_ms`` is about remote storage
only. A special time that the request's version does not know is UNSUPPORTED_VERSION of its partition.

A new leader of a partition with several replicas does not know for a moment how much is committed. Until its
high watermark is at the start of its epoch it answers OFFSET_NOT_AVAILABLE, or LEADER_NOT_AVAILABLE before
version 5 (KIP-207): the offset would be one that consumers have seen before.

As in Apache Kafka, a partition that is repeated in a request is refused. Version 0 answers as Kafka 0.8
did: the start offsets of segments, newest first, that were last written at or before the time asked for.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TypeAlias

from twisted.internet.defer import Deferred

from kafkatx.broker.broker import Broker
from kafkatx.broker.dispatch import Api
from kafkatx.broker.fetch.answers import epoch_error
from kafkatx.broker.fetch.fetch_round import READ_COMMITTED
from kafkatx.broker.replica.partition import Partition
from kafkatx.broker.requests.context import RequestContext
from kafkatx.broker.requests.unique_names import partitions
from kafkatx.errors import ErrorCode, RequestError
from kafkatx.wire.messages.list_offsets import (
    ListOffsetsPartition,
    ListOffsetsPartitionResponse,
    ListOffsetsRequest,
    ListOffsetsResponse,
    ListOffsetsTopicResponse,
)

LATEST, EARLIEST, MAX_TIMESTAMP = -1, -2, -3
EARLIEST_LOCAL, LATEST_TIERED, EARLIEST_PENDING_UPLOAD = -4, -5, -6
SPECIAL_TIMES_SINCE = {
    LATEST: 0,
    EARLIEST: 0,
    MAX_TIMESTAMP: 7,
    EARLIEST_LOCAL: 8,
    LATEST_TIERED: 9,
    EARLIEST_PENDING_UPLOAD: 11,
}
"""The first version in which each special timestamp may be used."""
_NEVER = 1 << 15
NAMES = partitions("topics", "name", "partitions", "partition_index")

NOT_AVAILABLE_SINCE = 5

Search: TypeAlias = tuple[
    ListOffsetsPartitionResponse, int, Callable[[], "Deferred[tuple[int, int, int] | None]"], ErrorCode
]
"""An incomplete result, the end of what the reader may see, the search that completes the result, and the
error if nothing is found that the reader may see."""


def answer(
    broker: Broker, request: ListOffsetsRequest, context: RequestContext
) -> ListOffsetsResponse | Deferred[ListOffsetsResponse]:
    """Look up the offset of every partition; times are searched for in the log, which may take a while."""
    repeated = NAMES.unite(request)
    committed = request.isolation_level == READ_COMMITTED
    topics = []
    searches: list[Search] = []
    for topic in request.topics:
        results = []
        for asked in topic.partitions:
            partition = broker.topics.find(topic.name, asked.partition_index)
            if repeated and (topic.name, asked.partition_index) in repeated:
                results.append(_error(asked, ErrorCode.INVALID_REQUEST))
            elif partition is None:
                results.append(_error(asked, broker.topics.absent(topic.name, asked.partition_index)))
            elif error := epoch_error(partition, asked.current_leader_epoch):
                results.append(_error(asked, error))
            elif context.version == 0:
                results.append(_segments_before(partition, asked))
            else:
                results.append(_offset(partition, asked, context.version, committed, searches))
        topics.append(ListOffsetsTopicResponse(topic.name, results))
    response = ListOffsetsResponse(topics=topics)
    if searches:
        return Deferred.fromCoroutine(_search_all(searches, response))
    return response


def _offset(
    partition: Partition,
    asked: ListOffsetsPartition,
    version: int,
    committed: bool,
    searches: list[Search],
) -> ListOffsetsPartitionResponse:
    """Return the offset for a special timestamp, or of the first record at or after a time.

    :param searches: the search that completes the result is added to it, if one is needed.
    """
    log, time = partition.log, asked.timestamp
    end = partition.last_stable_offset if committed else partition.high_watermark
    unknown = _unknown_end(partition, version)
    result = ListOffsetsPartitionResponse(asked.partition_index)
    if time == LATEST and unknown:
        result.error_code = unknown
    elif time == LATEST:
        result.offset, result.leader_epoch = end, log.epoch_at(end)
    elif time < 0 and version < SPECIAL_TIMES_SINCE.get(time, _NEVER):
        result.error_code = ErrorCode.UNSUPPORTED_VERSION
    elif time in (EARLIEST, EARLIEST_LOCAL):
        result.offset, result.leader_epoch = log.log_start_offset, log.epoch_at(log.log_start_offset)
    elif time == MAX_TIMESTAMP:
        searches.append((result, end, log.max_timestamp, unknown))
    elif time not in (LATEST_TIERED, EARLIEST_PENDING_UPLOAD):
        searches.append((result, end, partial(log.offset_for_timestamp, time), unknown))
    return result


def _unknown_end(partition: Partition, version: int) -> ErrorCode:
    """Return the error of a leader that does not know yet how much is committed; NONE if it does."""
    leadership = partition.leadership
    if leadership is None or partition.high_watermark >= leadership.epoch_start_offset:
        return ErrorCode.NONE
    return (
        ErrorCode.OFFSET_NOT_AVAILABLE if version >= NOT_AVAILABLE_SINCE else ErrorCode.LEADER_NOT_AVAILABLE
    )


async def _search_all(searches: list[Search], response: ListOffsetsResponse) -> ListOffsetsResponse:
    """Complete the results one after the other, so that requests share the thread that reads.

    When the client disconnects, the current search ends and the others do not begin.
    """
    for result, end, search, unknown in searches:
        try:
            found = await search()
        except RequestError as error:
            result.error_code = error.code
        except OSError:
            result.error_code = ErrorCode.KAFKA_STORAGE_ERROR
        else:
            if found is not None and found[0] < end:  # otherwise the reader may not see it
                result.offset, result.timestamp, result.leader_epoch = found
            else:
                result.error_code = unknown
    return response


def _segments_before(partition: Partition, asked: ListOffsetsPartition) -> ListOffsetsPartitionResponse:
    """Return at most ``max_num_offsets`` offsets, the largest first (version 0)."""
    log = partition.log
    if asked.timestamp == EARLIEST:
        offsets = [log.log_start_offset]
    else:
        segments = [
            max(segment.base_offset, log.log_start_offset)
            for segment in log.segments
            if asked.timestamp == LATEST or segment.max_timestamp_ms <= asked.timestamp
        ]
        if asked.timestamp == LATEST or len(segments) == len(log.segments):
            segments.append(partition.high_watermark)
        seen = {min(offset, partition.high_watermark) for offset in segments}
        offsets = sorted(seen, reverse=True)
    limit = max(0, asked.max_num_offsets)
    return ListOffsetsPartitionResponse(asked.partition_index, 0, offsets[:limit])


def _error(asked: ListOffsetsPartition, code: int) -> ListOffsetsPartitionResponse:
    return ListOffsetsPartitionResponse(asked.partition_index, code)


def refuse(
    request: ListOffsetsRequest, context: RequestContext, code: ErrorCode, message: str
) -> ListOffsetsResponse:
    """Refuse every partition with the same error."""
    return ListOffsetsResponse(
        topics=[
            ListOffsetsTopicResponse(topic.name, [_error(asked, code) for asked in topic.partitions])
            for topic in request.topics
        ]
    )


API = Api(ListOffsetsRequest, ListOffsetsResponse, answer, refuse)
