"""FindCoordinator (key 10), versions 0-6: the coordinator of a group.

*   0 is the ConsumerMetadata request of Kafka 0.8; 1 adds transactions and error messages.
*   3 is flexible; 4 has several keys in one request (KIP-699).
*   5 may return TRANSACTION_ABORTABLE (KIP-890); 6 has share groups as key type 2 (KIP-932).
"""

from __future__ import annotations

from kafkatx.wire.schema import (
    INT8,
    INT16,
    INT32,
    STRING,
    Message,
    Struct,
    array,
    field,
    nullable,
)


class FindCoordinatorRequest(Message, key=10, versions=(0, 6), flexible=3):
    """Request the coordinator of a group (key type 0) or a transactional id (1)."""

    key: str = field(STRING, until=3)
    key_type: int = field(INT8, since=1)
    coordinator_keys: list[str] = field(array(STRING), since=4)


class Coordinator(Struct):
    """One key's coordinator, or its error."""

    key: str = field(STRING)
    node_id: int = field(INT32)
    host: str = field(STRING)
    port: int = field(INT32)
    error_code: int = field(INT16)
    error_message: str | None = field(nullable(STRING))


class FindCoordinatorResponse(Message, key=10, versions=(0, 6), flexible=3):
    """The coordinator, or from version 4 on one for each key."""

    throttle_time_ms: int = field(INT32, since=1)
    error_code: int = field(INT16, until=3)
    error_message: str | None = field(nullable(STRING), since=1, until=3)
    node_id: int = field(INT32, until=3)
    host: str = field(STRING, until=3)
    port: int = field(INT32, until=3)
    coordinators: list[Coordinator] = field(array(Coordinator), since=4)
