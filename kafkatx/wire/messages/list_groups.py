"""ListGroups (key 16), versions 0-5: the groups that a broker coordinates.

*   1 adds the throttle time; 3 is flexible; 4 adds states (KIP-518), 5 types: classic, consumer (KIP-848).
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
)


class ListGroupsRequest(Message, key=16, versions=(0, 5), flexible=3):
    """Request all groups, or those in some states or of some types."""

    states_filter: list[str] = field(array(STRING), since=4)
    types_filter: list[str] = field(array(STRING), since=5)


class ListedGroup(Struct):
    """A group."""

    group_id: str = field(STRING)
    protocol_type: str = field(STRING)
    group_state: str = field(STRING, since=4)
    group_type: str = field(STRING, since=5)


class ListGroupsResponse(Message, key=16, versions=(0, 5), flexible=3):
    """The groups."""

    throttle_time_ms: int = field(INT32, since=1)
    error_code: int = field(INT16)
    groups: list[ListedGroup] = field(array(ListedGroup))
