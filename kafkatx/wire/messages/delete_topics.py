"""DeleteTopics (key 20), versions 0-6.

*   1 adds the throttle time, 5 error messages; 4 is flexible.
*   6 has topics by name or by id (``topics`` in place of ``topic_names``).
"""

from __future__ import annotations

import uuid

from kafkatx.wire.schema import (
    INT16,
    INT32,
    NULL_UUID,
    STRING,
    UUID,
    Message,
    Struct,
    array,
    field,
    nullable,
)


class DeleteTopicState(Struct):
    """A topic to delete, by name, or by id if the name is None."""

    name: str | None = field(nullable(STRING))
    topic_id: uuid.UUID = field(UUID, default=NULL_UUID)


class DeleteTopicsRequest(Message, key=20, versions=(0, 6), flexible=4):
    """Delete topics."""

    topics: list[DeleteTopicState] = field(array(DeleteTopicState), since=6)
    topic_names: list[str] = field(array(STRING), until=5)
    timeout_ms: int = field(INT32)


class DeletableTopicResult(Struct):
    """The result for one topic."""

    name: str | None = field(nullable(STRING), nullable_since=6)
    topic_id: uuid.UUID = field(UUID, since=6, default=NULL_UUID)
    error_code: int = field(INT16)
    error_message: str | None = field(nullable(STRING), since=5)


class DeleteTopicsResponse(Message, key=20, versions=(0, 6), flexible=4):
    """The results."""

    throttle_time_ms: int = field(INT32, since=1)
    responses: list[DeletableTopicResult] = field(array(DeletableTopicResult))
