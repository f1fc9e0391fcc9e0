"""EndTxn (key 26), versions 0-5: commit or abort a transaction.

2 may return PRODUCER_FENCED; 3 is flexible; 4 may return TRANSACTION_ABORTABLE; 5 returns the producer id and
epoch of the next transaction (KIP-890).
"""

from __future__ import annotations

from kafkatx.wire.schema import BOOLEAN, INT16, INT32, INT64, STRING, Message, field


class EndTxnRequest(Message, key=26, versions=(0, 5), flexible=3):
    """Commit a transaction, or abort it where *committed* is False."""

    transactional_id: str = field(STRING)
    producer_id: int = field(INT64)
    producer_epoch: int = field(INT16)
    committed: bool = field(BOOLEAN)


class EndTxnResponse(Message, key=26, versions=(0, 5), flexible=3):
    """The result, and the id and epoch to go on with."""

    throttle_time_ms: int = field(INT32)
    error_code: int = field(INT16)
    producer_id: int = field(INT64, since=5, default=-1)
    producer_epoch: int = field(INT16, since=5, default=-1)
