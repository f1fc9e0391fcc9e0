"""Heartbeat (key 12), versions 0-4: extends a member's session; tells it whether to join again.

*   1 adds the throttle time, 3 the instance id (KIP-345); 4 is flexible.
"""

from __future__ import annotations

from kafkatx.wire.schema import (
    INT16,
    INT32,
    STRING,
    Message,
    field,
    nullable,
)


class HeartbeatRequest(Message, key=12, versions=(0, 4), flexible=4):
    """A sign of life of a member in a generation."""

    group_id: str = field(STRING)
    generation_id: int = field(INT32)
    member_id: str = field(STRING)
    group_instance_id: str | None = field(nullable(STRING), since=3)


class HeartbeatResponse(Message, key=12, versions=(0, 4), flexible=4):
    """NONE, REBALANCE_IN_PROGRESS, or the error of the member."""

    throttle_time_ms: int = field(INT32, since=1)
    error_code: int = field(INT16)
