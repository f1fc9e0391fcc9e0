"""LeaveGroup (key 13), versions 0-5: members leave.

*   0-2: one member, by its id. 3: several members, static ones also by their instance ids (KIP-345).
*   4 is flexible; 5 adds reasons (KIP-800).
"""

from __future__ import annotations

from kafkatx.wire.schema import (
    INT16,
    INT32,
    STRING,
    Message,
    Struct,
    array,
    field,
    nullable,
)


class MemberIdentity(Struct):
    """A member that leaves."""

    member_id: str = field(STRING)
    group_instance_id: str | None = field(nullable(STRING))
    reason: str | None = field(nullable(STRING), since=5)


class LeaveGroupRequest(Message, key=13, versions=(0, 5), flexible=4):
    """Take members out of a group."""

    group_id: str = field(STRING)
    member_id: str = field(STRING, until=2)
    members: list[MemberIdentity] = field(array(MemberIdentity), since=3)


class MemberResponse(Struct):
    """The result for one member."""

    member_id: str = field(STRING)
    group_instance_id: str | None = field(nullable(STRING))
    error_code: int = field(INT16)


class LeaveGroupResponse(Message, key=13, versions=(0, 5), flexible=4):
    """The results."""

    throttle_time_ms: int = field(INT32, since=1)
    error_code: int = field(INT16)
    members: list[MemberResponse] = field(array(MemberResponse), since=3)
