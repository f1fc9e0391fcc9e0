"""OffsetDelete (key 47), version 0: delete committed offsets (KIP-496).

A group that is not one of consumers must be without members; of one that is, the topics to which a member
subscribes are spared.
"""

from __future__ import annotations

from twisted.internet.defer import Deferred

from kafkatx.broker.broker import Broker
from kafkatx.broker.coordinator.record_store import flushed
from kafkatx.broker.dispatch import Api
from kafkatx.broker.requests.context import RequestContext
from kafkatx.errors import ErrorCode, RequestError
from kafkatx.group.actions import Group
from kafkatx.group.offset_records import tombstone
from kafkatx.wire.messages.offset_delete import (
    OffsetDeleteRequest,
    OffsetDeleteResponse,
    OffsetDeleteResponsePartition,
    OffsetDeleteResponseTopic,
)

CONSUMER = "consumer"


def answer(
    broker: Broker, request: OffsetDeleteRequest, context: RequestContext
) -> OffsetDeleteResponse | Deferred[OffsetDeleteResponse]:
    """Delete offsets; those that do not exist count as deleted.

    :raises RequestError: GROUP_ID_NOT_FOUND, NON_EMPTY_GROUP and the errors of ``GroupCoordinator.check``,
        for the whole request.
    """
    group = _group(broker, request.group_id)
    deleted: list[tuple[str, int]] = []
    topics = []
    for topic in request.topics:
        results = []
        for asked in topic.partitions:
            code = _check(broker, group, topic.name, asked.partition_index)
            if not code and broker.groups.offsets.get(group.group_id, topic.name, asked.partition_index):
                deleted.append((topic.name, asked.partition_index))
            results.append(OffsetDeleteResponsePartition(asked.partition_index, code))
        topics.append(OffsetDeleteResponseTopic(topic.name, results))
    response = OffsetDeleteResponse(0, 0, topics)
    flushing = _delete(broker, group.group_id, deleted)
    return response if flushing is None else Deferred.fromCoroutine(_respond_flushed(response, flushing))


async def _respond_flushed(response: OffsetDeleteResponse, flushing: Deferred[int]) -> OffsetDeleteResponse:
    error = await flushed(flushing)
    return OffsetDeleteResponse(error, 0, []) if error else response


def _group(broker: Broker, group_id: str) -> Group:
    groups = broker.groups
    error = groups.check(group_id)
    group = groups.find(group_id)
    if error:
        raise RequestError(error)
    if group is None:
        raise RequestError(ErrorCode.GROUP_ID_NOT_FOUND)
    if group.has_members and group.protocol_type != CONSUMER:
        raise RequestError(ErrorCode.NON_EMPTY_GROUP)
    return group


def _check(broker: Broker, group: Group, topic: str, partition: int) -> ErrorCode:
    if broker.topics.find(topic, partition) is None:
        return ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    if group.subscribes(topic):
        return ErrorCode.GROUP_SUBSCRIBED_TO_TOPIC
    return ErrorCode.NONE


def _delete(broker: Broker, group_id: str, deleted: list[tuple[str, int]]) -> Deferred[int] | None:
    """Write the tombstones, then forget the offsets; return as ``OffsetsTopic.append`` does.

    :raises RequestError: they cannot be written.
    """
    if not deleted:
        return None
    groups = broker.groups
    tombstones = [tombstone(group_id, topic, number) for topic, number in deleted]
    flushing = groups.topic.append(group_id, tombstones)
    for topic, number in deleted:
        groups.offsets.delete(group_id, topic, number)
    return flushing


def refuse(
    request: OffsetDeleteRequest, context: RequestContext, code: ErrorCode, message: str
) -> OffsetDeleteResponse:
    """Refuse the request with an error."""
    return OffsetDeleteResponse(code, 0, [])


API = Api(OffsetDeleteRequest, OffsetDeleteResponse, answer, refuse)
