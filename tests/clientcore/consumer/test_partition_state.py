"""Tests of partition_state, subscription_state and fetch_buffer in kafkatx.clientcore.consumer."""

from __future__ import annotations

from typing import Any

from twisted.trial.unittest import SynchronousTestCase

from kafkatx.clientcore.consumer.completed_fetch import CompletedFetch, DecodeSettings
from kafkatx.clientcore.consumer.fetch_buffer import SMALLEST_SHARE_BYTES, FetchBuffer
from kafkatx.clientcore.consumer.partition_state import COMMITTED, Delivery, TopicPartitionState
from kafkatx.clientcore.consumer.record import Record
from kafkatx.clientcore.consumer.subscription_state import SubscriptionState
from kafkatx.clientcore.errors import NotAssigned, OffsetOutOfRange, Undecodable
from kafkatx.clientcore.group.offsets import OffsetAndMetadata
from kafkatx.clientcore.list_offsets import EARLIEST
from kafkatx.errors import CorruptRecords, ErrorCode, RequestError
from kafkatx.records.builder import assemble, build_values
from kafkatx.types import TopicPartition
from tests.clientcore.consumer.test_completed_fetch import at

T0, T1, T2 = (TopicPartition("t", number) for number in range(3))


def offsets(records: Any) -> list[int]:
    """Theirs."""
    return [record.offset for record in records]


class PositionsTestCase(SynchronousTestCase):
    """Three partitions, each begun at 0."""

    def setUp(self) -> None:
        """No records yet."""
        self.room = 0
        self.shelf: FetchBuffer[TopicPartitionState] = FetchBuffer(1 << 20, 1 << 18)
        self.shelf.on_space = self.more_room
        self.positions = SubscriptionState(self.shelf)
        self.positions.add_partitions([T0, T1, T2], COMMITTED)
        for position in self.positions:
            position.set_position(0)

    def more_room(self) -> None:
        """More may be fetched."""
        self.room += 1

    def fill(self, place: TopicPartition, *sizes: int, **how: Any) -> int:
        """Batches of so many records have come; their bytes."""
        position = self.positions[place]
        offset, data = position.fetch_offset, b""
        for size in sizes:
            data += at(offset, build_values([b"%d" % (offset + n) for n in range(size)], 5))
            offset += size
        position.add(
            CompletedFetch(place, memoryview(data), position.fetch_offset, None, DecodeSettings(**how))
        )
        self.shelf.enqueue(position)
        return len(data)

    def give(self, limit: int = 100) -> Delivery:
        """The next hand."""
        hand = self.positions.next_delivery(limit)
        assert hand is not None
        return hand

    def out(self, hand: Delivery, count: int = 1) -> list[Record]:
        """Give out some of a hand."""
        given = []
        for _ in range(count):
            hand.last = next(hand.remaining)
            given.append(hand.last)
        return given


