"""AddOffsetsToTxn (key 25), versions 0-4: add the committed offsets of a group to a transaction.

2 may return PRODUCER_FENCED; 3 is flexible; 4 may return TRANSACTION_ABORTABLE (KIP-890).
"""

from __future__ import annotations

from kafkatx.wire.schema import INT16, INT32, INT64, STRING, Message, field


class AddOffsetsToTxnRequest(Message, key=25, versions=(0, 4), flexible=3):
    """Add the partition of ``__consumer_offsets`` that has the group's offsets."""

    transactional_id: str = field(STRING)
    producer_id: int = field(INT64)
    producer_epoch: int = field(INT16)
    group_id: str = field(STRING)


class AddOffsetsToTxnResponse(Message, key=25, versions=(0, 4), flexible=3):
    """The result."""

    throttle_time_ms: int = field(INT32)
    error_code: int = field(INT16)
