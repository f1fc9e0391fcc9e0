"""DescribeTransactions (key 65), version 0: the state of transactional ids (KIP-664)."""

from __future__ import annotations

from kafkatx.wire.schema import INT16, INT32, INT64, STRING, Message, Struct, array, field


class DescribeTransactionsRequest(Message, key=65, versions=(0, 0), flexible=0):
    """Ask for transactional ids that the receiver coordinates."""

    transactional_ids: list[str] = field(array(STRING))


class TopicData(Struct):
    """The partitions of one topic that are in the transaction."""

    topic: str = field(STRING)
    partitions: list[int] = field(array(INT32))


class TransactionState(Struct):
    """The state of one transactional id, or its error."""

    error_code: int = field(INT16)
    transactional_id: str = field(STRING)
    transaction_state: str = field(STRING)
    transaction_timeout_ms: int = field(INT32)
    transaction_start_time_ms: int = field(INT64)
    producer_id: int = field(INT64)
    producer_epoch: int = field(INT16)
    topics: list[TopicData] = field(array(TopicData))


class DescribeTransactionsResponse(Message, key=65, versions=(0, 0), flexible=0):
    """The states, in the order of the request."""

    throttle_time_ms: int = field(INT32)
    transaction_states: list[TransactionState] = field(array(TransactionState))