class PositionTests(PositionsTestCase):
    def test_take_is_done_later(self) -> None:
        """What is taken moves the position at once, and is done when more is asked for."""
        self.fill(T0, 3, 2)
        position = self.positions[T0]
        self.assertEqual(offsets(self.positions.take(2)[T0]), [0, 1])
        self.assertEqual((position.position, position.processed_offset, position.fetch_offset), (2, 0, 5))
        self.assertEqual(self.positions.unprocessed_partitions, {T0})
        self.positions.mark_processed()
        self.assertEqual((position.position, position.processed_offset), (2, 2))
        self.assertEqual(self.positions.unprocessed_partitions, set())
        self.assertEqual(offsets(self.positions.take(100)[T0]), [2, 3, 4])
        self.assertEqual(self.positions.take(100), {})

    def test_hand_one_by_one(self) -> None:
        """Of a hand the record given out last is in work: it is passed, and not done."""
        self.fill(T0, 4)
        position, hand = self.positions[T0], self.give()
        self.assertEqual((position.position, position.processed_offset), (0, 0))
        self.out(hand, 2)
        self.assertEqual((position.position, position.processed_offset), (2, 1))
        self.assertFalse(position.ready)  # one at a time
        self.out(hand, 2)
        self.positions.finish_delivery(hand)
        self.assertEqual((position.position, position.processed_offset), (4, 4))

    def test_interrupted(self) -> None:
        """What is left of a hand is the next again, but not before what was given out is done."""
        self.fill(T0, 6)
        position, hand = self.positions[T0], self.give(4)
        self.out(hand)
        position.interrupt_delivery()
        self.assertEqual(list(hand.remaining), [])
        self.assertEqual((position.position, position.processed_offset), (1, 0))
        self.assertIsNone(self.positions.next_delivery(100))
        self.positions.finish_delivery(hand)
        self.assertEqual((position.position, position.processed_offset), (1, 1))
        self.assertEqual(offsets(self.give(2).remaining), [1, 2])
        self.positions.mark_processed()
        self.assertEqual(offsets(self.positions.take(100)[T0]), [3, 4, 5])

    def test_interrupted_twice(self) -> None:
        """Records that came back and are interrupted again come back in their order."""
        self.fill(T0, 6)
        for expected in range(3):
            hand = self.give(3)
            self.assertEqual(offsets(self.out(hand)), [expected])
            self.positions[T0].interrupt_delivery()
            self.positions.finish_delivery(hand)
        self.assertEqual(offsets(self.positions.take(2)[T0]), [3, 4])
        self.assertEqual(self.positions[T0].position, 5)

    def test_interrupted_in_what_came_back(self) -> None:
        """A hand may be a part of what came back; all of it comes in order, and the offset is behind it."""
        self.fill(T0, 6)
        for limit, given in ((6, 0), (2, 1)):
            hand = self.give(limit)
            self.assertEqual(offsets(self.out(hand)), [given])
            self.positions[T0].interrupt_delivery()
            self.positions.finish_delivery(hand)
        self.assertEqual(offsets(self.positions.take(9)[T0]), [2, 3, 4, 5])
        self.assertEqual(self.positions[T0].position, 6)

    def test_hand_as_a_whole(self) -> None:
        """Of a hand that is given out at once nothing is done before all is."""
        self.fill(T0, 4)
        position, hand = self.positions[T0], self.give(3)
        self.assertEqual(offsets(hand.take_all()), [0, 1, 2])
        self.assertEqual((position.position, position.processed_offset), (3, 0))
        position.interrupt_delivery()
        self.positions.finish_delivery(hand)
        self.assertEqual((position.position, position.processed_offset), (3, 3))

    def test_failed_hand(self) -> None:
        """The record that failed is the next again, with all behind it; what came before it is done."""
        self.fill(T0, 4)
        position, hand = self.positions[T0], self.give()
        self.out(hand, 3)
        self.positions.fail_delivery(hand)
        self.assertEqual((position.position, position.processed_offset, position.fetch_offset), (2, 2, 2))
        self.positions.mark_processed()
        self.assertEqual(position.processed_offset, 2)

    def test_seek(self) -> None:
        """A seek ends the hand, drops what is at hand, and makes replies that are under way useless."""
        self.fill(T0, 4)
        position, hand, turn = self.positions[T0], self.give(), self.positions[T0].revision
        self.out(hand)
        position.seek(9)
        self.assertEqual(list(hand.remaining), [])
        self.assertEqual((position.position, position.processed_offset, position.fetch_offset), (9, 9, 9))
        self.assertNotEqual(position.revision, turn)
        self.assertEqual((position.buffered_bytes, self.shelf.buffered_bytes), (0, 0))
        self.positions.finish_delivery(hand)
        self.assertEqual((position.position, position.processed_offset), (9, 9))
        self.positions.fail_delivery(hand)
        self.assertEqual(position.position, 9)

    def test_seek_to(self) -> None:
        """Until it is known where the end is, there is no position and nothing is wanted."""
        position = self.positions[T0]
        position.request_offset_reset(EARLIEST)
        self.assertEqual((position.position, position.processed_offset, position.fetchable), (-1, -1, False))
        position.set_position(3)
        self.assertEqual((position.position, position.fetch_offset, position.fetchable), (3, 3, True))

    def test_drop_keeps_the_offset(self) -> None:
        """What is dropped to make room is fetched again."""
        self.fill(T0, 4)
        self.out(self.give(), 2)
        position = self.positions[T0]
        position.drop_buffered()
        self.assertEqual((position.position, position.processed_offset, position.fetch_offset), (2, 1, 2))

    def test_gaps(self) -> None:
        """Behind the last record of a batch comes the next batch, whatever compaction has removed."""
        data = assemble(build_values([b"a"], 5)[61:], 1, 0, 5, 5, last_offset_delta=9)
        self.positions[T0].add(CompletedFetch(T0, memoryview(data), 0, None, DecodeSettings()))
        self.positions.take(10)
        self.assertEqual(self.positions[T0].position, 10)

    def test_paused_and_held(self) -> None:
        """Neither a paused partition nor one that is to be revoked hands anything out, or wants anything."""
        for name in ("paused", "suspended"):
            position = self.positions[T0]
            self.fill(T0, 2)
            setattr(position, name, True)
            self.assertEqual((position.fetchable, self.positions.take(10)), (False, {}))
            setattr(position, name, False)
            self.shelf.enqueue(position)
            self.assertEqual(len(self.positions.take(10)[T0]), 2)

    def test_undecodable(self) -> None:
        """The records before a bad one come first, then its error, again and again, until a seek."""

        def decode(topic: str, value: bytes | None) -> int:
            if value == b"2":
                raise ValueError("two")
            return int(value or b"")

        self.fill(T0, 4, 1, decode_value=decode)
        self.assertEqual([r.value for r in self.positions.take(10)[T0]], [0, 1])
        for _ in range(2):
            self.assertIn("offset 2", str(self.assertRaises(Undecodable, self.positions.take, 10)))
        self.assertFalse(self.positions[T0].fetchable)
        self.positions[T0].seek(3)
        self.assertTrue(self.positions[T0].fetchable)

    def test_corrupt(self) -> None:
        """A batch that cannot be read is an error behind what stands before it."""
        self.fill(T0, 1)
        bad = at(1, build_values([b"abc"], 5)).replace(b"abc", b"abX")
        self.positions[T0].add(CompletedFetch(T0, memoryview(bad), 1, None, DecodeSettings()))
        self.assertEqual(offsets(self.positions.take(10)[T0]), [0])
        self.assertRaises(CorruptRecords, self.positions.take, 10)
        self.assertEqual((self.shelf.buffered_bytes, self.positions[T0].position), (0, 1))


