"""DescribeGroups (key 15), versions 0-6: groups of the classic protocol with their members.

*   1 adds the throttle time, 3 authorized operations, 4 the instance id (KIP-345); 5 is flexible.
*   6 returns GROUP_ID_NOT_FOUND with a message for an unknown group; before it is Dead (KIP-1043).
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


class DescribeGroupsRequest(Message, key=15, versions=(0, 6), flexible=5):
    """Ask for groups by their ids."""

    groups: list[str] = field(array(STRING))
    include_authorized_operations: bool = field(BOOLEAN, since=3)


class DescribedGroupMember(Struct):
    """A member; its subscription and assignment are the protocol's bytes."""

    member_id: str = field(STRING)
    group_instance_id: str | None = field(nullable(STRING), since=4)
    client_id: str = field(STRING)
    client_host: str = field(STRING)
    member_metadata: bytes = field(BYTES)
    member_assignment: bytes = field(BYTES)


class DescribedGroup(Struct):
    """A group; an unknown one has the state ``Dead``."""

    error_code: int = field(INT16)
    error_message: str | None = field(nullable(STRING), since=6)
    group_id: str = field(STRING)
    group_state: str = field(STRING)
    protocol_type: str = field(STRING)
    protocol_data: str = field(STRING)
    members: list[DescribedGroupMember] = field(array(DescribedGroupMember))
    authorized_operations: int = field(INT32, since=3, default=-2147483648)


class DescribeGroupsResponse(Message, key=15, versions=(0, 6), flexible=5):
    """The groups."""

    throttle_time_ms: int = field(INT32, since=1)
    groups: list[DescribedGroup] = field(array(DescribedGroup))
