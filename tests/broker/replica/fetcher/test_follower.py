"""A follower: what it asks for, and what answers do to its log."""

from __future__ import annotations

from typing import Any

import attrs
from twisted.internet.defer import Deferred
from twisted.logger import LogLevel, capturedLogs, formatEvent

from kafkatx.errors import ErrorCode
from kafkatx.wire.messages.fetch import EpochEndOffset
from tests.broker.cluster import FakeMetadataStore
from tests.broker.replica.fetcher.case import FollowerCase, HeldFlushes, batch, epochs_of, stored


class AskTests(FollowerCase):
    def test_empty(self) -> None:
        """An empty log is asked for from its end, without a last epoch."""
        part = self.follower.ask(1000)
        self.assertEqual((part.partition, part.current_leader_epoch, part.partition_max_bytes), (0, 5, 1000))
        self.assertEqual((part.fetch_offset, part.last_fetched_epoch, part.log_start_offset), (0, -1, 0))

    def test_last_epoch(self) -> None:
        """The last epoch is read from the log for each fetch, also after an answer without records."""
        self.keep(batch(0, 2), batch(1, 3))
        self.take()
        self.assertEqual(self.follower.ask(1000).last_fetched_epoch, 3)
        self.take(batch(2, 4))
        part = self.follower.ask(1000)
        self.assertEqual((part.fetch_offset, part.last_fetched_epoch), (3, 4))

    def test_no_epochs(self) -> None:
        """A log whose records name no epochs is cut to the high watermark before it is asked for."""
        self.keep(batch(0, -1), batch(1, -1), batch(2, -1))
        self.partition.high_watermark = 2
        self.assertTrue(self.follower.is_ready())
        self.assertEqual(self.follower.ask(1000).fetch_offset, 2)
        self.keep(batch(2, -1))
        self.assertTrue(self.follower.is_ready())
        self.assertEqual(self.follower.ask(1000).fetch_offset, 3)

    def test_cut_fails(self) -> None:
        """A log that cannot be cut makes its own partition wait, and is cut later."""
        self.keep(batch(0, -1), batch(1, -1))

        def fail(offset: int) -> None:
            raise OSError(1, "not permitted")

        truncate_to = self.log.truncate_to
        self.patch(self.log, "truncate_to", fail)
        self.assertFalse(self.follower.is_ready())
        self.patch(self.log, "truncate_to", truncate_to)
        self.assertTrue(self.is_paused())
        self.assertEqual(self.follower.ask(1000).fetch_offset, 0)

    def test_offline(self) -> None:
        """A partition whose log dir has failed is not asked for."""
        self.assertTrue(self.follower.is_ready())
        self.partition.offline = True
        self.assertFalse(self.follower.is_ready())

    def test_nothing_is_cut(self) -> None:
        """A log with epochs keeps what is above its high watermark: only the leader can tell (KIP-101)."""
        self.keep(batch(0, 2), batch(1, 2))
        self.assertEqual(self.partition.high_watermark, 0)
        self.assertEqual(self.follower.ask(1000).fetch_offset, 2)


class AppendTests(FollowerCase):
    def test_records(self) -> None:
        """Batches are appended as they are; high watermark and log start follow."""
        first, second = batch(0, 2, b"a", b"b"), batch(2, 5, b"c")
        size = self.take(first, second, high_watermark=2, log_start_offset=1)
        self.assertEqual(size, len(first) + len(second))
        self.assertEqual(bytes(self.log.read(1, 1 << 20, 3, True)), first + second)
        self.assertEqual(epochs_of(self.log), [2, 5])
        self.assertEqual((self.partition.high_watermark, self.log.log_start_offset), (2, 1))

    def test_partial_batch(self) -> None:
        """A part of a batch at the end is left out."""
        first = batch(0, 5)
        self.assertEqual(self.take(first, batch(1, 5)[:-1]), len(first))
        self.assertEqual(self.log.log_end_offset, 1)

    def test_high_watermark(self) -> None:
        """The high watermark is at most the own log's end, and never goes back."""
        self.take(batch(0, 5), high_watermark=9)
        self.assertEqual(self.partition.high_watermark, 1)
        self.take(high_watermark=0)
        self.assertEqual(self.partition.high_watermark, 1)

    def test_gap(self) -> None:
        """A gap is what compaction has left: the next offset follows the last batch."""
        self.take(batch(0, 5), batch(7, 5))
        self.assertEqual(self.log.log_end_offset, 8)


