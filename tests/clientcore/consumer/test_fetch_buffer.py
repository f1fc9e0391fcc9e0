"""Tests of kafkatx.clientcore.consumer.fetch_buffer."""

from __future__ import annotations

from kafkatx.clientcore.consumer.fetch_buffer import SMALLEST_SHARE_BYTES, FetchBuffer
from kafkatx.clientcore.consumer.partition_state import TopicPartitionState
from tests.clientcore.consumer.partitions import T0, SubscriptionTestCase


class FetchBufferTests(SubscriptionTestCase):
    def test_bytes(self) -> None:
        """A batch counts until its last record was handed out."""
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
        """It is told when a partition has less than its share again, and whenever there was no room."""
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
