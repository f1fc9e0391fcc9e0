"""When records come to the disk: flush.messages, flush.ms, and who sees what before."""

from __future__ import annotations

from typing import Any

from twisted.internet.defer import Deferred

from kafkatx.records.builder import build_values
from kafkatx.wire.messages.fetch import FetchPartition, FetchRequest, FetchTopic
from kafkatx.wire.messages.list_offsets import ListOffsetsPartition, ListOffsetsRequest, ListOffsetsTopic
from tests.broker.files import FileBrokerTestCase
from tests.broker.running import NOW_MS, Held, produce_request, values


class FlushTestCase(FileBrokerTestCase):
    """A broker whose disk takes its time."""

    def setUp(self) -> None:
        """Start it."""
        self.held = Held()
        self.held.holding = False
        super().setUp()
        self.held.holding = True

    def make_broker(self, workers: Any = None, **settings: str) -> Any:
        """A broker with those workers."""
        return super().make_broker(self.held, **settings)

    def topic(self, **configs: str) -> Any:
        """A topic with one partition, its only one."""
        self.held.holding = False
        (partition,) = self.make_topic("t", 1, **configs)
        self.held.holding = True
        return partition

    def send(self, count: int = 1, acks: int = 1) -> Any:
        """Produce so many records in one batch; what is answered."""
        return self.answer(0, 9, produce_request(build_values([b"v"] * count, NOW_MS), acks))

    def fetch(self, offset: int = 0, max_wait_ms: int = 0) -> Any:
        """What is answered to a fetch."""
        asked = [FetchTopic("t", partitions=[FetchPartition(0, -1, offset, partition_max_bytes=1 << 20)])]
        request = FetchRequest(max_wait_ms=max_wait_ms, min_bytes=1, max_bytes=1 << 20, topics=asked)
        return self.answer(1, 12, request)

    def part(self, answer: Any) -> Any:
        """The partition's part of a fetch's answer."""
        reply = self.successResultOf(answer) if isinstance(answer, Deferred) else answer
        return self.response(1, 12, reply).responses[0].partitions[0]

    def latest(self) -> int:
        """What ListOffsets tells."""
        asked = [ListOffsetsTopic("t", [ListOffsetsPartition(0, -1, -1)])]
        offset: int = self.ask(2, 7, ListOffsetsRequest(-1, 0, asked)).topics[0].partitions[0].offset
        return offset


class FlushMessagesTests(FlushTestCase):
    def test_every_message(self) -> None:
        """With flush.messages=1 the reply waits for the disk, whatever acks says; those who wait share."""
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
        """A batch that is sent again is not acknowledged before the first one is on the disk."""
        self.topic(flush_messages="1")
        records = build_values([b"v"], NOW_MS, producer_id=5, producer_epoch=0, base_sequence=0)
        both = [self.answer(0, 9, produce_request(records, 1)) for _ in range(2)]
        for answer in both:
            self.assertNoResult(answer)
        self.held.work()
        for answer in both:
            self.successResultOf(answer)

    def test_every_few(self) -> None:
        """With flush.messages=3 the request that brings the third waits; the others are answered at once."""
        partition = self.topic(flush_messages="3")
        for _ in range(2):
            self.assertNotIsInstance(self.send(), Deferred)
        third = self.send()
        self.assertNoResult(third)
        self.held.work()
        self.successResultOf(third)
        self.assertEqual(partition.log.flushed_offset, 3)

    def test_without(self) -> None:
        """Without a limit nobody waits, and nothing is planned."""
        partition = self.topic()
        self.assertNotIsInstance(self.send(1000), Deferred)
        self.clock.advance(10_000)
        self.assertEqual((partition.log.flushed_offset, partition.flush_timer), (0, None))