class PositionsTests(PositionsTestCase):
    def test_in_turn(self) -> None:
        """Partitions take turns, batch by batch, however much one of them has."""
        self.fill(T0, 2, 2, 2)
        self.fill(T1, 1, 1)
        order = []
        for hand in iter(lambda: self.positions.next_delivery(100), None):
            order += [(record.partition, record.offset) for record in hand.take_all()]
            self.positions.finish_delivery(hand)
        self.assertEqual(order, [(0, 0), (0, 1), (1, 0), (0, 2), (0, 3), (1, 1), (0, 4), (0, 5)])

    def test_limit_of_all(self) -> None:
        """The limit is one of all partitions together."""
        self.fill(T0, 3)
        self.fill(T1, 3)
        found = self.positions.take(4)
        self.assertEqual({place: len(records) for place, records in found.items()}, {T0: 3, T1: 1})

    def test_errors(self) -> None:
        """Records at hand come before an error; one that may pass is gone once it was told."""
        self.fill(T1, 1)
        error = RequestError(ErrorCode.TOPIC_AUTHORIZATION_FAILED)
        self.positions[T0].fail(error)
        self.assertEqual(list(self.positions.take(10)), [T1])
        self.assertIs(self.assertRaises(RequestError, self.positions.take, 10), error)
        self.assertEqual(self.positions.take(10), {})
        self.assertTrue(self.positions[T0].fetchable)
        self.positions[T2].fail(OffsetOutOfRange("t", 2, 0, 5, 9))
        for _ in range(2):
            self.assertRaises(OffsetOutOfRange, self.positions.next_delivery, 10)

    def test_offsets_and_done(self) -> None:
        """commit() commits what was handed out, automatic commits what is done; the unknown is left out."""
        self.fill(T0, 3)
        self.positions[T1].request_offset_reset(EARLIEST)
        self.positions.take(2)
        self.assertEqual(
            self.positions.positions(),
            {T0: OffsetAndMetadata(2, leader_epoch=3), T2: OffsetAndMetadata(0)},
        )
        self.assertEqual(
            self.positions.processed_offsets([T0, TopicPartition("u", 0)]), {T0: OffsetAndMetadata(0, "", 3)}
        )

    def test_add_and_remove(self) -> None:
        """What is there keeps its position; what goes ends its hand and is not assigned any more."""
        self.fill(T0, 3)
        hand = self.give()
        self.positions.add_partitions([T0], COMMITTED)
        self.assertEqual(self.positions[T0].fetch_offset, 3)
        self.positions.remove_partitions([T0, TopicPartition("u", 9)])
        self.assertEqual(list(hand.remaining), [])
        self.assertEqual(self.positions.assigned_partitions, {T1, T2})
        self.assertRaises(NotAssigned, self.positions.__getitem__, T0)
        self.positions.finish_delivery(hand)
        self.positions.mark_processed()
        self.assertEqual((self.positions.take(10), self.shelf.buffered_bytes), ({}, 0))