class DroppedTests(FollowerCase):
    """Answers that do not count any more (race 6)."""

    def test_other_offset(self) -> None:
        """An answer to a fetch at another offset than the log's end is dropped, as is all that it tells."""
        self.keep(batch(0, 2), batch(1, 2))
        self.assertEqual(self.take(batch(1, 5), at=1, high_watermark=2), 0)
        self.assertEqual(self.take(batch(3, 5), at=3, high_watermark=2), 0)
        self.assertEqual(self.take(at=1, diverging_epoch=EpochEndOffset(2, 0)), 0)
        self.assertEqual((self.log.log_end_offset, self.partition.high_watermark), (2, 0))

    def test_other_role(self) -> None:
        """An answer of a leader, or an epoch, that the partition follows no more is dropped."""
        moved: dict[str, Any] = {"replicas": (2,)}
        for changes in ({"leader_epoch": 6}, {"leader": 3}, {"leader": -1}, {"leader": 1}, moved):
            self.setUp()
            state = attrs.evolve(self.partition.state, **changes)
            self.partition.apply(state, acts=True)
            self.assertEqual(self.take(batch(0, 5), high_watermark=1), 0, changes)
            self.assertEqual(self.log.log_end_offset, 0)

    def test_isr_alone(self) -> None:
        """An answer still counts when only the in-sync replicas have changed."""
        state = attrs.evolve(self.partition.state, isr=(2,), partition_epoch=9)
        self.partition.apply(state, acts=True)
        self.assertGreater(self.take(batch(0, 5)), 0)


class DivergingTests(FollowerCase):
    def setUp(self) -> None:
        """Records of epochs 2, 2, 3, 4."""
        super().setUp()
        self.keep(batch(0, 2), batch(1, 2), batch(2, 3), batch(3, 4))

    def test_cut(self) -> None:
        """The log is cut; records and high watermark of the same answer are not used (KAFKA-14704)."""
        found = EpochEndOffset(2, 1)
        size = self.take(batch(4, 5), diverging_epoch=found, high_watermark=4, log_start_offset=1)
        self.assertEqual(size, 0)
        self.assertEqual((self.log.log_end_offset, self.log.log_start_offset), (1, 0))
        self.assertEqual(self.partition.high_watermark, 0)
        self.assertTrue(self.follower.is_ready())

    def test_epoch_without_records(self) -> None:
        """An epoch that this broker led without a record is forgotten; the records stay."""
        self.log.begin_epoch(5)
        self.take(diverging_epoch=EpochEndOffset(4, 9))
        self.assertEqual((self.log.log_end_offset, self.follower.ask(1).last_fetched_epoch), (4, 4))
        self.assertTrue(self.follower.is_ready())

    def test_nothing_to_cut(self) -> None:
        """An answer that changes nothing is not asked for again at once."""
        self.take(diverging_epoch=EpochEndOffset(4, 9))
        self.assertEqual(self.log.log_end_offset, 4)
        self.assertTrue(self.is_paused())

    def test_same_cut(self) -> None:
        """A leader that has its own records cut off, again and again, is asked at intervals that grow."""
        pauses = []
        with capturedLogs() as events:
            for _ in range(5):
                self.assertGreater(self.take(batch(4, 5), batch(5, 5)), 0)
                self.assertTrue(self.follower.is_ready())
                self.take(diverging_epoch=EpochEndOffset(4, 4))
                self.assertEqual(self.log.log_end_offset, 4)
                pauses.append(max(self.follower.not_before_s - self.clock.seconds(), 0))
                self.clock.advance(pauses[-1])
        self.assertEqual([round(pause, 3) for pause in pauses], [0, 0, 0.05, 0.1, 0.2])
        warnings = [formatEvent(event) for event in events if event["log_level"] is LogLevel.warn]
        self.assertIn("from offset 4 on, and then says to cut them off, 3 times", warnings[0])

    def test_other_cuts(self) -> None:
        """Cuts in a row to find where the logs agree, and later ones further on, are made at once."""
        for epoch, end in ((3, 3), (2, 2), (2, 1)):
            self.take(diverging_epoch=EpochEndOffset(epoch, end))
            self.assertEqual(self.log.log_end_offset, end)
            self.assertTrue(self.follower.is_ready())
        for end in (2, 3, 4, 5):
            self.assertGreater(self.take(batch(end - 1, 2), batch(end, 2)), 0)
            self.take(diverging_epoch=EpochEndOffset(2, end))
            self.assertEqual(self.log.log_end_offset, end)
            self.assertTrue(self.follower.is_ready())

    def test_below_the_high_watermark(self) -> None:
        """After an unclean election committed records are cut, and the high watermark goes back with them."""
        self.take(high_watermark=4)
        self.assertEqual(self.partition.high_watermark, 4)
        self.take(diverging_epoch=EpochEndOffset(2, 1))
        self.assertEqual((self.log.log_end_offset, self.partition.high_watermark), (1, 1))


