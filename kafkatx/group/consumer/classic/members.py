"""Members of the classic protocol in a consumer group that is being migrated. Pure.

They keep their requests: JoinGroup is a step towards the target, SyncGroup returns the member's assignment,
and Heartbeat returns REBALANCE_IN_PROGRESS when another step is due. No member waits and there is no leader:
the broker assigns. In Apache Kafka: ``GroupMetadataManager.classicGroupJoinToConsumerGroup`` and similar
methods.
"""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from functools import partial

import attrs

from kafkatx.errors import ErrorCode, ProtocolViolation, RequestError
from kafkatx.group.actions import Client
from kafkatx.group.consumer.assignment.partitions import Assignment, without
from kafkatx.group.consumer.deadlines import Wait
from kafkatx.group.consumer.member import Classic, Current, MemberState, Metadata
from kafkatx.group.consumer.rebalance import Rebalance
from kafkatx.group.consumer.records import check_lengths
from kafkatx.group.protocol import (
    PROTOCOL_TYPE,
    ConsumerProtocolSubscription,
    TopicPartitions,
    encode_assignment,
    parse_subscription,
    version_of,
)
from kafkatx.types import ClusterState
from kafkatx.wire.messages.heartbeat import HeartbeatRequest
from kafkatx.wire.messages.join_group import JoinGroupRequest, JoinGroupResponse
from kafkatx.wire.messages.leave_group import LeaveGroupRequest, MemberIdentity, MemberResponse
from kafkatx.wire.messages.sync_group import SyncGroupRequest, SyncGroupResponse

MEMBER_ID_REQUIRED_SINCE = 4
"""The first version of JoinGroup in which a new member gets an id, and joins with it (KIP-394)."""

PROTOCOL_NAMED_SINCE = 5
"""The first version of SyncGroup that must have the protocol's type and name (KIP-559)."""

MANY_LEAVE_SINCE = 3
"""The first version of LeaveGroup in which several members leave, each with its own error (KIP-345)."""


def needs_id(request: JoinGroupRequest, version: int) -> bool:
    """Return True if the member must join again with the id that it is given."""
    return version >= MEMBER_ID_REQUIRED_SINCE and not request.member_id and request.group_instance_id is None


def join(
    rebalance: Rebalance, request: JoinGroupRequest, member_id: str, client: Client, now_ms: int
) -> JoinGroupResponse:
    """Admit a member or take a step for it; return the response, to be sent after the changes are stored.

    :param member_id: the member id of the request, or a new one.
    :raises RequestError: the member is refused.
    """
    subscription = _subscription(request)
    _check_member(rebalance, request, member_id)
    known = rebalance.state.members.get(member_id, Metadata())
    wanted = attrs.evolve(
        known,
        instance_id=request.group_instance_id or known.instance_id,
        rack_id=subscription.rack_id or known.rack_id,
        rebalance_timeout_ms=rebalance_timeout_of(request),
        topic_names=frozenset(subscription.topics),
        client_id=client.client_id,
        client_host=client.host,
        classic=Classic(request.session_timeout_ms, protocols_of(request)),
    )
    owned = from_names(subscription.owned_partitions, rebalance.cluster())
    current = rebalance.update_member(member_id, wanted, owned, now_ms)
    rebalance.later.append(partial(_joined, rebalance, member_id, request, now_ms))
    return JoinGroupResponse(
        generation_id=current.epoch,
        protocol_type=PROTOCOL_TYPE,
        protocol_name=request.protocols[0].name,
        member_id=member_id,
    )


def check_request(rebalance: Rebalance, request: JoinGroupRequest) -> None:
    """Check that the member offers a protocol that all classic members have.

    :raises RequestError: INCONSISTENT_GROUP_PROTOCOL; INVALID_REQUEST: an id does not fit into a record.
    """
    check_lengths(request.group_id, request.member_id, request.group_instance_id)
    offered = {protocol.name for protocol in request.protocols}
    for member in rebalance.state.members.values():
        if member.classic is not None:
            offered &= {name for name, _ in member.classic.protocols}
    if request.protocol_type != PROTOCOL_TYPE or not offered:
        raise RequestError(
            ErrorCode.INCONSISTENT_GROUP_PROTOCOL,
            f"Member {request.member_id}'s protocols are not supported.",
        )


