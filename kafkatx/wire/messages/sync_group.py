"""SyncGroup (key 14), versions 0-5: the leader sends the assignments, each member gets its own.

*   1 adds the throttle time, 3 the instance id (KIP-345); 4 is flexible; 5 adds the protocol (KIP-559).
"""

from __future__ import annotations

from kafkatx.wire.schema import (
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


class SyncGroupRequestAssignment(Struct):
    """One member's assignment, in the protocol's format."""

    member_id: str = field(STRING)
    assignment: bytes = field(BYTES)


class SyncGroupRequest(Message, key=14, versions=(0, 5), flexible=4):
    """Request the assignment; the leader sends the assignments of all."""

    group_id: str = field(STRING)
    generation_id: int = field(INT32)
    member_id: str = field(STRING)
    group_instance_id: str | None = field(nullable(STRING), since=3)
    protocol_type: str | None = field(nullable(STRING), since=5)
    protocol_name: str | None = field(nullable(STRING), since=5)
    assignments: list[SyncGroupRequestAssignment] = field(array(SyncGroupRequestAssignment))


class SyncGroupResponse(Message, key=14, versions=(0, 5), flexible=4):
    """The member's assignment."""

    throttle_time_ms: int = field(INT32, since=1)
    error_code: int = field(INT16)
    protocol_type: str | None = field(nullable(STRING), since=5)
    protocol_name: str | None = field(nullable(STRING), since=5)
    assignment: bytes = field(BYTES)