class OutOfRangeTests(FollowerCase):
    def setUp(self) -> None:
        """Four records of epoch 2, two of them committed."""
        super().setUp()
        self.keep(*(batch(offset, 2) for offset in range(4)))
        self.take(high_watermark=2)

    def out(self, start: int, end: int | None) -> None:
        """Take the answer of a leader whose log has these offsets."""
        found = None if end is None else EpochEndOffset(3, end)
        self.take(
            code=ErrorCode.OFFSET_OUT_OF_RANGE,
            diverging_epoch=found,
            log_start_offset=start,
            high_watermark=end or 0,
        )

    def test_leader_ends_earlier(self) -> None:
        """The log is cut to the leader's end."""
        self.out(0, 3)
        self.assertEqual((self.log.log_end_offset, self.partition.high_watermark), (3, 2))

    def test_leader_starts_later(self) -> None:
        """The log is emptied and begins at the leader's start, which is the high watermark (KAFKA-9491)."""
        self.out(9, 20)
        self.assertEqual((self.log.log_start_offset, self.log.log_end_offset), (9, 9))
        self.assertEqual(self.partition.high_watermark, 9)
        self.assertEqual(self.follower.ask(1).last_fetched_epoch, -1)
        self.take(batch(9, 5))
        self.assertEqual(self.log.log_end_offset, 10)

    def test_in_range_by_now(self) -> None:
        """An offset that the leader has by now changes nothing: it is asked for again after a pause."""
        self.out(0, 20)
        self.assertEqual(self.log.log_end_offset, 4)
        self.assertTrue(self.is_paused())

    def test_nothing_told(self) -> None:
        """An answer that does not say where the leader's log is changes nothing."""
        self.out(-1, None)
        self.assertEqual((self.log.log_start_offset, self.log.log_end_offset), (0, 4))
        self.assertTrue(self.is_paused())

    def test_start_within_a_batch(self) -> None:
        """The leader's log may start within a batch, which is appended whole."""
        self.out(9, 20)
        self.take(batch(8, 5, b"a", b"b", b"c"))
        self.assertEqual(self.log.log_end_offset, 11)


class WithinABatchTests(FollowerCase):
    """An answer whose first batch begins below the log's end, which Fetch allows."""

    def setUp(self) -> None:
        """Four records of epoch 2, two of them committed."""
        super().setUp()
        self.keep(batch(0, 2, b"a"), batch(1, 2, b"b", b"c", b"d"))
        self.take(high_watermark=2)

    def test_deleted(self) -> None:
        """The leader has deleted all that the log has: its batch is appended whole, after them."""
        sent = batch(3, 5, b"x", b"y")
        self.assertEqual(self.take(sent, log_start_offset=4, high_watermark=5), len(sent))
        self.assertEqual((self.log.log_start_offset, self.log.log_end_offset), (4, 5))
        self.assertEqual((stored(self.log), self.partition.high_watermark), (sent, 5))
        self.assertEqual(self.follower.ask(1).last_fetched_epoch, 5)
        self.assertTrue(self.follower.is_ready())
        self.take(batch(5, 5), log_start_offset=4)
        self.assertEqual(self.log.log_end_offset, 6)

    def test_records_stay(self) -> None:
        """Records that the leader has, too, are not given up for it."""
        for start in (0, 3):
            self.assertEqual(self.take(batch(3, 5, b"x", b"y"), log_start_offset=start), 0)
            self.assertEqual((self.log.log_start_offset, self.log.log_end_offset), (0, 4))
            self.clock.advance(1)

    def test_ends_below(self) -> None:
        """A batch that does not reach the log's end is none that was asked for."""
        self.assertEqual(self.take(batch(2, 5, b"x", b"y"), log_start_offset=4), 0)
        self.assertEqual((self.log.log_start_offset, self.log.log_end_offset), (0, 4))
        self.assertTrue(self.is_paused())

    def test_gap_of_a_cut(self) -> None:
        """A cut within a batch has left a gap: the log goes on at the leader's batch there."""
        self.take(diverging_epoch=EpochEndOffset(2, 3))
        self.assertEqual(self.log.log_end_offset, 3)
        sent = batch(1, 2, b"b", b"c", b"d")
        self.assertEqual(self.take(sent), 0)
        self.assertEqual((self.follower.ask(1).fetch_offset, self.log.log_start_offset), (1, 0))
        self.assertTrue(self.follower.is_ready())
        self.flushLoggedErrors()
        self.assertEqual(self.take(sent), len(sent))
        self.assertEqual(stored(self.log), batch(0, 2, b"a") + sent)