def _subscription(request: JoinGroupRequest) -> ConsumerProtocolSubscription:
    try:
        return parse_subscription(request.protocols[0].metadata)
    except ProtocolViolation as violation:
        raise RequestError(ErrorCode.INCONSISTENT_GROUP_PROTOCOL, str(violation)) from None


def _check_member(rebalance: Rebalance, request: JoinGroupRequest, member_id: str) -> None:
    """Put a static member back in its place; it may have used the other protocol before.

    :raises RequestError: UNKNOWN_MEMBER_ID; FENCED_INSTANCE_ID: the instance has another member id now.
    """
    instance_id = request.group_instance_id
    if instance_id is None:
        return
    if request.member_id:
        rebalance.static_member(instance_id, member_id)
        return
    former = rebalance.state.static.get(instance_id)
    if former is not None:
        rebalance.replace_static(former, member_id)


def rebalance_timeout_of(request: JoinGroupRequest) -> int:
    """Return the rebalance time-out; the session time-out for JoinGroup v0, which has none."""
    return request.rebalance_timeout_ms if request.rebalance_timeout_ms > 0 else request.session_timeout_ms


def protocols_of(request: JoinGroupRequest) -> tuple[tuple[str, bytes], ...]:
    """Return (name, metadata) of each protocol that the member offers."""
    return tuple((protocol.name, bytes(protocol.metadata)) for protocol in request.protocols)


def from_names(listed: Sequence[TopicPartitions], cluster: ClusterState) -> Assignment:
    """Return the assignment of partitions listed by topic name; unknown topics are omitted."""
    found: dict[uuid.UUID, frozenset[int]] = {}
    for entry in listed:
        topic = cluster.topics.get(entry.topic)
        if topic is not None and entry.partitions:
            found[topic.topic_id] = found.get(topic.topic_id, frozenset()) | frozenset(entry.partitions)
    return found


def _joined(rebalance: Rebalance, member_id: str, request: JoinGroupRequest, now_ms: int) -> None:
    deadlines = rebalance.deadlines
    deadlines.cancel(Wait.JOIN, member_id)
    deadlines.set(Wait.SESSION, member_id, now_ms + request.session_timeout_ms)
    deadlines.set(Wait.SYNC, member_id, now_ms + rebalance_timeout_of(request))


def sync(rebalance: Rebalance, request: SyncGroupRequest, version: int, now_ms: int) -> SyncGroupResponse:
    """Return a member's assignment.

    :raises RequestError: UNKNOWN_MEMBER_ID, FENCED_INSTANCE_ID, ILLEGAL_GENERATION,
        INCONSISTENT_GROUP_PROTOCOL; REBALANCE_IN_PROGRESS: it must join again.
    """
    member_id = request.member_id
    member, classic, current = _find(rebalance, member_id, request.group_instance_id, request.generation_id)
    name, metadata = classic.protocols[0]
    unnamed = (None,) if version < PROTOCOL_NAMED_SINCE else ()
    if request.protocol_type not in (PROTOCOL_TYPE, *unnamed) or request.protocol_name not in (
        name,
        *unnamed,
    ):
        raise RequestError(ErrorCode.INCONSISTENT_GROUP_PROTOCOL)
    revokes = current.state is MemberState.UNREVOKED_PARTITIONS
    if rebalance.state.epoch > current.epoch and not revokes:
        rebalance.deadlines.set_once(Wait.JOIN, member_id, now_ms + member.rebalance_timeout_ms)
        raise RequestError(ErrorCode.REBALANCE_IN_PROGRESS)
    rebalance.deadlines.cancel(Wait.SYNC, member_id)
    rebalance.deadlines.set(Wait.SESSION, member_id, now_ms + classic.session_timeout_ms)
    return SyncGroupResponse(
        protocol_type=request.protocol_type,
        protocol_name=request.protocol_name,
        assignment=as_bytes(current.assigned, rebalance.cluster(), version_of(metadata)),
    )


