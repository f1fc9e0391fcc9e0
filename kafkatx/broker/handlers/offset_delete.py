"""OffsetDelete (key 47), version 0: delete committed offsets (KIP-496).

A group that is not one of consumers must be without members; of one that is, the topics to which a member
subscribes are spared.
"""

from __future__ import annotations

from twisted.internet.defer import Deferred

from kafkatx.broker.broker import Broker
from kafkatx.broker.coordinator.runtime.record_writer import outcome
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
    shard = broker.groups.served_shard(group.group_id)
    offsets, pending = shard.offsets, shard.pending_of(group.group_id)
    deleted: list[tuple[str, int]] = []
    topics = []
    for topic in request.topics:
        results = []
        for asked in topic.partitions:
            code = _check(broker, group, topic.name, asked.partition_index)
            key = topic.name, asked.partition_index
            if not code and (key in pending or offsets.get(group.group_id, *key)):
                deleted.append(key)
            results.append(OffsetDeleteResponsePartition(asked.partition_index, code))
        topics.append(OffsetDeleteResponseTopic(topic.name, results))
    response = OffsetDeleteResponse(0, 0, topics)
    committed = _delete(broker, group.group_id, deleted)
    return response if committed is None else Deferred.fromCoroutine(_respond_committed(response, committed))


async def _respond_committed(
    response: OffsetDeleteResponse, committed: Deferred[None]
) -> OffsetDeleteResponse:
    error = await outcome(committed)
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
    known = broker.metadata.state.topics.get(topic)
    if known is None or not 0 <= partition < len(known.partitions):
        return ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    if group.subscribes(topic):
        return ErrorCode.GROUP_SUBSCRIBED_TO_TOPIC
    return ErrorCode.NONE


def _delete(broker: Broker, group_id: str, deleted: list[tuple[str, int]]) -> Deferred[None] | None:
    """Write the tombstones, then forget the offsets; return as ``RecordWriter.append`` does.

    :raises RequestError: they cannot be written.
    """
    if not deleted:
        return None
    shard = broker.groups.served_shard(group_id)
    tombstones = [tombstone(group_id, topic, number) for topic, number in deleted]
    committed = broker.groups.writer.append(shard.partition, tombstones)
    for topic, number in deleted:
        shard.delete_offset(group_id, topic, number)
    return committed


def refuse(
    request: OffsetDeleteRequest, context: RequestContext, code: ErrorCode, message: str
) -> OffsetDeleteResponse:
    """Refuse the request with an error."""
    return OffsetDeleteResponse(code, 0, [])


API = Api(OffsetDeleteRequest, OffsetDeleteResponse, answer, refuse)
