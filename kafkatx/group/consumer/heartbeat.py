"""ConsumerGroupHeartbeat, with which a member of the consumer protocol joins, stays and leaves. Pure.

Checks and error messages are those of Apache Kafka: ``throwIfConsumerGroupHeartbeatRequestIsInvalid`` and its
callers in ``GroupMetadataManager``.
"""

from __future__ import annotations

from functools import partial

import attrs

from kafkatx.errors import ErrorCode, RequestError
from kafkatx.group.actions import Client
from kafkatx.group.consumer.assignment.partitions import Assignment, from_list, is_within, to_list
from kafkatx.group.consumer.deadlines import Wait
from kafkatx.group.consumer.member import (
    JOINING_EPOCH,
    LEAVING_EPOCH,
    LEAVING_FOR_A_WHILE_EPOCH,
    Current,
    Metadata,
)
from kafkatx.group.consumer.rebalance import Rebalance
from kafkatx.group.consumer.records import Kind, check_lengths
from kafkatx.group.settings import GroupSettings
from kafkatx.wire.messages.consumer_group_heartbeat import (
    Assignment as Assigned,
)
from kafkatx.wire.messages.consumer_group_heartbeat import (
    ConsumerGroupHeartbeatRequest,
    ConsumerGroupHeartbeatResponse,
    TopicPartitions,
)

OWN_MEMBER_ID_SINCE = 1
"""The first version in which members generate their own ids."""


def check_request(request: ConsumerGroupHeartbeatRequest, version: int, settings: GroupSettings) -> None:
    """Check the fields of a request, without regard to the group.

    :raises RequestError: INVALID_REQUEST, UNSUPPORTED_ASSIGNOR.
    """
    epoch = request.member_epoch
    if version >= OWN_MEMBER_ID_SINCE or epoch > 0 or epoch == LEAVING_EPOCH:
        _not_blank(request.member_id, "MemberId can't be empty.")
    _not_blank(request.group_id, "GroupId can't be empty.")
    _not_blank(request.instance_id, "InstanceId can't be empty.")
    _not_blank(request.rack_id, "RackId can't be empty.")
    check_lengths(request.group_id, request.member_id, request.instance_id)
    if epoch == JOINING_EPOCH:
        _check_joining(request)
    elif epoch == LEAVING_FOR_A_WHILE_EPOCH and request.instance_id is None:
        raise _invalid("InstanceId can't be null.")
    elif epoch < LEAVING_FOR_A_WHILE_EPOCH:
        raise _invalid("MemberEpoch is invalid.")
    assignor, offered = request.server_assignor, settings.consumer_assignors
    if assignor is not None and assignor not in offered:
        raise RequestError(
            ErrorCode.UNSUPPORTED_ASSIGNOR,
            f"ServerAssignor {assignor[:200]} is not supported. Supported assignors: {', '.join(offered)}.",
        )


def _check_joining(request: ConsumerGroupHeartbeatRequest) -> None:
    if request.rebalance_timeout_ms == -1:
        raise _invalid("RebalanceTimeoutMs must be provided in first request.")
    if request.topic_partitions is None or request.topic_partitions:
        raise _invalid("TopicPartitions must be empty when (re-)joining.")
    if request.subscribed_topic_names is None and request.subscribed_topic_regex is None:
        raise _invalid(
            "Either SubscribedTopicNames or SubscribedTopicRegex must be non-null when (re-)joining."
        )


def _not_blank(value: str | None, message: str) -> None:
    if value is not None and not value.strip():
        raise _invalid(message)


def _invalid(message: str) -> RequestError:
    return RequestError(ErrorCode.INVALID_REQUEST, message)


def is_leaving(request: ConsumerGroupHeartbeatRequest) -> bool:
    """Return True if the member leaves, for good or for a while."""
    return request.member_epoch in (LEAVING_EPOCH, LEAVING_FOR_A_WHILE_EPOCH)


def join_or_stay(
    rebalance: Rebalance,
    request: ConsumerGroupHeartbeatRequest,
    member_id: str,
    client: Client,
    now_ms: int,
) -> ConsumerGroupHeartbeatResponse:
    """Serve a member that joins or stays; return the response, to be sent after the changes are stored.

    :param member_id: the member id of the request, or a new one if it has none.
    :raises RequestError: the member is refused.
    """
    state, settings = rebalance.state, rebalance.settings
    owned = None if request.topic_partitions is None else from_list(request.topic_partitions)
    rebalance.check_room(member_id)
    _check_member(rebalance, request, member_id, owned)
    before = state.current_of(member_id)
    wanted = _updated_metadata(state.members.get(member_id), request, client)
    after = rebalance.update_member(member_id, wanted, owned, now_ms, client)
    rebalance.later.append(
        partial(
            rebalance.deadlines.set, Wait.SESSION, member_id, now_ms + settings.consumer_session_timeout_ms
        )
    )
    response = ConsumerGroupHeartbeatResponse(
        0, ErrorCode.NONE, None, member_id, after.epoch, settings.consumer_heartbeat_interval_ms
    )
    if _wants_assignment(request) or after.assigned != before.assigned:
        response.assignment = Assigned(to_list(after.assigned, TopicPartitions))
    return response


