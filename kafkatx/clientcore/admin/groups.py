"""Requests about groups and their committed offsets, and values and errors from replies. Pure."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping

import attrs

from kafkatx.clientcore.admin.group_description import CLASSIC
from kafkatx.clientcore.errors import check, describe
from kafkatx.clientcore.group.offsets import (
    ConsumerGroupMetadata,
    OffsetAndMetadata,
    commit_errors,
    commit_request,
)
from kafkatx.errors import ErrorCode, RequestError
from kafkatx.types import TopicPartition
from kafkatx.wire.messages.delete_groups import DeleteGroupsRequest, DeleteGroupsResponse
from kafkatx.wire.messages.list_groups import ListGroupsResponse
from kafkatx.wire.messages.offset_commit import OffsetCommitRequest, OffsetCommitResponse
from kafkatx.wire.messages.offset_delete import (
    OffsetDeleteRequest,
    OffsetDeleteRequestPartition,
    OffsetDeleteRequestTopic,
    OffsetDeleteResponse,
)
from kafkatx.wire.messages.offset_fetch import OffsetFetchRequest, OffsetFetchRequestGroup

_ALL_TOPICS = 2
"""The first version of OffsetFetch that can ask for all offsets of a group."""

_HAS_MEMBERS = (
    ErrorCode.UNKNOWN_MEMBER_ID,
    ErrorCode.ILLEGAL_GENERATION,
    ErrorCode.REBALANCE_IN_PROGRESS,
    ErrorCode.STALE_MEMBER_EPOCH,
)
"""The errors of a commit without a member while a group has members."""


@attrs.frozen
class GroupListing:
    """A group in a list. ``state`` is empty if the broker does not tell it (before Kafka 2.6)."""

    group_id: str
    protocol_type: str
    state: str = ""
    type: str = CLASSIC


class UnknownGroup(RequestError):
    """The group does not exist: it was deleted, or never had a member or an offset."""

    def __init__(self, group_id: str) -> None:
        super().__init__(
            ErrorCode.GROUP_ID_NOT_FOUND, f"there is no group {group_id!r}: see `kafkatx groups list`"
        )


class GroupInUse(RequestError):
    """The group has members, and the operation needs a group without members."""

    def __init__(self, group_id: str, what: str) -> None:
        super().__init__(
            ErrorCode.NON_EMPTY_GROUP, f"group {group_id!r} has members: stop its consumers, then {what}"
        )


def listings(response: ListGroupsResponse, node_id: int) -> list[GroupListing]:
    """Return the groups that one broker coordinates.

    :raises RequestError: COORDINATOR_LOAD_IN_PROGRESS, CLUSTER_AUTHORIZATION_FAILED, ...
    """
    check(response.error_code, f"groups of broker {node_id}")
    return [
        GroupListing(group.group_id, group.protocol_type, group.group_state, group.group_type or CLASSIC)
        for group in response.groups
    ]


def offsets_request(group_id: str, version: int, stable: bool = False) -> OffsetFetchRequest:
    """Return the request for all offsets of a group.

    :param stable: ask for offsets that no pending transaction may change (KIP-447).

    :raises RequestError: UNSUPPORTED_VERSION, the broker is older than Kafka 0.10.2.
    """
    if version < _ALL_TOPICS:
        raise RequestError(
            ErrorCode.UNSUPPORTED_VERSION,
            "OffsetFetch: the broker cannot list all offsets of a group: that needs Kafka 0.10.2 or later",
        )
    asked = OffsetFetchRequestGroup(group_id, topics=None)
    return OffsetFetchRequest(group_id, topics=None, groups=[asked], require_stable=stable)


def set_offsets_request(
    group_id: str, offsets: Mapping[TopicPartition, OffsetAndMetadata]
) -> OffsetCommitRequest:
    """Return the request that sets offsets of a group without members."""
    return commit_request(ConsumerGroupMetadata(group_id), offsets)


def check_offsets_set(response: OffsetCommitResponse, group_id: str) -> None:
    """Raise the first partition's error, if any.

    :raises GroupInUse: the group has members.
    :raises RequestError: any other error.
    """
    for (topic, number), code in commit_errors(response).items():
        if code in _HAS_MEMBERS:
            raise GroupInUse(group_id, "set its offsets")
        raise RequestError(code, f"offset of group {group_id!r} in {topic} [{number}]: {describe(code)}")


def delete_offsets_request(group_id: str, partitions: Iterable[TopicPartition]) -> OffsetDeleteRequest:
    """Return the request that deletes committed offsets of a group."""
    topics: defaultdict[str, list[OffsetDeleteRequestPartition]] = defaultdict(list)
    for topic, number in partitions:
        topics[topic].append(OffsetDeleteRequestPartition(number))
    return OffsetDeleteRequest(
        group_id, [OffsetDeleteRequestTopic(name, numbers) for name, numbers in topics.items()]
    )


def check_offsets_deleted(response: OffsetDeleteResponse, group_id: str) -> None:
    """Raise the error of the request or of a partition, if any.

    :raises UnknownGroup: there is no such group.
    :raises GroupInUse: the group consumes one of these topics.
    :raises RequestError: any other error.
    """
    _check_group(response.error_code, group_id, "delete its offsets")
    for topic in response.topics:
        for partition in topic.partitions:
            if partition.error_code == ErrorCode.GROUP_SUBSCRIBED_TO_TOPIC:
                raise GroupInUse(group_id, "delete its offsets")
            check(
                partition.error_code,
                f"offset of group {group_id!r} in {topic.name} [{partition.partition_index}]",
            )


def delete_request(group_id: str) -> DeleteGroupsRequest:
    """Return the request that deletes a group with its offsets."""
    return DeleteGroupsRequest([group_id])


def check_deleted(response: DeleteGroupsResponse, group_id: str) -> None:
    """Raise the error of a deletion, if any.

    :raises UnknownGroup: there is no such group.
    :raises GroupInUse: the group has members.
    :raises RequestError: any other error.
    """
    for result in response.results:
        _check_group(result.error_code, group_id, "delete it")


def _check_group(error_code: int, group_id: str, what: str) -> None:
    if error_code == ErrorCode.GROUP_ID_NOT_FOUND:
        raise UnknownGroup(group_id)
    if error_code == ErrorCode.NON_EMPTY_GROUP:
        raise GroupInUse(group_id, what)
    check(error_code, f"group {group_id!r}")
