"""ListTransactions (key 66), versions 0-2: the transactional ids that a broker coordinates (KIP-664).

1 adds a filter by duration (KIP-994), 2 one by a regular expression (KIP-1152).
"""

from __future__ import annotations

from kafkatx.wire.schema import INT16, INT32, INT64, STRING, Message, Struct, array, field, nullable


class ListTransactionsRequest(Message, key=66, versions=(0, 2), flexible=0):
    """Ask for transactional ids; an empty filter lets all pass."""

    state_filters: list[str] = field(array(STRING))
    producer_id_filters: list[int] = field(array(INT64))
    duration_filter: int = field(INT64, since=1, default=-1)
    transactional_id_pattern: str | None = field(nullable(STRING), since=2, default=None)


class TransactionState(Struct):
    """One transactional id."""

    transactional_id: str = field(STRING)
    producer_id: int = field(INT64)
    transaction_state: str = field(STRING)


class ListTransactionsResponse(Message, key=66, versions=(0, 2), flexible=0):
    """The transactional ids, and the filters of states that do not exist."""

    throttle_time_ms: int = field(INT32)
    error_code: int = field(INT16)
    unknown_state_filters: list[str] = field(array(STRING))
    transaction_states: list[TransactionState] = field(array(TransactionState))
