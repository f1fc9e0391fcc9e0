"""OffsetFetch (key 9), versions 0-9.

*   0, which Apache Kafka read from ZooKeeper: a partition without an offset has UNKNOWN_TOPIC_OR_PARTITION;
    from 1 on the offset is -1, without an error.
*   Null topics, from 2 on, ask for all of a group's offsets. 8 asks for many groups.
*   With ``require_stable`` (7) a partition whose offset an open transaction commits has
    UNSTABLE_OFFSET_COMMIT: the client asks again.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Protocol, TypeAlias

from kafkatx.broker.broker import Broker
from kafkatx.broker.coordinator.groups.coordinator import GroupCoordinator
from kafkatx.broker.dispatch import Api
from kafkatx.broker.requests.context import RequestContext
from kafkatx.errors import ErrorCode
from kafkatx.group.offset_records import Committed
from kafkatx.group.offsets import Offsets
from kafkatx.group.pending_offsets import PendingOffsets
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
_UNSTABLE = Committed(NO_OFFSET)
_STABLE = PendingOffsets()

Found: TypeAlias = tuple[int, Committed, ErrorCode]
"""A partition, its offset, and NONE or its error."""


def answer(broker: Broker, request: OffsetFetchRequest, context: RequestContext) -> OffsetFetchResponse:
    """Return the committed offsets."""
    groups, version = broker.groups, context.version
    if version >= MANY_GROUPS_SINCE:
        stable = request.require_stable
        return OffsetFetchResponse(groups=[_of_group(groups, asked, stable) for asked in request.groups])
    error = groups.check(request.group_id, True)
    if error:
        return refuse(request, context, error, "")
    missing = ErrorCode.NONE if version else ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    found = _found(groups, request.group_id, request.topics, request.require_stable)
    return OffsetFetchResponse(
        topics=[
            OffsetFetchResponseTopic(
                name,
                [
                    OffsetFetchResponsePartition(
                        number, c.offset, c.leader_epoch, c.metadata, missing if c is _NOTHING else error
                    )
                    for number, c, error in partitions
                ],
            )
            for name, partitions in found
        ]
    )


def _of_group(
    groups: GroupCoordinator, asked: OffsetFetchRequestGroup, require_stable: bool
) -> OffsetFetchResponseGroup:
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
                OffsetFetchResponsePartitions(number, c.offset, c.leader_epoch, c.metadata, unstable)
                for number, c, unstable in partitions
            ],
        )
        for name, partitions in _found(groups, group_id, asked.topics, require_stable)
    ]
    return OffsetFetchResponseGroup(group_id, topics, 0)


class AskedTopic(Protocol):
    """A topic as versions 0-7 and later ones ask for it."""

    name: str
    partition_indexes: list[int]


def _found(
    groups: GroupCoordinator, group_id: str, topics: Sequence[AskedTopic] | None, require_stable: bool
) -> Iterable[tuple[str, list[Found]]]:
    """Return the committed offsets of the requested topics, each with NONE or its error; None means all."""
    shard = groups.shard_of(group_id)
    offsets = Offsets() if shard is None else shard.offsets
    pending = shard.pending_offsets if shard is not None and require_stable else _STABLE

    def find(topic: str, number: int) -> Found:
        if pending and (group_id, topic, number) in pending:
            return number, _UNSTABLE, ErrorCode.UNSTABLE_OFFSET_COMMIT
        return number, offsets.get(group_id, topic, number) or _NOTHING, ErrorCode.NONE

    if topics is not None:
        return [
            (topic.name, [find(topic.name, number) for number in topic.partition_indexes]) for topic in topics
        ]
    known = {name: dict.fromkeys(numbers) for name, numbers in offsets.of(group_id).items()}
    if pending:
        for name, number in pending.of_group(group_id):
            known.setdefault(name, {})[number] = None
    return [(name, [find(name, number) for number in numbers]) for name, numbers in known.items()]


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