class ChangedTests(FlushTestCase):
    """The policy changes while records are there."""

    def alter(self, **configs: str) -> None:
        """Give the topic these configs and no others; names with _ for a dot."""
        new = {name.replace("_", "."): value for name, value in configs.items()}
        altering = Deferred.fromCoroutine(self.broker.topics.alter_configs("t", lambda _: new))
        self.successResultOf(altering)

    def test_flush_ms_for_what_is_there(self) -> None:
        """A shorter flush.ms holds for records that were written before, too; none takes the timer back."""
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
        """Where all is on the disk no timer is set."""
        partition = self.topic()
        self.alter(flush_ms="100")
        self.assertIsNone(partition.flush_timer)

    def test_flush_messages(self) -> None:
        """flush.messages=1 from now on: the next reply waits for the disk."""
        self.topic()
        self.assertNotIsInstance(self.send(), Deferred)
        self.alter(flush_messages="1")
        waiting = self.send()
        self.assertNoResult(waiting)
        self.held.work()
        self.successResultOf(waiting)

    def test_exposed_later(self) -> None:
        """With kafkatx.expose=flushed from now on, what was seen stays seen; the next waits for the disk."""
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
        """With kafkatx.expose=written again, who waits for records sees them at once."""
        self.topic(kafkatx_expose="flushed")
        self.send(2)
        waiting = self.fetch(max_wait_ms=10_000)
        self.assertNoResult(waiting)
        self.alter()
        self.assertEqual(self.part(waiting).high_watermark, 2)


class FlushMsTests(FlushTestCase):
    def test_after_a_while(self) -> None:
        """With flush.ms=50 nobody waits, and the first unflushed record is flushed 50 ms after it came."""
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
        """What comes while a flush is under way has its own 50 ms."""
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
        """A partition that nobody writes to has no timer, before and after its flush."""
        idle = self.topic(flush_ms="50")
        self.assertEqual(self.clock.getDelayedCalls(), [])
        self.send()
        self.assertEqual(len(self.clock.getDelayedCalls()), 1)
        self.clock.advance(0.051)
        self.held.work()
        self.assertEqual((self.clock.getDelayedCalls(), idle.flush_timer), ([], None))

    def test_after_a_crash(self) -> None:
        """What was written before a crash and not flushed is flushed in time after it."""
        self.topic(flush_ms="50")
        self.send()
        self.restart(self.held)
        (partition,) = self.broker.topics.partitions["t"]
        self.assertEqual((partition.log.log_end_offset, partition.log.flushed_offset), (1, 0))
        self.clock.advance(0.051)
        self.held.work()
        self.assertEqual(partition.log.flushed_offset, 1)

    def test_stopped(self) -> None:
        """No timer is left of a broker that stops, of a topic that is deleted, or of a dir that failed."""
        self.topic(flush_ms="50")
        self.send()
        self.broker.flushes.stop()
        self.assertEqual(self.clock.getDelayedCalls(), [])
        self.send()
        deleting = Deferred.fromCoroutine(self.broker.topics.delete("t"))
        self.held.work()
        self.successResultOf(deleting)
        soon = [call for call in self.clock.getDelayedCalls() if call.getTime() < self.clock.seconds() + 1]
        self.assertEqual(soon, [])


class ExposeTests(FlushTestCase):
    def test_written(self) -> None:
        """Without it a consumer sees a record when it is written."""
        self.topic()
        self.send()
        self.assertEqual((self.latest(), values(self.part(self.fetch()).records)), (1, [b"v"]))

    def test_flushed(self) -> None:
        """With log.expose=flushed nobody sees a record, nor its offset, before it is on the disk."""
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
        """A fetch that waits is answered after the flush, not after the write."""
        self.topic(kafkatx_expose="flushed", flush_messages="1")
        waiting = self.fetch(max_wait_ms=10_000)
        produced = self.send()
        self.assertNoResult(waiting)
        self.held.work()
        self.successResultOf(produced)
        self.assertEqual(values(self.part(waiting).records), [b"v"])

    def test_without_flush_ms(self) -> None:
        """Where no flush.ms is set records are exposed after a second at the latest."""
        self.topic(kafkatx_expose="flushed")
        self.send()
        self.clock.advance(0.99)
        self.held.work()
        self.assertEqual(self.latest(), 0)
        self.clock.advance(0.02)
        self.held.work()
        self.assertEqual(self.latest(), 1)

    def test_after_a_crash(self) -> None:
        """What was exposed before a crash is exposed after it, from the first moment on."""
        self.topic(kafkatx_expose="flushed", flush_messages="1")
        self.send()
        self.held.work()
        self.assertEqual(self.latest(), 1)
        self.held.holding = False
        self.restart(self.held)
        self.assertEqual(self.latest(), 1)