class WrongTests(FollowerCase):
    """Answers that no leader gives: nothing of them is appended."""

    def setUp(self) -> None:
        """Two records of epoch 3."""
        super().setUp()
        self.keep(batch(0, 3), batch(1, 3))

    def check_refused(self, *batches: bytes) -> None:
        """Check that an answer changes nothing, and that the follower goes on after a pause."""
        self.assertEqual(self.take(*batches, high_watermark=9), 0)
        self.assertEqual((self.log.log_end_offset, self.partition.high_watermark), (2, 0))
        self.assertTrue(self.is_paused())
        self.assertGreater(self.take(batch(2, 5)), 0)
        self.assertEqual(self.log.log_end_offset, 3)

    def test_offsets_go_back(self) -> None:
        """A batch below the log's end is refused."""
        self.check_refused(batch(1, 5))

    def test_offsets_overlap(self) -> None:
        """A batch that begins below the end of the one before is refused, and that one with it."""
        self.check_refused(batch(2, 5, b"a", b"b"), batch(3, 5))

    def test_crc(self) -> None:
        """A batch with a wrong checksum is refused."""
        data = bytearray(batch(2, 5))
        data[-1] ^= 1
        self.check_refused(batch(2, 5), bytes(data))

    def test_later_epoch(self) -> None:
        """A batch of a later epoch than the leader's is refused (race 22)."""
        self.check_refused(batch(2, 6))

    def test_earlier_epoch(self) -> None:
        """A batch of an earlier epoch than the one before is refused."""
        self.check_refused(batch(2, 2))

    def test_less_than_a_batch(self) -> None:
        """An answer that has not even one batch is not asked for again at once."""
        self.check_refused(batch(2, 5)[:-1])

    def test_noise(self) -> None:
        """Bytes that are no batches are refused."""
        self.check_refused(b"\1" * 200)

    def test_disk(self) -> None:
        """A write that fails leaves the log as it was."""

        def fail() -> None:
            raise OSError(5, "the disk is gone")

        self.patch(self.log, "write", fail)
        self.assertEqual(self.take(batch(2, 5), high_watermark=3), 0)
        self.assertEqual((self.log.log_end_offset, self.partition.high_watermark), (2, 0))
        self.assertTrue(self.is_paused())

    def test_bug(self) -> None:
        """An exception that is a bug is logged, and the follower goes on."""

        def fail(records: Any, leader_epoch: int) -> int:
            raise ZeroDivisionError

        self.patch(self.log, "append_as_follower", fail)
        self.take(batch(2, 5))
        self.assertEqual(len(self.flushLoggedErrors(ZeroDivisionError)), 1)
        self.assertTrue(self.is_paused())


class PauseTests(FollowerCase):
    def test_errors(self) -> None:
        """Errors of the leader pause the partition, longer each time; an answer ends that."""
        for code, pause_s in ((6, 0.05), (75, 0.1), (100, 0.2), (56, 0.4), (6, 0.8), (6, 1.0), (6, 1.0)):
            self.take(code=code)
            self.clock.advance(pause_s - 0.001)
            self.assertFalse(self.follower.is_ready(), (code, pause_s))
            self.clock.advance(0.002)
            self.assertTrue(self.follower.is_ready(), (code, pause_s))
        self.take()
        self.take(code=6)
        self.assertTrue(self.is_paused())


