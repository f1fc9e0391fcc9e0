"""Tests of kafkatx.client.legacy.stream_consumer."""

from __future__ import annotations

from collections.abc import Callable

from twisted.internet.defer import CancelledError, Deferred

from kafkatx.client.legacy.stream_consumer import StreamConsumer
from kafkatx.clientcore.consumer.partition_state import Delivery
from kafkatx.types import TopicPartition
from tests.client.consumers import HOST, T0, T1, ConsumerTestCase


class StreamConsumerTests(ConsumerTestCase):
    def setUp(self) -> None:
        """Make a consumer of two partitions, and a function that finishes deliveries on request."""
        super().setUp()
        self.make_topic("t", 2)
        self.fill(b"a", b"b")
        self.fill(b"x", partition=1)
        values = {"bootstrap_servers": f"{HOST}:9092", "kafkatx_endpoint": self.network.endpoint}
        self.stream_consumer = StreamConsumer(
            {**values, "enable_auto_commit": False, "auto_offset_reset": "earliest"}, reactor=self.clock
        )
        self.addCleanup(self.close_it)
        self.wait(self.stream_consumer.start())
        self.deliveries: list[tuple[TopicPartition, Delivery, Deferred[None]]] = []
        self.stream_consumer.assign([T0, T1])
        self.distributing = self.stream_consumer.distribute(self.deliver)
        self.network.run(1)

    def close_it(self) -> None:
        """Close the consumer."""
        self.distributing.addErrback(lambda failure: failure.trap(CancelledError))
        self.distributing.cancel()
        for _, delivery, done in list(self.deliveries):
            list(delivery.remaining)
            if not done.called:
                done.callback(None)
        self.wait(self.stream_consumer.close(), 60)

    async def deliver(self, delivery: Delivery, report_activity: Callable[[], None]) -> None:
        """Keep a delivery until the test finishes it."""
        done: Deferred[None] = Deferred()
        self.deliveries.append((delivery.state.topic_partition, delivery, done))
        await done

    def finish(self, number: int) -> list[int]:
        """Read a delivery to its end, and finish it; return its offsets."""
        _, delivery, done = self.deliveries[number]
        offsets = []
        for record in delivery.remaining:
            delivery.last = record
            offsets.append(record.offset)
        done.callback(None)
        self.network.run(1)
        return offsets

    def test_one_delivery_per_partition(self) -> None:
        """Each partition has one delivery at a time, and all of them run in parallel."""
        self.assertEqual(sorted(place for place, _, _ in self.deliveries), [T0, T1])
        self.network.run(2)
        self.assertEqual(len(self.deliveries), 2)

    def test_consumed(self) -> None:
        """consumed() has the offset after the last record of finished deliveries."""
        numbers = {place: number for number, (place, _, _) in enumerate(self.deliveries)}
        self.assertEqual(self.finish(numbers[T0])[0], 0)
        self.assertEqual(self.finish(numbers[T1]), [0])
        consumed = self.stream_consumer.consumed()
        self.assertEqual(consumed[T1].offset, 1)
        self.assertGreaterEqual(consumed[T0].offset, 1)

    def test_yield(self) -> None:
        """yield_to_reactor() waits for the reactor's next turn, and fires at once right after one."""
        self.clock.advance(1)
        waiting = self.stream_consumer.yield_to_reactor()
        self.assertNoResult(waiting)
        self.clock.advance(0)
        self.successResultOf(waiting)
        self.successResultOf(self.stream_consumer.yield_to_reactor())
