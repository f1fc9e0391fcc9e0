"""Tests of kafkatx.clientcore.consumer.subscription_state."""

from __future__ import annotations

from kafkatx.clientcore.consumer.partition_state import COMMITTED
from kafkatx.clientcore.errors import NotAssigned, OffsetOutOfRange
from kafkatx.clientcore.group.offsets import OffsetAndMetadata
from kafkatx.clientcore.list_offsets import EARLIEST
from kafkatx.errors import ErrorCode, RequestError
from kafkatx.types import TopicPartition
from tests.clientcore.consumer.partitions import T0, T1, T2, SubscriptionTestCase


class SubscriptionStateTests(SubscriptionTestCase):
    def test_in_turn(self) -> None:
        """Partitions take turns, batch by batch, however many records one of them has."""
        self.fill(T0, 2, 2, 2)
        self.fill(T1, 1, 1)
        order = []
        for delivery in iter(lambda: self.subscriptions.next_delivery(100), None):
            order += [(record.partition, record.offset) for record in delivery.take_all()]
            self.subscriptions.finish_delivery(delivery)
        self.assertEqual(order, [(0, 0), (0, 1), (1, 0), (0, 2), (0, 3), (1, 1), (0, 4), (0, 5)])

    def test_limit_of_all(self) -> None:
        """The limit applies to all partitions together."""
        self.fill(T0, 3)
        self.fill(T1, 3)
        found = self.subscriptions.take(4)
        self.assertEqual(
            {topic_partition: len(records) for topic_partition, records in found.items()}, {T0: 3, T1: 1}
        )

    def test_errors(self) -> None:
        """Buffered records come before an error; a retriable one is raised once."""
        self.fill(T1, 1)
        error = RequestError(ErrorCode.TOPIC_AUTHORIZATION_FAILED)
        self.subscriptions[T0].fail(error)
        self.assertEqual(list(self.subscriptions.take(10)), [T1])
        self.assertIs(self.assertRaises(RequestError, self.subscriptions.take, 10), error)
        self.assertEqual(self.subscriptions.take(10), {})
        self.assertTrue(self.subscriptions[T0].fetchable)
        self.subscriptions[T2].fail(OffsetOutOfRange("t", 2, 0, 5, 9))
        for _ in range(2):
            self.assertRaises(OffsetOutOfRange, self.subscriptions.next_delivery, 10)

    def test_offsets_and_done(self) -> None:
        """commit() covers delivered records, automatic commits processed ones; unknown ones are left out."""
        self.fill(T0, 3)
        self.subscriptions[T1].request_offset_reset(EARLIEST)
        self.subscriptions.take(2)
        self.assertEqual(
            self.subscriptions.positions(),
            {T0: OffsetAndMetadata(2, leader_epoch=3), T2: OffsetAndMetadata(0)},
        )
        self.assertEqual(
            self.subscriptions.processed_offsets([T0, TopicPartition("u", 0)]),
            {T0: OffsetAndMetadata(0, "", 3)},
        )

    def test_add_and_remove(self) -> None:
        """Assigned partitions keep their position; removed ones end their delivery."""
        self.fill(T0, 3)
        delivery = self.give()
        self.subscriptions.add_partitions([T0], COMMITTED)
        self.assertEqual(self.subscriptions[T0].fetch_offset, 3)
        self.subscriptions.remove_partitions([T0, TopicPartition("u", 9)])
        self.assertEqual(list(delivery.remaining), [])
        self.assertEqual(self.subscriptions.assigned_partitions, {T1, T2})
        self.assertRaises(NotAssigned, self.subscriptions.__getitem__, T0)
        self.subscriptions.finish_delivery(delivery)
        self.subscriptions.mark_processed()
        self.assertEqual((self.subscriptions.take(10), self.buffer.buffered_bytes), ({}, 0))

    def test_lost_while_unprocessed(self) -> None:
        """Partitions that are lost while the application has records of them are known until it is done."""
        self.fill(T0, 3)
        self.subscriptions.take(2)
        self.subscriptions.lose_partitions({T0, T1})
        self.assertEqual(self.subscriptions.assigned_partitions, {T2})
        self.subscriptions.add_partitions([T0], COMMITTED)
        self.assertEqual(self.subscriptions.lost_unprocessed, {T0})
        self.subscriptions.mark_processed()
        self.assertEqual(self.subscriptions.lost_unprocessed, set())
        self.fill(T2, 1)
        delivery = self.give()
        self.subscriptions.lose_partitions({T2})
        self.assertEqual(self.subscriptions.lost_unprocessed, {T2})
        self.subscriptions.finish_delivery(delivery)
        self.assertEqual(self.subscriptions.lost_unprocessed, set())