class FlushTests(FollowerCase):
    """flush.messages: the next fetch acknowledges, so it waits for the flush."""

    def setUp(self) -> None:
        """Flush after two records; the disk is slow."""
        super().setUp()
        self.partition.flush_messages = 2
        self.flushes = HeldFlushes()
        self.offset = 0
        self.patch(self.log, "flush", self.flushes)
        self.patch(type(self.log), "flushed_offset", property(lambda log: self.offset))

    def test_waits(self) -> None:
        """The partition is not asked for while so many records are unflushed."""
        self.take(batch(0, 5))
        self.assertTrue(self.follower.is_ready())
        self.take(batch(1, 5))
        self.assertFalse(self.follower.is_ready())
        self.assertFalse(self.follower.is_ready())
        self.assertEqual((len(self.flushes.waiting), self.flushed), (1, 0))
        self.offset = 2
        self.flushes.waiting[0].callback(2)
        self.assertEqual(self.flushed, 1)
        self.assertTrue(self.follower.is_ready())

    def test_failure(self) -> None:
        """After a flush that failed nothing is acknowledged; another one is tried."""
        self.take(batch(0, 5), batch(1, 5))
        self.assertFalse(self.follower.is_ready())
        self.flushes.waiting[0].errback(OSError(5, "the disk is gone"))
        self.assertFalse(self.follower.is_ready())
        self.clock.advance(0.05)
        self.assertFalse(self.follower.is_ready())
        self.assertEqual(len(self.flushes.waiting), 2)

    def test_timer(self) -> None:
        """flush.ms holds for followers: a write starts the timer."""
        self.partition.flush_s = 3.0
        self.take(batch(0, 5))
        self.assertIsNotNone(self.partition.flush_timer)
        self.clock.advance(3.0)
        self.assertEqual(len(self.flushes.waiting), 1)


class LogStartTests(FollowerCase):
    """A new log start: the next fetch says that it is kept, so it is on the disk before (race 26)."""

    def setUp(self) -> None:
        """Move the log start to 1; the disk is slow."""
        super().setUp()
        self.saving: list[Deferred[None]] = []
        self.take(batch(0, 5), batch(1, 5), high_watermark=2)
        self.assertTrue(self.follower.is_ready())
        self.take(high_watermark=2, log_start_offset=1)
        self.assertEqual(self.log.log_start_offset, 1)

    def save_start(self) -> Deferred[None]:
        """Begin to save."""
        self.saving.append(Deferred())
        return self.saving[-1]

    def test_waits(self) -> None:
        """The partition is asked for when the log start is saved, and then as before."""
        self.assertFalse(self.follower.is_ready())
        self.assertFalse(self.follower.is_ready())
        self.saving[0].callback(None)
        self.assertTrue(self.follower.is_ready())
        self.assertEqual(self.flushed, 1)
        self.take(high_watermark=2, log_start_offset=1)
        self.assertTrue(self.follower.is_ready())
        self.assertEqual(len(self.saving), 1)

    def test_failure(self) -> None:
        """A log start that could not be saved is not told; saving it is tried again."""
        self.assertFalse(self.follower.is_ready())
        self.saving[0].errback(OSError(5, "the disk is gone"))
        self.assertFalse(self.follower.is_ready())
        self.clock.advance(0.05)
        self.assertFalse(self.follower.is_ready())
        self.saving[1].callback(None)
        self.assertTrue(self.follower.is_ready())


class ThrottleTests(FollowerCase):
    def limit(self, isr: tuple[int, ...]) -> None:
        """Limit copies of the partition to 1 byte a second, which is exceeded by far."""
        metadata = FakeMetadataStore()
        metadata.put(metadata.make_topic("t", [[2, 1]], {"follower.replication.throttled.replicas": "*"}))
        throttle = self.make_throttle(metadata, **{"follower.replication.throttled.rate": "1"})
        self.partition.apply(attrs.evolve(self.partition.state, isr=isr), True)
        self.follower = self.make_follower(throttle)
        self.take(batch(0, 5))

    def test_held_back(self) -> None:
        """A copy that is not in sync waits while the limit is exceeded, and goes on afterwards."""
        self.limit(isr=(2,))
        self.assertFalse(self.follower.is_ready())
        self.assertGreater(self.follower.not_before_s, self.clock.seconds())
        self.clock.advance(1000)
        self.assertTrue(self.follower.is_ready())

    def test_in_sync(self) -> None:
        """A copy that is in sync never waits: producers wait for it."""
        self.limit(isr=(2, 1))
        self.assertTrue(self.follower.is_ready())
