"""Tests of partition_state, subscription_state and fetch_buffer in kafkatx.clientcore.consumer."""

from __future__ import annotations

from kafkatx.clientcore.consumer.completed_fetch import CompletedFetch, DecodeSettings
from kafkatx.clientcore.errors import Undecodable
from kafkatx.clientcore.list_offsets import EARLIEST
from kafkatx.errors import CorruptRecords
from kafkatx.records.builder import assemble, build_values
from tests.clientcore.consumer.partitions import T0, SubscriptionTestCase, offsets
from tests.clientcore.consumer.test_completed_fetch import at


class TopicPartitionStateTests(SubscriptionTestCase):
    def test_take_is_done_later(self) -> None:
        """Taken records move the position at once, and are processed when more are asked for."""
        self.fill(T0, 3, 2)
        state = self.subscriptions[T0]
        self.assertEqual(offsets(self.subscriptions.take(2)[T0]), [0, 1])
        self.assertEqual((state.position, state.processed_offset, state.fetch_offset), (2, 0, 5))
        self.assertEqual(self.subscriptions.unprocessed_partitions, {T0})
        self.subscriptions.mark_processed()
        self.assertEqual((state.position, state.processed_offset), (2, 2))
        self.assertEqual(self.subscriptions.unprocessed_partitions, set())
        self.assertEqual(offsets(self.subscriptions.take(100)[T0]), [2, 3, 4])
        self.assertEqual(self.subscriptions.take(100), {})

    def test_hand_one_by_one(self) -> None:
        """The last delivered record of a delivery is before the position, but not processed."""
        self.fill(T0, 4)
        state, delivery = self.subscriptions[T0], self.give()
        self.assertEqual((state.position, state.processed_offset), (0, 0))
        self.out(delivery, 2)
        self.assertEqual((state.position, state.processed_offset), (2, 1))
        self.assertFalse(state.ready)  # one delivery at a time
        self.out(delivery, 2)
        self.subscriptions.finish_delivery(delivery)
        self.assertEqual((state.position, state.processed_offset), (4, 4))

    def test_interrupted(self) -> None:
        """The rest of a delivery comes next, but not before the delivered records are processed."""
        self.fill(T0, 6)
        state, delivery = self.subscriptions[T0], self.give(4)
        self.out(delivery)
        state.interrupt_delivery()
        self.assertEqual(list(delivery.remaining), [])
        self.assertEqual((state.position, state.processed_offset), (1, 0))
        self.assertIsNone(self.subscriptions.next_delivery(100))
        self.subscriptions.finish_delivery(delivery)
        self.assertEqual((state.position, state.processed_offset), (1, 1))
        self.assertEqual(offsets(self.give(2).remaining), [1, 2])
        self.subscriptions.mark_processed()
        self.assertEqual(offsets(self.subscriptions.take(100)[T0]), [3, 4, 5])

    def test_interrupted_twice(self) -> None:
        """Records that came back and are interrupted again come back in their order."""
        self.fill(T0, 6)
        for expected in range(3):
            delivery = self.give(3)
            self.assertEqual(offsets(self.out(delivery)), [expected])
            self.subscriptions[T0].interrupt_delivery()
            self.subscriptions.finish_delivery(delivery)
        self.assertEqual(offsets(self.subscriptions.take(2)[T0]), [3, 4])
        self.assertEqual(self.subscriptions[T0].position, 5)

    def test_interrupted_in_what_came_back(self) -> None:
        """A delivery may be a part of returned records; all come in order, and the offset is after them."""
        self.fill(T0, 6)
        for limit, given in ((6, 0), (2, 1)):
            delivery = self.give(limit)
            self.assertEqual(offsets(self.out(delivery)), [given])
            self.subscriptions[T0].interrupt_delivery()
            self.subscriptions.finish_delivery(delivery)
        self.assertEqual(offsets(self.subscriptions.take(9)[T0]), [2, 3, 4, 5])
        self.assertEqual(self.subscriptions[T0].position, 6)

    def test_hand_as_a_whole(self) -> None:
        """Records that are delivered as one list are processed together."""
        self.fill(T0, 4)
        state, delivery = self.subscriptions[T0], self.give(3)
        self.assertEqual(offsets(delivery.take_all()), [0, 1, 2])
        self.assertEqual((state.position, state.processed_offset), (3, 0))
        state.interrupt_delivery()
        self.subscriptions.finish_delivery(delivery)
        self.assertEqual((state.position, state.processed_offset), (3, 3))

    def test_failed_hand(self) -> None:
        """The record that failed comes next, with all after it; those before it are processed."""
        self.fill(T0, 4)
        state, delivery = self.subscriptions[T0], self.give()
        self.out(delivery, 3)
        self.subscriptions.fail_delivery(delivery)
        self.assertEqual((state.position, state.processed_offset, state.fetch_offset), (2, 2, 2))
        self.subscriptions.mark_processed()
        self.assertEqual(state.processed_offset, 2)

    def test_seek(self) -> None:
        """A seek ends the delivery, drops buffered records, and invalidates fetches in flight."""
        self.fill(T0, 4)
        state, delivery, revision = self.subscriptions[T0], self.give(), self.subscriptions[T0].revision
        self.out(delivery)
        state.seek(9)
        self.assertEqual(list(delivery.remaining), [])
        self.assertEqual((state.position, state.processed_offset, state.fetch_offset), (9, 9, 9))
        self.assertNotEqual(state.revision, revision)
        self.assertEqual((state.buffered_bytes, self.buffer.buffered_bytes), (0, 0))
        self.subscriptions.finish_delivery(delivery)
        self.assertEqual((state.position, state.processed_offset), (9, 9))
        self.subscriptions.fail_delivery(delivery)
        self.assertEqual(state.position, 9)

    def test_seek_to(self) -> None:
        """A partition has no position and is not fetched until the end offset is known."""
        state = self.subscriptions[T0]
        state.request_offset_reset(EARLIEST)
        self.assertEqual((state.position, state.processed_offset, state.fetchable), (-1, -1, False))
        state.set_position(3)
        self.assertEqual((state.position, state.fetch_offset, state.fetchable), (3, 3, True))

    def test_drop_keeps_the_offset(self) -> None:
        """Records that were dropped to make room are fetched again."""
        self.fill(T0, 4)
        self.out(self.give(), 2)
        state = self.subscriptions[T0]
        state.drop_buffered()
        self.assertEqual((state.position, state.processed_offset, state.fetch_offset), (2, 1, 2))

    def test_gaps(self) -> None:
        """The next batch follows the last record of a batch, despite gaps of compaction."""
        data = assemble(build_values([b"a"], 5)[61:], 1, 0, 5, 5, last_offset_delta=9)
        self.subscriptions[T0].add(CompletedFetch(T0, memoryview(data), 0, None, DecodeSettings()))
        self.subscriptions.take(10)
        self.assertEqual(self.subscriptions[T0].position, 10)

    def test_paused_and_held(self) -> None:
        """A paused partition, and one that is being revoked, delivers and fetches nothing."""
        for name in ("paused", "suspended"):
            state = self.subscriptions[T0]
            self.fill(T0, 2)
            setattr(state, name, True)
            self.assertEqual((state.fetchable, self.subscriptions.take(10)), (False, {}))
            setattr(state, name, False)
            self.buffer.enqueue(state)
            self.assertEqual(len(self.subscriptions.take(10)[T0]), 2)

    def test_undecodable(self) -> None:
        """The records before a bad one come first, then its error at each call, until a seek."""

        def decode(topic: str, value: bytes | None) -> int:
            if value == b"2":
                raise ValueError("two")
            return int(value or b"")

        self.fill(T0, 4, 1, decode_value=decode)
        self.assertEqual([r.value for r in self.subscriptions.take(10)[T0]], [0, 1])
        for _ in range(2):
            self.assertIn("offset 2", str(self.assertRaises(Undecodable, self.subscriptions.take, 10)))
        self.assertFalse(self.subscriptions[T0].fetchable)
        self.subscriptions[T0].seek(3)
        self.assertTrue(self.subscriptions[T0].fetchable)

    def test_corrupt(self) -> None:
        """An unreadable batch is an error after the records before it."""
        self.fill(T0, 1)
        bad = at(1, build_values([b"abc"], 5)).replace(b"abc", b"abX")
        self.subscriptions[T0].add(CompletedFetch(T0, memoryview(bad), 1, None, DecodeSettings()))
        self.assertEqual(offsets(self.subscriptions.take(10)[T0]), [0])
        self.assertRaises(CorruptRecords, self.subscriptions.take, 10)
        self.assertEqual((self.buffer.buffered_bytes, self.subscriptions[T0].position), (0, 1))