class ShelfTests(PositionsTestCase):
    def test_bytes(self) -> None:
        """A batch counts until its last record was handed out."""
        size = self.fill(T0, 3)
        self.assertEqual((self.shelf.buffered_bytes, self.positions[T0].buffered_bytes), (size, size))
        self.positions.take(2)
        self.assertEqual(self.shelf.buffered_bytes, size)
        self.positions.take(2)
        self.assertEqual((self.shelf.buffered_bytes, self.positions[T0].buffered_bytes), (0, 0))

    def test_shares(self) -> None:
        """Twice the shares of all partitions fit into the limit, unless they would be tiny."""
        for partitions, share in ((1, 1 << 18), (2, 1 << 18), (4, 1 << 17), (1000, SMALLEST_SHARE_BYTES)):
            self.shelf.set_partition_count(partitions)
            self.assertEqual(self.shelf.share_bytes, share)

    def test_room(self) -> None:
        """There is room for a share or more, or none; with nothing at hand there is always one."""
        shelf: FetchBuffer[TopicPartitionState] = FetchBuffer(1000, 400)
        self.assertEqual(
            (shelf.available_bytes(0), shelf.available_bytes(600), shelf.available_bytes(601)), (1000, 400, 0)
        )
        tiny: FetchBuffer[TopicPartitionState] = FetchBuffer(0, 400)
        self.assertEqual((tiny.available_bytes(0), tiny.available_bytes(1)), (400, 0))

    def test_tells_of_room(self) -> None:
        """It is told when a partition has less than its share again, and whenever there was no room."""
        self.shelf.set_partition_count(1)
        self.shelf.share_bytes = size = self.fill(T0, 1)
        self.fill(T0, 1)
        self.positions.take(1)
        self.assertEqual(self.room, 0)
        self.positions.take(1)
        self.assertEqual(self.room, 1)
        self.fill(T0, 1)
        self.fill(T0, 1)
        self.fill(T0, 1)
        self.assertEqual(self.shelf.available_bytes((1 << 20) - 3 * size), 0)
        self.positions.take(1)
        self.assertEqual(self.room, 2)
