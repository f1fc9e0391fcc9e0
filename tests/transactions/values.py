"""Values for tests of transactions."""

from __future__ import annotations

from kafkatx.transactions.metadata import TV1, Producer, TransactionMetadata
from kafkatx.transactions.states import State
from kafkatx.types import TopicPartition

A, B = TopicPartition("a", 0), TopicPartition("b", 3)
PRODUCER = Producer(7, 4)


def state_of(state: State, epoch: int = 4, version: int = TV1) -> TransactionMetadata:
    """A stored state of producer 7, with one partition if it has a transaction."""
    active = state is State.ONGOING or state.is_preparing
    return TransactionMetadata(
        producer_id=7,
        timeout_ms=60_000,
        producer_epoch=epoch,
        state=state,
        partitions=frozenset({A}) if active else frozenset(),
        update_ms=1000,
        start_ms=-1 if state is State.EMPTY else 500,
        client_version=version,
    )
