"""Flushes of records to the disk: flush.messages, flush.ms, and the visibility of unflushed records."""

from __future__ import annotations

from typing import Any

from twisted.internet.defer import Deferred

from kafkatx.records.builder import build_values
from kafkatx.wire.messages.fetch import FetchPartition, FetchRequest, FetchTopic
from kafkatx.wire.messages.list_offsets import ListOffsetsPartition, ListOffsetsRequest, ListOffsetsTopic
from tests.broker.files import FileBrokerTestCase
from tests.broker.running import NOW_MS, Held, produce_request, values


class FlushTestCase(FileBrokerTestCase):
    """A test case with a broker whose disk works when the test says so."""

    def setUp(self) -> None:
        """Start the broker."""
        self.held = Held()
        self.held.holding = False
        super().setUp()
        self.held.holding = True

    def make_broker(self, workers: Any = None, **settings: str) -> Any:
        """Return a broker with those workers."""
        return super().make_broker(self.held, **settings)

    def topic(self, **configs: str) -> Any:
        """Make a topic; return its only partition."""
        self.held.holding = False
        (partition,) = self.make_topic("t", 1, **configs)
        self.held.holding = True
        return partition

    def send(self, count: int = 1, acks: int = 1) -> Any:
        """Produce *count* records in one batch; return the answer."""
        return self.answer(0, 9, produce_request(build_values([b"v"] * count, NOW_MS), acks))

    def fetch(self, offset: int = 0, max_wait_ms: int = 0) -> Any:
        """Return the answer to a fetch."""
        asked = [FetchTopic("t", partitions=[FetchPartition(0, -1, offset, partition_max_bytes=1 << 20)])]
        request = FetchRequest(max_wait_ms=max_wait_ms, min_bytes=1, max_bytes=1 << 20, topics=asked)
        return self.answer(1, 12, request)

    def part(self, answer: Any) -> Any:
        """Return the partition's part of a fetch's answer."""
        reply = self.successResultOf(answer) if isinstance(answer, Deferred) else answer
        return self.response(1, 12, reply).responses[0].partitions[0]

    def latest(self) -> int:
        """Return the latest offset from ListOffsets."""
        asked = [ListOffsetsTopic("t", [ListOffsetsPartition(0, -1, -1)])]
        offset: int = self.ask(2, 7, ListOffsetsRequest(-1, 0, asked)).topics[0].partitions[0].offset
        return offset


class FlushMessagesTests(FlushTestCase):
    def test_every_message(self) -> None:
        """The reply waits for the disk with flush.messages=1, whatever the acks; waiters share a flush."""
        partition = self.topic(flush_messages="1")
        for acks in (1, -1):
            waiting = [self.send(acks=acks) for _ in range(10)]
            self.held.work(1)
            self.successResultOf(waiting[0])
            for answer in waiting[1:]:
                self.assertNoResult(answer)
            self.held.work(1)
            for answer in waiting[1:]:
                self.successResultOf(answer)
        self.assertEqual(partition.log.flushed_offset, 20)

    def test_a_duplicate_waits_too(self) -> None:
        """A duplicate batch is not acknowledged before the first one is on the disk."""
        self.topic(flush_messages="1")
        records = build_values([b"v"], NOW_MS, producer_id=5, producer_epoch=0, base_sequence=0)
        both = [self.answer(0, 9, produce_request(records, 1)) for _ in range(2)]
        for answer in both:
            self.assertNoResult(answer)
        self.held.work()
        for answer in both:
            self.successResultOf(answer)

    def test_every_few(self) -> None:
        """Only the request with the third record waits with flush.messages=3."""
        partition = self.topic(flush_messages="3")
        for _ in range(2):
            self.assertNotIsInstance(self.send(), Deferred)
        third = self.send()
        self.assertNoResult(third)
        self.held.work()
        self.successResultOf(third)
        self.assertEqual(partition.log.flushed_offset, 3)

    def test_without(self) -> None:
        """No request waits and no flush is scheduled without a limit."""
        partition = self.topic()
        self.assertNotIsInstance(self.send(1000), Deferred)
        self.clock.advance(10_000)
        self.assertEqual((partition.log.flushed_offset, partition.flush_timer), (0, None))


class ChangedTests(FlushTestCase):
    """Changes of the flush policy while there are records."""

    def alter(self, **configs: str) -> None:
        """Set the topic's configs, replacing all others; ``_`` in names stands for ``.``."""
        new = {name.replace("_", "."): value for name, value in configs.items()}
        altering = Deferred.fromCoroutine(self.broker.topic_commands.alter_configs("t", lambda _: new))
        self.successResultOf(altering)

    def test_flush_ms_for_what_is_there(self) -> None:
        """A shorter flush.ms also applies to earlier records; without one the timer is cancelled."""
        partition = self.topic(flush_ms="60000")
        self.send()
        self.alter(flush_ms="100")
        self.clock.advance(0.1)
        self.held.work()
        self.assertEqual(partition.log.flushed_offset, 1)
        self.send()
        self.alter()
        self.assertIsNone(partition.flush_timer)
        self.alter(flush_ms="100")
        self.assertIsNotNone(partition.flush_timer)

    def test_nothing_to_flush(self) -> None:
        """No timer is set if all records are on the disk."""
        partition = self.topic()
        self.alter(flush_ms="100")
        self.assertIsNone(partition.flush_timer)

    def test_flush_messages(self) -> None:
        """The next reply waits for the disk after flush.messages is set to 1."""
        self.topic()
        self.assertNotIsInstance(self.send(), Deferred)
        self.alter(flush_messages="1")
        waiting = self.send()
        self.assertNoResult(waiting)
        self.held.work()
        self.successResultOf(waiting)

    def test_exposed_later(self) -> None:
        """Exposed records stay so after a change to kafkatx.expose=flushed; later ones wait for the disk."""
        self.topic()
        self.send(2)
        self.alter(kafkatx_expose="flushed")
        self.assertEqual(self.latest(), 2)
        self.send(3)
        self.assertEqual(self.latest(), 2)
        self.clock.advance(1)
        self.held.work()
        self.assertEqual(self.latest(), 5)

    def test_exposed_at_once(self) -> None:
        """A parked fetch sees records at once after a change back to kafkatx.expose=written."""
        self.topic(kafkatx_expose="flushed")
        self.send(2)
        waiting = self.fetch(max_wait_ms=10_000)
        self.assertNoResult(waiting)
        self.alter()
        self.assertEqual(self.part(waiting).high_watermark, 2)


