"""JoinGroup (key 11), versions 0-9: join a group, or join again during a rebalance.

*   1 adds the rebalance time-out, separate from the session time-out; 2 adds the throttle time.
*   From 4 on a member without an id gets one, and must join again with it (KIP-394).
*   5 adds the instance id of static members (KIP-345); 6 is flexible; 7 returns the protocol type (KIP-559).
*   8 adds a reason (KIP-800), 9 lets the leader skip the assignment (KIP-814).
"""

from __future__ import annotations

from kafkatx.wire.schema import (
    BOOLEAN,
    BYTES,
    INT16,
    INT32,
    STRING,
    Message,
    Struct,
    array,
    field,
    nullable,
)


class JoinGroupRequestProtocol(Struct):
    """A protocol that the member offers, with its metadata in that protocol."""

    name: str = field(STRING)
    metadata: bytes = field(BYTES)


class JoinGroupRequest(Message, key=11, versions=(0, 9), flexible=6):
    """Join a group. A new member has an empty member id."""

    group_id: str = field(STRING)
    session_timeout_ms: int = field(INT32)
    rebalance_timeout_ms: int = field(INT32, since=1, default=-1)
    member_id: str = field(STRING)
    group_instance_id: str | None = field(nullable(STRING), since=5)
    protocol_type: str = field(STRING)
    protocols: list[JoinGroupRequestProtocol] = field(array(JoinGroupRequestProtocol))
    reason: str | None = field(nullable(STRING), since=8)


class JoinGroupResponseMember(Struct):
    """A member with the metadata that the leader needs."""

    member_id: str = field(STRING)
    group_instance_id: str | None = field(nullable(STRING), since=5)
    metadata: bytes = field(BYTES)


class JoinGroupResponse(Message, key=11, versions=(0, 9), flexible=6):
    """The generation and its protocol; only the leader gets the members."""

    throttle_time_ms: int = field(INT32, since=2)
    error_code: int = field(INT16)
    generation_id: int = field(INT32, default=-1)
    protocol_type: str | None = field(nullable(STRING), since=7)
    protocol_name: str | None = field(nullable(STRING), nullable_since=7, default="")
    leader: str = field(STRING)
    skip_assignment: bool = field(BOOLEAN, since=9)
    member_id: str = field(STRING)
    members: list[JoinGroupResponseMember] = field(array(JoinGroupResponseMember))
