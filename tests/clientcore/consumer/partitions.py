"""A consumer's partitions with records of the test."""

from __future__ import annotations

from typing import Any

from twisted.trial.unittest import SynchronousTestCase

from kafkatx.clientcore.consumer.completed_fetch import CompletedFetch, DecodeSettings
from kafkatx.clientcore.consumer.fetch_buffer import FetchBuffer
from kafkatx.clientcore.consumer.partition_state import COMMITTED, Delivery, TopicPartitionState
from kafkatx.clientcore.consumer.record import Record
from kafkatx.clientcore.consumer.subscription_state import SubscriptionState
from kafkatx.records.builder import build_values
from kafkatx.types import TopicPartition
from tests.clientcore.consumer.test_completed_fetch import at

T0, T1, T2 = (TopicPartition("t", number) for number in range(3))


def offsets(records: Any) -> list[int]:
    """Return the records' offsets."""
    return [record.offset for record in records]


class SubscriptionTestCase(SynchronousTestCase):
    """Three partitions, each begun at 0."""

    def setUp(self) -> None:
        """Make the partitions without records."""
        self.room = 0
        self.buffer: FetchBuffer[TopicPartitionState] = FetchBuffer(1 << 20, 1 << 18)
        self.buffer.on_space = self.more_room
        self.subscriptions = SubscriptionState(self.buffer)
        self.subscriptions.add_partitions([T0, T1, T2], COMMITTED)
        for state in self.subscriptions:
            state.set_position(0)

    def more_room(self) -> None:
        """Note that more may be fetched."""
        self.room += 1

    def fill(self, topic_partition: TopicPartition, *sizes: int, **how: Any) -> int:
        """Add batches of these numbers of records; return their size in bytes."""
        state = self.subscriptions[topic_partition]
        offset, data = state.fetch_offset, b""
        for size in sizes:
            data += at(offset, build_values([b"%d" % (offset + n) for n in range(size)], 5))
            offset += size
        state.add(
            CompletedFetch(topic_partition, memoryview(data), state.fetch_offset, None, DecodeSettings(**how))
        )
        self.buffer.enqueue(state)
        return len(data)

    def give(self, limit: int = 100) -> Delivery:
        """Return the next delivery."""
        delivery = self.subscriptions.next_delivery(limit)
        assert delivery is not None
        return delivery

    def out(self, delivery: Delivery, count: int = 1) -> list[Record]:
        """Deliver some records of a delivery."""
        given = []
        for _ in range(count):
            delivery.last = next(delivery.remaining)
            given.append(delivery.last)
        return given
