"""Tests of kafkatx.clientcore.consumer.fetch_buffer."""

from __future__ import annotations

import attrs
from twisted.trial.unittest import SynchronousTestCase

from kafkatx.clientcore.consumer.fetch_buffer import SMALLEST_SHARE_BYTES, FetchBuffer
from kafkatx.clientcore.consumer.partition_state import TopicPartitionState
from tests.clientcore.consumer.partitions import T0, SubscriptionTestCase


class FetchBufferTests(SubscriptionTestCase):
    def test_bytes(self) -> None:
        """A batch counts until its last record was delivered."""
        size = self.fill(T0, 3)
        self.assertEqual((self.buffer.buffered_bytes, self.subscriptions[T0].buffered_bytes), (size, size))
        self.subscriptions.take(2)
        self.assertEqual(self.buffer.buffered_bytes, size)
        self.subscriptions.take(2)
        self.assertEqual((self.buffer.buffered_bytes, self.subscriptions[T0].buffered_bytes), (0, 0))

    def test_shares(self) -> None:
        """Twice the shares of all partitions fit into the limit, unless they would be tiny."""
        for partitions, share in ((1, 1 << 18), (2, 1 << 18), (4, 1 << 17), (1000, SMALLEST_SHARE_BYTES)):
            self.buffer.set_partition_count(partitions)
            self.assertEqual(self.buffer.share_bytes, share)

    def test_room(self) -> None:
        """There is room for a share or more, or none; with nothing at hand there is always one."""
        buffer: FetchBuffer[TopicPartitionState] = FetchBuffer(1000, 400)
        self.assertEqual(
            (buffer.available_bytes(0), buffer.available_bytes(600), buffer.available_bytes(601)),
            (1000, 400, 0),
        )
        tiny: FetchBuffer[TopicPartitionState] = FetchBuffer(0, 400)
        self.assertEqual((tiny.available_bytes(0), tiny.available_bytes(1)), (400, 0))

    def test_tells_of_room(self) -> None:
        """The buffer reports when a partition is below its share again, and when there was no room."""
        self.buffer.set_partition_count(1)
        self.buffer.share_bytes = size = self.fill(T0, 1)
        self.fill(T0, 1)
        self.subscriptions.take(1)
        self.assertEqual(self.room, 0)
        self.subscriptions.take(1)
        self.assertEqual(self.room, 1)
        self.fill(T0, 1)
        self.fill(T0, 1)
        self.fill(T0, 1)
        self.assertEqual(self.buffer.available_bytes((1 << 20) - 3 * size), 0)
        self.subscriptions.take(1)
        self.assertEqual(self.room, 2)


@attrs.define(eq=False)
class FakePartition:
    """A partition that is ready as the test says."""

    name: str
    ready: bool = True
    in_queue: bool = False
    buffered_bytes: int = 0


class RoundRobinTests(SynchronousTestCase):
    def setUp(self) -> None:
        """Two queued partitions."""
        self.buffer: FetchBuffer[FakePartition] = FetchBuffer(1000, 400)
        self.first, self.second = FakePartition("a"), FakePartition("b")
        self.buffer.add_bytes(self.first, 10)
        self.buffer.add_bytes(self.second, 20)

    def names(self, count: int) -> list[str | None]:
        """Return the next partitions."""
        found = [self.buffer.next_ready() for _ in range(count)]
        return [None if partition is None else partition.name for partition in found]

    def test_turns(self) -> None:
        """Ready partitions take turns, however often they are enqueued."""
        self.buffer.enqueue(self.first)
        self.assertEqual(self.names(4), ["a", "b", "a", "b"])
        self.assertEqual(self.buffer.buffered_bytes, 30)

    def test_not_ready(self) -> None:
        """A partition that is not ready leaves the queue, and comes back when it is enqueued."""
        self.first.ready = False
        self.assertEqual((self.names(2), self.first.in_queue), (["b", "b"], False))
        self.buffer.enqueue(self.first)
        self.assertFalse(self.first.in_queue)
        self.first.ready = True
        self.buffer.enqueue(self.first)
        self.assertEqual(self.names(2), ["b", "a"])

    def test_empty(self) -> None:
        """Without a ready partition the buffer is false, and there is no next one."""
        self.assertTrue(self.buffer)
        self.first.ready = self.second.ready = False
        self.assertFalse(self.buffer)
        self.assertEqual(self.names(1), [None])
