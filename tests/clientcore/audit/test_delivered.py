"""Tests of kafkatx.clientcore.audit.delivered, with positions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st
from twisted.trial.unittest import SynchronousTestCase

from kafkatx.clientcore.consumer.completed_fetch import CompletedFetch, DecodeSettings
from kafkatx.clientcore.consumer.fetch_buffer import FetchBuffer
from kafkatx.clientcore.consumer.partition_state import COMMITTED, Delivery
from kafkatx.clientcore.consumer.subscription_state import SubscriptionState
from kafkatx.clientcore.list_offsets import EARLIEST, LATEST
from kafkatx.records.builder import BatchBuilder
from kafkatx.types import TopicPartition
from tests.clientcore.consumer.test_completed_fetch import at

T0, T1 = TopicPartition("t", 0), TopicPartition("u", 0)


class Counted:
    """Positions of records with their offsets as timestamps, and the counts."""

    def __init__(self) -> None:
        self.counted: dict[str, list[int]] = {"t": [], "u": []}
        self.positions = SubscriptionState(FetchBuffer(1 << 20, 1 << 18), self.count)
        self.add()

    def add(self) -> None:
        """Add the partitions, at offset 0."""
        self.positions.add_partitions([T0, T1], COMMITTED)
        for position in self.positions:
            if position.start_at is not None:
                position.set_position(0)

    def count(self, topic: str, times_ms: Sequence[int]) -> None:
        """Record counted records."""
        self.counted[topic] += times_ms

    def fill(self, place: TopicPartition, *sizes: int) -> None:
        """Add batches of these numbers of records."""
        position = self.positions[place]
        offset, data = position.fetch_offset, b""
        for size in sizes:
            builder = BatchBuilder()
            for number in range(offset, offset + size):
                builder.append(None, b"v", number)
            data += at(offset, builder.build())
            offset += size
        position.add(CompletedFetch(place, memoryview(data), position.fetch_offset, None, DecodeSettings()))
        self.positions.buffer.enqueue(position)

    def give(self, count: int) -> Delivery:
        """Deliver some records of the next delivery."""
        hand = self.positions.next_delivery(100)
        assert hand is not None
        for _ in range(count):
            hand.last = next(hand.remaining)
        return hand


class HandedTests(SynchronousTestCase):
    def setUp(self) -> None:
        """Make five records of a topic, in two batches."""
        self.made = Counted()
        self.positions = self.made.positions
        self.made.fill(T0, 2, 3)

    def counted(self) -> list[int]:
        """Return the offsets of counted records."""
        return self.made.counted["t"]

    def test_off(self) -> None:
        """No delivered records are kept without a listener."""
        positions = SubscriptionState(FetchBuffer(1, 1))
        positions.add_partitions([T0], COMMITTED)
        self.assertIs(positions[T0].delivered, None)

    def test_when_more_is_asked_for(self) -> None:
        """Records count once, at the next poll; the application may change its lists."""
        found = self.positions.take(4)
        self.assertEqual(self.counted(), [])
        found[T0].clear()
        self.positions.mark_processed()
        self.positions.mark_processed()
        self.assertEqual(self.counted(), [0, 1, 2, 3])

    def test_topics(self) -> None:
        """Records are reported for their own topics."""
        self.made.fill(T1, 1)
        self.positions.take(10)
        self.positions.mark_processed()
        self.assertEqual(self.made.counted, {"t": [0, 1, 2, 3, 4], "u": [0]})

    def test_hand_that_is_left(self) -> None:
        """Delivered records of an interrupted delivery count; the rest counts when it is delivered again."""
        self.made.give(1)
        self.positions.mark_processed()
        self.assertEqual(self.counted(), [0])
        self.positions.take(1)
        self.positions.mark_processed()
        self.assertEqual(self.counted(), [0, 1])

    def test_paused(self) -> None:
        """Records that a pause took out of a delivery count once, when they are delivered."""
        hand = self.made.give(1)
        self.positions[T0].interrupt_delivery()
        self.positions.finish_delivery(hand)
        self.positions.take(100)
        self.positions.mark_processed()
        self.assertEqual(self.counted(), [0, 1, 2, 3, 4])

    def test_function_that_fails(self) -> None:
        """The record that a function failed with does not count, and those before it do."""
        hand = self.made.give(2)
        self.positions.fail_delivery(hand)
        self.assertEqual(self.counted(), [0])
        self.assertEqual(self.positions[T0].position, 1)

    def test_list_that_fails(self) -> None:
        """Records of a list do not count if its function fails."""
        hand = self.made.give(0)
        hand.take_all()
        self.positions.fail_delivery(hand)
        self.assertEqual(self.counted(), [])

    def test_seek(self) -> None:
        """Records count up to the offset of a seek: the others are delivered again."""
        self.positions.take(4)
        self.positions[T0].seek(1)
        self.assertEqual(self.counted(), [0])
        self.positions[T0].seek(0)
        self.positions.mark_processed()
        self.assertEqual(self.counted(), [0])

    def test_seek_to(self) -> None:
        """All records come again after a seek to the beginning, and none after a seek to the end."""
        self.positions.take(1)
        self.positions[T0].request_offset_reset(EARLIEST)
        self.assertEqual(self.counted(), [])
        self.positions[T0].set_position(0)
        self.made.fill(T0, 5)
        self.positions.take(3)
        self.positions[T0].request_offset_reset(LATEST)
        self.assertEqual(self.counted(), [0, 1, 2])

    def test_dropped(self) -> None:
        """Records that are read again after a change of leader do not count twice."""
        hand = self.made.give(1)
        self.positions[T0].drop_buffered()
        self.positions.finish_delivery(hand)
        self.made.fill(T0, 4)
        self.positions.take(100)
        self.positions.mark_processed()
        self.assertEqual(self.counted(), [0, 1, 2, 3, 4])

    def test_gone(self) -> None:
        """Delivered records of revoked partitions count, and buffered ones do not."""
        hand = self.made.give(1)
        self.positions.remove_partitions([T0])
        self.assertEqual(self.counted(), [0])
        self.positions.finish_delivery(hand)
        self.made.add()
        self.assertEqual(self.counted(), [0])


STEPS = st.lists(
    st.tuples(
        st.sampled_from(["take", "give", "settle", "pause", "seek", "fail", "drop", "remove"]),
        st.integers(0, 12),
    ),
    max_size=40,
)


class ModelTests(SynchronousTestCase):
    @settings(deadline=None, max_examples=200)
    @given(STEPS)
    def test_any(self, steps: list[Any]) -> None:
        """The counted records are those that were delivered and did not come again, in every random run."""
        made = Counted()
        positions, expected = made.positions, []
        given_out: list[int] = []
        hand: Delivery | None = None
        for step, number in steps:
            position = positions[T0]
            if position.fetchable and position.fetch_offset < 1000:
                made.fill(T0, 1 + number % 3, 2)
            if step in ("take", "give"):
                positions.mark_processed()
                expected += given_out
                given_out, hand = [], None
                if step == "take":
                    given_out = [record.offset for record in positions.take(number).get(T0, [])]
                    continue
                hand = positions.next_delivery(max(1, number))
                assert hand is not None
                for _, record in zip(range(number % 4), hand.remaining, strict=False):
                    hand.last = record
                    given_out.append(record.offset)
            elif step == "settle":
                positions.mark_processed()
                expected += given_out
                given_out, hand = [], None
            elif step == "pause":
                position.interrupt_delivery()
            elif step == "seek":
                position.seek(number)
                expected += [offset for offset in given_out if offset < number]
                given_out = []
            elif step == "fail" and hand is not None:
                if not hand.stale:
                    expected += given_out[:-1]
                    given_out = []
                positions.fail_delivery(hand)
                expected += given_out
                given_out, hand = [], None
            elif step == "drop":
                position.drop_buffered()
            elif step == "remove":
                positions.remove_partitions([T0])
                expected += given_out
                given_out = []
                if hand is not None:
                    positions.finish_delivery(hand)
                    hand = None
                made.add()
        positions.mark_processed()
        self.assertEqual(made.counted["t"], expected + given_out)