def _wants_assignment(request: ConsumerGroupHeartbeatRequest) -> bool:
    """Return True if the member joins, or sends a full request, as it does after an error."""
    if request.member_epoch == JOINING_EPOCH:
        return True
    subscribes = request.subscribed_topic_names is not None or request.subscribed_topic_regex is not None
    return request.rebalance_timeout_ms != -1 and subscribes and request.topic_partitions is not None


def _check_member(
    rebalance: Rebalance, request: ConsumerGroupHeartbeatRequest, member_id: str, owned: Assignment | None
) -> None:
    """Check that the member may stay or join; put a static member back in its place.

    :raises RequestError: UNKNOWN_MEMBER_ID, FENCED_MEMBER_EPOCH, FENCED_INSTANCE_ID, UNRELEASED_INSTANCE_ID.
    """
    state, epoch, instance_id = rebalance.state, request.member_epoch, request.instance_id
    if epoch == JOINING_EPOCH and instance_id is not None:
        former = state.static.get(instance_id)
        if former is not None:
            _check_released(rebalance, former, member_id, instance_id)
            rebalance.replace_static(former, member_id)
        return
    if instance_id is not None:
        rebalance.static_member(instance_id, member_id)
    elif epoch != JOINING_EPOCH:
        rebalance.member(member_id)
    if member_id in state.members:
        _check_epoch(state.current_of(member_id), epoch, owned)


def _check_released(rebalance: Rebalance, former: str, member_id: str, instance_id: str) -> None:
    """Check that a static member may be replaced: it has left for a while, or is a classic member."""
    state = rebalance.state
    is_away = state.current_of(former).epoch == LEAVING_FOR_A_WHILE_EPOCH
    if not is_away and state.members[former].classic is None:
        raise RequestError(
            ErrorCode.UNRELEASED_INSTANCE_ID,
            f"Static member {member_id} with instance id {instance_id} cannot join the group because the "
            f"instance id is owned by {former} member.",
        )


def _check_epoch(current: Current, epoch: int, owned: Assignment | None) -> None:
    """Check that the member has its current epoch, or the previous one with no more than its partitions."""
    if epoch == current.epoch:
        return
    may_be_previous = epoch < current.epoch and epoch == current.previous_epoch
    if may_be_previous and owned is not None and is_within(owned, current.assigned):
        return
    what = "greater" if epoch > current.epoch else "smaller"
    raise RequestError(
        ErrorCode.FENCED_MEMBER_EPOCH,
        f"The consumer group member has a {what} member epoch ({epoch}) than the one known by the group "
        f"coordinator ({current.epoch}). The member must abandon all its partitions and rejoin.",
    )


def _updated_metadata(
    before: Metadata | None, request: ConsumerGroupHeartbeatRequest, client: Client
) -> Metadata:
    """Return the member's new metadata; fields that the request omits do not change."""
    known = before or Metadata()
    names = request.subscribed_topic_names
    wanted = Metadata(
        known.instance_id if request.instance_id is None else request.instance_id,
        known.rack_id if request.rack_id is None else request.rack_id,
        client.client_id,
        client.host,
        known.rebalance_timeout_ms if request.rebalance_timeout_ms == -1 else request.rebalance_timeout_ms,
        known.topic_names if names is None else frozenset(names),
        known.topic_regex if request.subscribed_topic_regex is None else request.subscribed_topic_regex,
        known.server_assignor if request.server_assignor is None else request.server_assignor,
    )
    return known if wanted == known and before is not None else wanted


def leave_for_a_while(
    rebalance: Rebalance, request: ConsumerGroupHeartbeatRequest
) -> ConsumerGroupHeartbeatResponse:
    """Mark a static member as gone for a while; the partitions that it was to revoke are free.

    :raises RequestError: as :func:`leaving_member`.
    """
    member_id = leaving_member(rebalance, request)
    current = attrs.evolve(
        rebalance.state.current_of(member_id), epoch=LEAVING_FOR_A_WHILE_EPOCH, revoking={}
    )
    rebalance.state.put(Kind.CURRENT, member_id, current)
    rebalance.later.append(partial(rebalance.deadlines.cancel, Wait.REVOCATION, member_id))
    return left(request)


def leaving_member(rebalance: Rebalance, request: ConsumerGroupHeartbeatRequest) -> str:
    """Return the id of the leaving member.

    :raises RequestError: UNKNOWN_MEMBER_ID, FENCED_INSTANCE_ID.
    """
    if request.instance_id is None:
        rebalance.member(request.member_id)
    else:
        rebalance.static_member(request.instance_id, request.member_id)
    return request.member_id


def left(request: ConsumerGroupHeartbeatRequest) -> ConsumerGroupHeartbeatResponse:
    """Return the response to a member that has left."""
    return ConsumerGroupHeartbeatResponse(0, ErrorCode.NONE, None, request.member_id, request.member_epoch)


def refused(code: ErrorCode, message: str) -> ConsumerGroupHeartbeatResponse:
    """Return the response with an error."""
    return ConsumerGroupHeartbeatResponse(0, code, message)
