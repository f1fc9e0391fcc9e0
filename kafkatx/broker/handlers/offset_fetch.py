"""OffsetFetch (key 9), versions 0-9.

*   0, which Apache Kafka read from ZooKeeper: a partition without an offset has UNKNOWN_TOPIC_OR_PARTITION;
    from 1 on the offset is -1, without an error.
*   Null topics, from 2 on, ask for all of a group's offsets. 8 asks for many groups.
*   ``require_stable`` changes nothing: there are no transactions that offsets could be part of.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Protocol

from kafkatx.broker.broker import Broker
from kafkatx.broker.coordinator.groups.coordinator import GroupCoordinator
from kafkatx.broker.dispatch import Api
from kafkatx.broker.requests.context import RequestContext
from kafkatx.errors import ErrorCode
from kafkatx.group.offset_records import Committed
from kafkatx.types import NO_LEADER_EPOCH
from kafkatx.wire.messages.offset_fetch import (
    OffsetFetchRequest,
    OffsetFetchRequestGroup,
    OffsetFetchResponse,
    OffsetFetchResponseGroup,
    OffsetFetchResponsePartition,
    OffsetFetchResponsePartitions,
    OffsetFetchResponseTopic,
    OffsetFetchResponseTopics,
)

MANY_GROUPS_SINCE = 8
GROUP_ERRORS_SINCE = 2
NO_OFFSET = -1

_NOTHING = Committed(NO_OFFSET)


def answer(broker: Broker, request: OffsetFetchRequest, context: RequestContext) -> OffsetFetchResponse:
    """Return the committed offsets."""
    groups, version = broker.groups, context.version
    if version >= MANY_GROUPS_SINCE:
        return OffsetFetchResponse(groups=[_of_group(groups, asked) for asked in request.groups])
    error = groups.check(request.group_id, True)
    if error:
        return refuse(request, context, error, "")
    missing = ErrorCode.NONE if version else ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    found = _found(groups, request.group_id, request.topics)
    return OffsetFetchResponse(
        topics=[
            OffsetFetchResponseTopic(
                name,
                [
                    OffsetFetchResponsePartition(
                        number, c.offset, c.leader_epoch, c.metadata, missing if c is _NOTHING else 0
                    )
                    for number, c in partitions
                ],
            )
            for name, partitions in found
        ]
    )


def _of_group(groups: GroupCoordinator, asked: OffsetFetchRequestGroup) -> OffsetFetchResponseGroup:
    """Return one group's part of the response."""
    group_id = asked.group_id
    error = groups.check(group_id, True)
    group = groups.find(group_id)
    if group is not None and not error:
        error = group.check_fetch(asked.member_id, asked.member_epoch, groups.now_ms())
    if error:
        return _failed(asked, error)
    topics = [
        OffsetFetchResponseTopics(
            name,
            [
                OffsetFetchResponsePartitions(number, c.offset, c.leader_epoch, c.metadata, 0)
                for number, c in partitions
            ],
        )
        for name, partitions in _found(groups, group_id, asked.topics)
    ]
    return OffsetFetchResponseGroup(group_id, topics, 0)


class AskedTopic(Protocol):
    """A topic as versions 0-7 and later ones ask for it."""

    name: str
    partition_indexes: list[int]


def _found(
    groups: GroupCoordinator, group_id: str, topics: Sequence[AskedTopic] | None
) -> Iterable[tuple[str, list[tuple[int, Committed]]]]:
    """Return the committed offsets of the requested topics; None means all."""
    offsets = groups.offsets_of(group_id)
    if topics is None:
        return [(name, list(known.items())) for name, known in offsets.of(group_id).items()]
    get = offsets.get
    return [
        (
            topic.name,
            [(number, get(group_id, topic.name, number) or _NOTHING) for number in topic.partition_indexes],
        )
        for topic in topics
    ]


def _failed(asked: OffsetFetchRequestGroup, code: ErrorCode) -> OffsetFetchResponseGroup:
    return OffsetFetchResponseGroup(asked.group_id, [], code)


def refuse(
    request: OffsetFetchRequest, context: RequestContext, code: ErrorCode, message: str
) -> OffsetFetchResponse:
    """Refuse every group with the same error; before version 2, every partition."""
    if context.version >= MANY_GROUPS_SINCE:
        return OffsetFetchResponse(groups=[_failed(asked, code) for asked in request.groups])
    topics = request.topics if request.topics and context.version < GROUP_ERRORS_SINCE else ()
    return OffsetFetchResponse(
        topics=[
            OffsetFetchResponseTopic(
                topic.name,
                [
                    OffsetFetchResponsePartition(number, NO_OFFSET, NO_LEADER_EPOCH, "", code)
                    for number in topic.partition_indexes
                ],
            )
            for topic in topics
        ],
        error_code=code,
    )


API = Api(OffsetFetchRequest, OffsetFetchResponse, answer, refuse)
