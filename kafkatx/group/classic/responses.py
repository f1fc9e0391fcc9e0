"""Successful responses to JoinGroup and SyncGroup, made from a group's current generation. Pure."""

from __future__ import annotations

from kafkatx.group.classic.member import Member
from kafkatx.group.classic.membership import Membership
from kafkatx.wire.messages.join_group import JoinGroupResponse, JoinGroupResponseMember
from kafkatx.wire.messages.sync_group import SyncGroupResponse


def join_response(
    membership: Membership,
    member: Member,
    members: list[JoinGroupResponseMember],
    leader: str | None = None,
    skip: bool = False,
) -> JoinGroupResponse:
    """Return the response that tells a member its generation.

    :param members: the members that the leader assigns partitions to; empty for the other members.
    :param leader: the leader's id in the response, if not the current leader's.
    :param skip: the leader must not assign (KIP-814).
    """
    return JoinGroupResponse(
        generation_id=membership.generation,
        protocol_type=membership.protocol_type,
        protocol_name=membership.protocol_name,
        leader=leader or membership.roster.leader or "",
        skip_assignment=skip,
        member_id=member.member_id,
        members=members,
    )


def members_for_leader(membership: Membership) -> list[JoinGroupResponseMember]:
    """Return all members with their metadata, for the leader's response."""
    name = membership.protocol_name
    return [
        JoinGroupResponseMember(m.member_id, m.group_instance_id, m.metadata(name))
        for m in membership.members.values()
    ]


def sync_response(membership: Membership, member: Member) -> SyncGroupResponse:
    """Return the response with a member's assignment."""
    return SyncGroupResponse(
        protocol_type=membership.protocol_type,
        protocol_name=membership.protocol_name,
        assignment=member.assignment,
    )
