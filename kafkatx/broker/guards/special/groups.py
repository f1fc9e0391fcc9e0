"""The checks of APIs about groups. No I/O."""

from __future__ import annotations

from kafkatx.acls import AclOperation, ResourceType
from kafkatx.broker.authorization.demands import DEMANDS
from kafkatx.broker.guards.calls import Call, Completion
from kafkatx.broker.guards.entries import take_out
from kafkatx.broker.guards.operations import show_of_group
from kafkatx.errors import ErrorCode
from kafkatx.wire.messages.consumer_group_describe import (
    ConsumerGroupDescribeRequest,
    ConsumerGroupDescribeResponse,
    DescribedGroup,
)
from kafkatx.wire.messages.consumer_group_heartbeat import ConsumerGroupHeartbeatRequest
from kafkatx.wire.messages.describe_groups import DescribeGroupsRequest, DescribeGroupsResponse
from kafkatx.wire.messages.find_coordinator import FindCoordinatorRequest
from kafkatx.wire.messages.list_groups import ListGroupsRequest, ListGroupsResponse
from kafkatx.wire.messages.offset_delete import (
    OffsetDeleteRequest,
    OffsetDeleteResponse,
    OffsetDeleteResponsePartition,
    OffsetDeleteResponseTopic,
)

_MANY_KEYS_SINCE = 4
_DESCRIBE = AclOperation.DESCRIBE
_COORDINATORS = dict(enumerate(DEMANDS[FindCoordinatorRequest.API_KEY].demands))
"""The demand by the type of the key: 0 a group, 1 a transactional id."""
_DELETE_OFFSETS = DEMANDS[OffsetDeleteRequest.API_KEY].demands[1]
_SUBSCRIBE = DEMANDS[ConsumerGroupHeartbeatRequest.API_KEY].demands[1]


def find_coordinator(call: Call, request: FindCoordinatorRequest) -> Completion | None:
    """Take the keys out that the client may not describe; a type that is unknown is refused later."""
    demand = _COORDINATORS.get(request.key_type)
    if demand is None:
        return None
    if call.context.version < _MANY_KEYS_SINCE:
        call.require(demand, request.key)
        return None
    refused = [key for key in request.coordinator_keys if not call.meets(demand, key)]
    return take_out(call, request, demand, "coordinator_keys", refused, "coordinators") if refused else None


def operations(call: Call, request: DescribeGroupsRequest) -> Completion | None:
    """Show the client's rights on groups."""
    if not request.include_authorized_operations:
        return None

    def complete(response: DescribeGroupsResponse) -> None:
        for group in response.groups:
            show_of_group(call, group)

    return complete


def list_groups(call: Call, request: ListGroupsRequest) -> Completion | None:
    """Leave out the groups that a client may not describe, unless it may describe the cluster."""
    if call.sees(_DESCRIBE, ResourceType.CLUSTER):
        return None

    def complete(response: ListGroupsResponse) -> None:
        response.groups = [
            group for group in response.groups if call.sees(_DESCRIBE, ResourceType.GROUP, group.group_id)
        ]

    return complete


def heartbeat(call: Call, request: ConsumerGroupHeartbeatRequest) -> None:
    """Refuse a member that subscribes to a topic which it may not describe."""
    for name in request.subscribed_topic_names or ():
        call.require(_SUBSCRIBE, name)


def consumer_describe(call: Call, request: ConsumerGroupDescribeRequest) -> Completion:
    """Refuse a group whose members have topics that the client may not describe."""

    def complete(response: ConsumerGroupDescribeResponse) -> None:
        for group in response.groups:
            if not group.error_code and not _sees_topics(call, group):
                group.error_code = ErrorCode.TOPIC_AUTHORIZATION_FAILED
                group.error_message = (
                    "The group has described topic(s) that the client is not authorized to describe."
                )
                group.members = []
            show_of_group(call, group)

    return complete


def _sees_topics(call: Call, group: DescribedGroup) -> bool:
    names = {
        one.topic_name
        for member in group.members
        for assignment in (member.assignment, member.target_assignment)
        for one in assignment.topic_partitions
    }
    return all(call.sees(_DESCRIBE, ResourceType.TOPIC, name) for name in names)


def offset_delete(call: Call, request: OffsetDeleteRequest) -> Completion | None:
    """Take the topics out that the client may not read."""
    refused = [topic for topic in request.topics if not call.meets(_DELETE_OFFSETS, topic.name)]
    if not refused:
        return None
    names = {topic.name for topic in refused}
    request.topics = [topic for topic in request.topics if topic.name not in names]

    def complete(response: OffsetDeleteResponse) -> None:
        if not response.error_code:
            code = _DELETE_OFFSETS.code
            response.topics += [
                OffsetDeleteResponseTopic(
                    topic.name,
                    [OffsetDeleteResponsePartition(one.partition_index, code) for one in topic.partitions],
                )
                for topic in refused
            ]

    return complete