class FlushMsTests(FlushTestCase):
    def test_after_a_while(self) -> None:
        """The first unflushed record is flushed after flush.ms=50, and no request waits."""
        partition = self.topic(flush_ms="50")
        self.assertNotIsInstance(self.send(), Deferred)
        self.clock.advance(0.04)
        self.send()
        self.held.work()
        self.assertEqual(partition.log.flushed_offset, 0)
        self.clock.advance(0.011)
        self.held.work()
        self.assertEqual(partition.log.flushed_offset, 2)

    def test_while_flushing(self) -> None:
        """Records written during a flush have their own 50 ms."""
        partition = self.topic(flush_ms="50")
        self.send()
        self.clock.advance(0.051)
        self.send()
        self.held.work()
        self.assertEqual(partition.log.flushed_offset, 1)
        self.clock.advance(0.051)
        self.held.work()
        self.assertEqual(partition.log.flushed_offset, 2)

    def test_idle_costs_nothing(self) -> None:
        """An idle partition has no timer, before and after its flush."""
        idle = self.topic(flush_ms="50")
        self.assertEqual(self.clock.getDelayedCalls(), [])
        self.send()
        self.assertEqual(len(self.clock.getDelayedCalls()), 1)
        self.clock.advance(0.051)
        self.held.work()
        self.assertEqual((self.clock.getDelayedCalls(), idle.flush_timer), ([], None))

    def test_after_a_crash(self) -> None:
        """Unflushed records from before a crash are flushed in time after it."""
        self.topic(flush_ms="50")
        self.send()
        self.restart(self.held)
        (partition,) = self.broker.topics.of("t")
        self.assertEqual((partition.log.log_end_offset, partition.log.flushed_offset), (1, 0))
        self.clock.advance(0.051)
        self.held.work()
        self.assertEqual(partition.log.flushed_offset, 1)

    def test_stopped(self) -> None:
        """A stopped broker, a deleted topic and a failed dir leave no timer."""
        self.topic(flush_ms="50")
        self.send()
        self.broker.flushes.stop()
        self.assertEqual(self.clock.getDelayedCalls(), [])
        self.send()
        deleting = Deferred.fromCoroutine(self.broker.topic_commands.delete("t"))
        self.held.work()
        self.successResultOf(deleting)
        soon = [call for call in self.clock.getDelayedCalls() if call.getTime() < self.clock.seconds() + 1]
        self.assertEqual(soon, [])


class ExposeTests(FlushTestCase):
    def test_written(self) -> None:
        """A consumer sees a record when it is written, by default."""
        self.topic()
        self.send()
        self.assertEqual((self.latest(), values(self.part(self.fetch()).records)), (1, [b"v"]))

    def test_flushed(self) -> None:
        """A record and its offset are invisible before the flush with log.expose=flushed."""
        self.topic(kafkatx_expose="flushed", flush_ms="50")
        self.send()
        part = self.part(self.fetch())
        self.assertEqual((self.latest(), part.records, part.high_watermark), (0, b"", 0))
        self.clock.advance(0.051)
        self.assertEqual(self.latest(), 0)
        self.held.work()
        part = self.part(self.fetch())
        self.assertEqual((self.latest(), values(part.records), part.high_watermark), (1, [b"v"], 1))

    def test_parked(self) -> None:
        """A parked fetch is answered after the flush, not after the write."""
        self.topic(kafkatx_expose="flushed", flush_messages="1")
        waiting = self.fetch(max_wait_ms=10_000)
        produced = self.send()
        self.assertNoResult(waiting)
        self.held.work()
        self.successResultOf(produced)
        self.assertEqual(values(self.part(waiting).records), [b"v"])

    def test_without_flush_ms(self) -> None:
        """Records are exposed within a second if flush.ms is not set."""
        self.topic(kafkatx_expose="flushed")
        self.send()
        self.clock.advance(0.99)
        self.held.work()
        self.assertEqual(self.latest(), 0)
        self.clock.advance(0.02)
        self.held.work()
        self.assertEqual(self.latest(), 1)

    def test_after_a_crash(self) -> None:
        """Records exposed before a crash are exposed at once after it."""
        self.topic(kafkatx_expose="flushed", flush_messages="1")
        self.send()
        self.held.work()
        self.assertEqual(self.latest(), 1)
        self.held.holding = False
        self.restart(self.held)
        self.assertEqual(self.latest(), 1)
