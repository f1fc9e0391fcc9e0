"""DeleteGroups (key 42), versions 0-2: delete groups without members, with their offsets; 2 is flexible."""

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


class DeleteGroupsRequest(Message, key=42, versions=(0, 2), flexible=2):
    """Delete groups."""

    groups_names: list[str] = field(array(STRING))


class DeletableGroupResult(Struct):
    """The result for one group."""

    group_id: str = field(STRING)
    error_code: int = field(INT16)


class DeleteGroupsResponse(Message, key=42, versions=(0, 2), flexible=2):
    """The results."""

    throttle_time_ms: int = field(INT32)
    results: list[DeletableGroupResult] = field(array(DeletableGroupResult))
