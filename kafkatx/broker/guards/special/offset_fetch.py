"""The check of OffsetFetch: of one group up to version 7, of several later; of topics in each. No I/O."""

from __future__ import annotations

from kafkatx.acls import AclOperation, ResourceType
from kafkatx.broker.authorization.demands import DEMANDS
from kafkatx.broker.guards.calls import Call, Completion
from kafkatx.broker.guards.entries import take_out
from kafkatx.errors import ErrorCode
from kafkatx.wire.messages.offset_fetch import (
    OffsetFetchRequest,
    OffsetFetchRequestTopic,
    OffsetFetchRequestTopics,
    OffsetFetchResponse,
    OffsetFetchResponsePartition,
    OffsetFetchResponsePartitions,
    OffsetFetchResponseTopic,
    OffsetFetchResponseTopics,
)

_MANY_SINCE = 8
_GROUP, _NAMED, _ = DEMANDS[OffsetFetchRequest.API_KEY].demands
_DENIED = ErrorCode.TOPIC_AUTHORIZATION_FAILED


def check(call: Call, request: OffsetFetchRequest) -> Completion | None:
    """Take out the groups and topics that the client may not describe."""
    return _check_many(call, request) if call.context.version >= _MANY_SINCE else _check_one(call, request)


def _sees(call: Call, topic: str) -> bool:
    return call.sees(AclOperation.DESCRIBE, ResourceType.TOPIC, topic)


def _check_one(call: Call, request: OffsetFetchRequest) -> Completion:
    call.require(_GROUP, request.group_id)
    refused: list[OffsetFetchRequestTopic] | None = None
    if request.topics is not None:
        refused = [topic for topic in request.topics if not call.meets(_NAMED, topic.name)]
        names = {topic.name for topic in refused}
        request.topics = [topic for topic in request.topics if topic.name not in names]

    def complete(response: OffsetFetchResponse) -> None:
        if refused is None:
            response.topics = [topic for topic in response.topics if _sees(call, topic.name)]
        elif not response.error_code:
            response.topics += [_refusal(topic) for topic in refused]

    return complete


def _check_many(call: Call, request: OffsetFetchRequest) -> Completion:
    groups = [group for group in request.groups if not call.meets(_GROUP, group.group_id)]
    add = take_out(call, request, _GROUP, "groups", groups, "groups")
    refused: dict[str, list[OffsetFetchRequestTopics] | None] = {}
    for group in request.groups:
        refused[group.group_id] = None
        if group.topics is not None:
            denied = [topic for topic in group.topics if not call.meets(_NAMED, topic.name)]
            names = {topic.name for topic in denied}
            refused[group.group_id] = denied
            group.topics = [topic for topic in group.topics if topic.name not in names]

    def complete(response: OffsetFetchResponse) -> None:
        for group in response.groups:
            topics = refused[group.group_id]
            if topics is None:
                group.topics = [topic for topic in group.topics if _sees(call, topic.name)]
            elif not group.error_code:
                group.topics += [_later_refusal(topic) for topic in topics]
        if groups:
            add(response)

    return complete


def _refusal(topic: OffsetFetchRequestTopic) -> OffsetFetchResponseTopic:
    partitions = [
        OffsetFetchResponsePartition(number, -1, -1, "", _DENIED) for number in topic.partition_indexes
    ]
    return OffsetFetchResponseTopic(topic.name, partitions)


def _later_refusal(topic: OffsetFetchRequestTopics) -> OffsetFetchResponseTopics:
    partitions = [
        OffsetFetchResponsePartitions(number, -1, -1, "", _DENIED) for number in topic.partition_indexes
    ]
    return OffsetFetchResponseTopics(topic.name, partitions)