def as_bytes(assignment: Assignment, cluster: ClusterState, version: int) -> bytes:
    """Encode an assignment for a classic consumer; deleted topics are omitted."""
    names = cluster.topic_names
    return encode_assignment(
        ((names[topic], numbers) for topic, numbers in assignment.items() if topic in names), version
    )


def _find(
    rebalance: Rebalance, member_id: str, instance_id: str | None, generation: int
) -> tuple[Metadata, Classic, Current]:
    """Return a classic member of this generation.

    :raises RequestError: UNKNOWN_MEMBER_ID, FENCED_INSTANCE_ID, ILLEGAL_GENERATION.
    """
    if instance_id is None:
        member = rebalance.member(member_id)
    else:
        member = rebalance.static_member(instance_id, member_id)
    if member.classic is None:
        raise RequestError(
            ErrorCode.UNKNOWN_MEMBER_ID, f"Member {member_id} does not use the classic protocol."
        )
    current = rebalance.state.current_of(member_id)
    if generation != current.epoch:
        raise RequestError(ErrorCode.ILLEGAL_GENERATION)
    return member, member.classic, current


def heartbeat(rebalance: Rebalance, request: HeartbeatRequest, now_ms: int) -> ErrorCode:
    """Serve a Heartbeat; return NONE, or REBALANCE_IN_PROGRESS if the member must join again.

    :raises RequestError: UNKNOWN_MEMBER_ID, FENCED_INSTANCE_ID, ILLEGAL_GENERATION.
    """
    member_id = request.member_id
    member, classic, current = _find(rebalance, member_id, request.group_instance_id, request.generation_id)
    rebalance.deadlines.set(Wait.SESSION, member_id, now_ms + classic.session_timeout_ms)
    rebalance.update_topics()
    if not _must_join(rebalance, member_id, current):
        return ErrorCode.NONE
    rebalance.deadlines.set_once(Wait.JOIN, member_id, now_ms + member.rebalance_timeout_ms)
    return ErrorCode.REBALANCE_IN_PROGRESS


def _must_join(rebalance: Rebalance, member_id: str, current: Current) -> bool:
    """Return True if there is a new target, partitions to revoke, or all missing partitions are free.

    One free partition is not enough: joining again is expensive in the classic protocol.
    """
    state = rebalance.state
    if current.epoch < state.epoch or current.state is MemberState.UNREVOKED_PARTITIONS:
        return True
    if current.state is not MemberState.UNRELEASED_PARTITIONS:
        return False
    missing = without(state.target_of(member_id), current.assigned)
    return all(state.is_free(topic, number) for topic, numbers in missing.items() for number in numbers)


def leaving_members(
    rebalance: Rebalance, request: LeaveGroupRequest, version: int
) -> list[tuple[MemberResponse, tuple[str, str]]]:
    """Return the members in a LeaveGroup: for each its result, and (its member id, the reason)."""
    many = request.members if version >= MANY_LEAVE_SINCE else [MemberIdentity(request.member_id)]
    found = []
    for who in many:
        error = _may_leave(rebalance, who)
        member_id = who.member_id or rebalance.state.static.get(who.group_instance_id or "", "")
        why = f"it has left: {who.reason or 'no reason given'}"
        found.append((MemberResponse(who.member_id, who.group_instance_id, error), (member_id, why)))
    return found


def _may_leave(rebalance: Rebalance, who: MemberIdentity) -> ErrorCode:
    """Return a leaving member's error; an administrator may name a static one by its instance id."""
    try:
        if who.group_instance_id is None:
            rebalance.member(who.member_id)
        else:
            owner = rebalance.state.static.get(who.group_instance_id, "")
            rebalance.static_member(who.group_instance_id, who.member_id or owner)
    except RequestError as error:
        return error.code
    return ErrorCode.NONE
