"""InitProducerId (key 22), versions 0-5: an id for an idempotent or transactional producer.

*   2 is flexible; 3 adds the producer's current id and epoch (KIP-360); 4 may return PRODUCER_FENCED,
    5 TRANSACTION_ABORTABLE (KIP-890).
"""

from __future__ import annotations

from kafkatx.wire.schema import INT16, INT32, INT64, STRING, Message, field, nullable


class InitProducerIdRequest(Message, key=22, versions=(0, 5), flexible=2):
    """Request a producer id; without a transactional id it is for idempotence only."""

    transactional_id: str | None = field(nullable(STRING))
    transaction_timeout_ms: int = field(INT32)
    producer_id: int = field(INT64, since=3, default=-1)
    producer_epoch: int = field(INT16, since=3, default=-1)


class InitProducerIdResponse(Message, key=22, versions=(0, 5), flexible=2):
    """The producer id and its epoch."""

    throttle_time_ms: int = field(INT32)
    error_code: int = field(INT16)
    producer_id: int = field(INT64, default=-1)
    producer_epoch: int = field(INT16)
