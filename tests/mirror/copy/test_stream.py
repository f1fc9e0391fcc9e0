"""Tests of kafkatx.mirror.copy.stream: by example, and by chance with processes that die."""

from __future__ import annotations

import random
from collections.abc import Callable
from itertools import pairwise
from typing import Any

from twisted.internet.defer import Deferred
from twisted.internet.task import Clock
from twisted.trial.unittest import SynchronousTestCase

from kafkatx.clientcore.consumer.record import Record
from kafkatx.errors import ErrorCode, KafkaTXError, RequestError
from kafkatx.mirror.copy.appender import Conflict, TooLarge
from kafkatx.mirror.copy.stream import RETRY_S, Stream, StreamOptions
from kafkatx.mirror.core.map_records import Position
from kafkatx.mirror.core.offset_map import Run
from kafkatx.mirror.core.provenance import HEADER, StreamId
from kafkatx.mirror.core.status import State
from kafkatx.records import batch as v2
from kafkatx.records.builder import encode_headers
from kafkatx.records.compression import Codec
from kafkatx.types import TopicPartition
from tests.mirror.copy.fakes import MemoryLogs, MemorySource, MemoryTarget

ID = StreamId("C", "t", 0, "copy")
PLACE = TopicPartition("copy", 0)
OPTIONS = StreamOptions(10_000, 5, Codec.NONE)

Keep = Callable[[Record], bool]


def record(offset: int, headers: v2.Headers | None = None) -> Record:
    """Make a record of the source."""
    encoded = encode_headers(headers) if headers else b""
    return Record("t", 0, offset, 1000 + offset, 0, b"k", b"v%d" % offset, encoded, 0)


class Process:
    """A mirror process with one stream."""

    def __init__(
        self,
        logs: MemoryLogs,
        notes: dict[StreamId, Position],
        clock: Clock,
        records: list[Record],
        keep: Keep | None = None,
        stream: StreamId = ID,
        topic_id: str = "",
    ) -> None:
        self.target = MemoryTarget(logs, notes, clock)
        self.source = MemorySource(records)
        self.stream = Stream(stream, topic_id, self.source, self.target, keep, OPTIONS)
        self.source.feed = self.stream.feed
        self.stream.start()

    def kill(self) -> None:
        """Stop as kill -9 does: requests that were sent stay on their way."""
        self.stream.discard()

    def finish(self, clock: Clock) -> None:
        """Copy everything."""
        for _ in range(500):
            clock.advance(RETRY_S)
            moved = self.source.passes(7)
            self.target.deliver_all()
            if not moved and not self.target.sent and self.stream.idle:
                return
        raise AssertionError(f"it does not end: {self.stream.status}")


class StreamCase(SynchronousTestCase):
    """Logs, notes and a clock that processes share."""

    def setUp(self) -> None:
        """Make them."""
        self.logs = MemoryLogs()
        self.notes: dict[StreamId, Position] = {}
        self.clock = Clock()
        self.records = [record(offset) for offset in range(12)]

    def process(self, keep: Keep | None = None, **more: Any) -> Process:
        """Start a process."""
        return Process(self.logs, self.notes, self.clock, self.records, keep, **more)

    def sources(self, place: TopicPartition = PLACE) -> list[int]:
        """Return the source offsets of the copies, in order of the log."""
        return [source for _, source in self.logs.copies(place)]


class StreamTests(StreamCase):
    """Examples."""

    def test_copies(self) -> None:
        """Records are copied in order; position, map and counts tell so."""
        one = self.process()
        one.finish(self.clock)
        self.assertEqual(self.sources(), list(range(12)))
        self.assertEqual((one.stream.position.source, one.stream.position.target), (12, 12))
        self.assertEqual(list(one.target.maps[ID]), [Run(0, 0, 12)])
        self.assertEqual((one.stream.status.records, one.stream.status.state), (12, State.COPYING))
        self.assertEqual(one.source.queued, 0)
        self.assertEqual(sum(one.target.admitted), one.stream.status.bytes)

    def test_counted(self) -> None:
        """Copies are counted for the audit, in ranges that follow each other; what is left out is in none."""
        one = self.process(keep=lambda record: record.offset not in (3, 11))
        one.finish(self.clock)
        counts = one.target.counts
        self.assertEqual((counts[0][0], counts[-1][1]), (0, 12))
        self.assertTrue(all(one[1] == other[0] for one, other in pairwise(counts)))
        copied = [offset for _, _, offsets in counts for offset in offsets]
        self.assertEqual(copied, [n for n in range(12) if n not in (3, 11)])

    def test_first_note(self) -> None:
        """The place to begin is noted before anything is copied: with start=latest it would be lost else."""
        one = self.process()
        self.assertEqual((self.notes[ID].source, self.notes[ID].sequence, one.source.again), (0, 0, [False]))
        self.records[:5] = []
        one.kill()
        again = self.process()
        self.assertEqual((again.source.cursor, again.source.again), (0, []))

    def test_one_in_flight(self) -> None:
        """The next batch waits for the answer, and has all that came meanwhile."""
        one = self.process()
        one.source.passes(2)
        one.source.passes(2)
        one.source.passes(2)
        self.assertEqual(len(one.target.sent), 1)
        one.target.deliver()
        self.assertEqual([v2.parse_header(batch).count for _, batch, _ in one.target.sent], [4])

    def test_pause(self) -> None:
        """A stream that cannot write stops its partition when two batches wait, and lets it go on later."""
        options = StreamOptions(150, 100, Codec.NONE)
        one = self.process()
        one.kill()
        target, source = MemoryTarget(self.logs, {}, self.clock), MemorySource(self.records)
        stream = Stream(ID, "", source, target, None, options)
        source.feed = stream.feed
        stream.start()
        while source.passes(1):
            pass
        self.assertTrue(source.paused)
        self.assertLess(source.cursor or 0, 12)
        self.assertLess(source.queued, 400)
        for _ in range(20):
            target.deliver_all()
            source.passes(1)
        self.assertEqual(self.sources(), list(range(12)))

    def test_filter(self) -> None:
        """Records that the filter leaves out are counted; the position is past them."""
        one = self.process(lambda record: record.offset % 3 == 0)
        one.finish(self.clock)
        self.assertEqual(self.sources(), [0, 3, 6, 9])
        self.assertEqual((one.stream.status.filtered, one.stream.position.source), (8, 12))
        self.assertEqual(one.target.maps[ID].to_target(4), 2)

    def test_filter_fails(self) -> None:
        """An error of the filter stops the partition, which says so and tries again."""
        bad = {4}

        def keep(record: Record) -> bool:
            if record.offset in bad:
                raise ValueError("cannot judge")
            return True

        one = self.process(keep)
        one.source.passes(12)
        one.target.deliver_all()
        self.assertEqual(
            (one.stream.status.state, one.stream.status.failure), (State.FAILED, "ValueError: cannot judge")
        )
        self.assertEqual(len(self.flushLoggedErrors(ValueError)), 1)
        bad.clear()
        one.finish(self.clock)
        self.assertEqual((self.sources(), one.stream.status.failure), (list(range(12)), ""))

    def test_cycle(self) -> None:
        """Records that were in the target before are left out, wherever that is in their chain."""
        self.records[3] = record(3, [(HEADER, b"T:x:0:1")])
        self.records[5] = record(5, [(HEADER, b"T:x:0:2"), (HEADER, b"B:y:0:3")])
        self.records[7] = record(7, [(HEADER, b"B:y:0:3")])
        one = self.process()
        one.finish(self.clock)
        self.assertEqual(self.sources(), [0, 1, 2, 4, 6, 7, 8, 9, 10, 11])
        self.assertEqual(one.stream.status.cycled, 2)

    def test_late_request(self) -> None:
        """A request of a killed process comes after its successor has read the log: nothing is doubled."""
        dead = self.process()
        dead.source.passes(3)
        dead.kill()
        one = self.process()
        one.source.passes(5)
        dead.target.deliver()
        one.target.deliver()
        self.assertEqual(one.stream.status.conflicts, 1)
        one.finish(self.clock)
        self.assertEqual(self.sources(), list(range(12)))

    def test_same_numbers(self) -> None:
        """The late request has the same sequence numbers but other records, after a change of the filter."""
        dead = self.process(lambda record: record.offset < 3)
        dead.source.passes(5)
        dead.kill()
        one = self.process(lambda record: record.offset >= 2)
        one.source.passes(5)
        dead.target.deliver()
        one.target.deliver()
        self.assertEqual(self.sources(), [0, 1, 2])
        one.finish(self.clock)
        self.assertEqual(self.sources(), list(range(12)))

    def test_two_mirrors(self) -> None:
        """Two mirrors at once copy everything once, and say that there are two."""
        both = [self.process(), self.process()]
        for _ in range(40):
            for one in both:
                one.source.passes(1)
                one.target.deliver_all()
                self.clock.advance(1)
        self.assertEqual(self.sources(), list(range(12)))

    def test_too_large(self) -> None:
        """A batch that is too large is halved; a record that is too large stops the partition."""
        limit = [3]

        def append(place: TopicPartition, batch: bytes) -> int:
            if v2.parse_header(batch).count > limit[0]:
                raise TooLarge(ErrorCode.MESSAGE_TOO_LARGE, "too large")
            return MemoryLogs.append(self.logs, place, batch)

        one = self.process()
        one.target.deliver = lambda answer=True: deliver(one.target, append)  # type: ignore[method-assign]
        one.finish(self.clock)
        self.assertEqual(self.sources(), list(range(12)))
        limit[0] = 0
        self.records.append(record(12))
        one.source.passes(1)
        one.target.deliver_all()
        self.assertEqual(one.stream.status.state, State.FAILED)
        self.assertIn("max.message.bytes of copy in the target", one.stream.status.failure)

    def test_recreated(self) -> None:
        """A topic that was made anew at the source is not copied: a person has to decide."""
        one = self.process(topic_id="old")
        one.finish(self.clock)
        self.notes[ID] = one.stream.position
        one.kill()
        again = self.process(topic_id="new")
        self.assertEqual((again.stream.status.state, again.source.cursor), (State.FAILED, None))
        self.assertIn("delete copy in the target", again.stream.status.failure)
        other = self.process(topic_id="old")
        other.stream.recreated()
        self.assertEqual(other.stream.status.state, State.FAILED)
        self.clock.advance(100)
        self.assertFalse(other.source.passes(1))

    def test_target_emptied(self) -> None:
        """The target's topic was deleted and made again: it is copied again from the first record."""
        one = self.process()
        one.finish(self.clock)
        self.notes[ID] = one.stream.position
        one.kill()
        self.logs = MemoryLogs()
        again = self.process()
        self.assertEqual(again.source.again, [True])
        again.finish(self.clock)
        self.assertEqual(self.sources(), list(range(12)))

    def test_source_error(self) -> None:
        """A record that cannot be read stops the partition behind those before it."""
        one = self.process()
        one.source.passes(4)
        one.stream.fail_source(KafkaTXError("damaged"))
        one.target.deliver_all()
        self.assertEqual((self.sources(), one.stream.status.failure), ([0, 1, 2, 3], "damaged"))
        self.assertTrue(one.source.paused)
        self.clock.advance(RETRY_S)
        self.assertEqual((one.source.cursor, one.source.paused), (4, False))

    def test_forgotten_producer(self) -> None:
        """An old broker has forgotten the producer: a new epoch begins with sequence 0."""
        one = self.process()
        one.source.passes(5)
        _, _, done = one.target.sent.pop()
        done.errback(Conflict(ErrorCode.UNKNOWN_PRODUCER_ID, "forgotten"))
        self.clock.advance(10)
        one.source.passes(5)
        header = v2.parse_header(one.target.sent[0][1])
        self.assertEqual((header.producer_epoch, header.base_sequence), (1, 0))

    def test_refused(self) -> None:
        """The target refuses a batch: the partition waits, and copies it later."""
        one = self.process()
        one.source.passes(5)
        _, _, done = one.target.sent.pop()
        done.errback(RequestError(ErrorCode.TOPIC_AUTHORIZATION_FAILED, "not yours"))
        self.assertEqual((one.stream.status.state, one.stream.status.failure), (State.FAILED, "not yours"))
        one.finish(self.clock)
        self.assertEqual(self.sources(), list(range(12)))

    def test_stop(self) -> None:
        """A stop waits for the batch in flight, drops what waits behind it, and ends."""
        one = self.process()
        one.source.passes(5)
        one.source.passes(5)
        stopping = Deferred.fromCoroutine(one.stream.stop(10.0))
        self.assertNoResult(stopping)
        one.target.deliver()
        self.successResultOf(stopping)
        self.assertEqual((self.sources(), one.stream.position.source), ([0, 1, 2, 3, 4], 5))
        self.assertEqual(self.clock.getDelayedCalls(), [])

    def test_stop_in_time(self) -> None:
        """A stop does not wait for a target that is away."""
        one = self.process()
        one.source.passes(5)
        stopping = Deferred.fromCoroutine(one.stream.stop(10.0))
        self.clock.advance(10.1)
        self.successResultOf(stopping)


def deliver(target: MemoryTarget, append: Callable[[TopicPartition, bytes], int]) -> None:
    """Deliver the oldest request to another broker."""
    place, batch, done = target.sent.pop(0)
    try:
        base = append(place, batch)
    except RequestError as error:
        done.errback(error)
    else:
        done.callback(base)


class ChanceTests(StreamCase):
    """Processes die, two at once; requests and high watermarks come late; replies are lost."""

    ROUNDS = 100
    STEPS = 120

    def test_exactly_once(self) -> None:
        """Each record that passes the filter has one copy, in order; the map is exact."""
        for seed in range(self.ROUNDS):
            self.setUp()
            self.chance = random.Random(seed)
            self.offset = 0
            self.records = []
            self.add(20)
            modulus = self.chance.choice([1, 2, 5])

            def keep(record: Record, modulus: int = modulus) -> bool:
                return record.offset % modulus == 0

            self.run_one(seed, keep)

    def add(self, count: int) -> None:
        """Add records to the source, with gaps."""
        for _ in range(count):
            self.records.append(record(self.offset))
            self.offset += self.chance.choice([1, 1, 1, 3])

    def run_one(self, seed: int, keep: Keep) -> None:
        """Run and check one history."""
        chance = self.chance
        alive: list[Process] = []
        dead: list[Process] = []
        for _ in range(self.STEPS):
            step = chance.random()
            if not alive or (len(alive) < 2 and step < 0.03):
                alive.append(self.process(keep))
            one = chance.choice(alive)
            late = [each for each in dead if each.target.sent]
            if step < 0.35:
                one.source.passes(chance.randrange(1, 9))
            elif step < 0.65 and one.target.sent:
                one.target.deliver(answer=chance.random() < 0.9)
            elif step < 0.72 and late:
                chance.choice(late).target.deliver()
            elif step < 0.74:
                self.logs.hidden = chance.choice([0, 0, 1, 3])
            elif step < 0.80:
                self.clock.advance(chance.choice([0.1, 1.0, RETRY_S]))
            elif step < 0.88:
                self.notes[ID] = one.stream.position if one.stream.idle else self.notes[ID]
            elif step < 0.93:
                self.add(chance.randrange(1, 10))
            else:
                one.kill()
                alive.remove(one)
                dead.append(one)
        for one in [*dead, *alive]:
            if one in alive:
                one.kill()
            if chance.random() < 0.5:
                one.target.deliver_all()
        self.logs.hidden = 0
        last = self.process(keep)
        last.finish(self.clock)
        wanted = [each.offset for each in self.records if keep(each)]
        self.assertEqual(self.sources(), wanted, f"seed {seed}")
        known = last.target.maps[ID]
        for target, source in self.logs.copies(PLACE):
            self.assertIn(known.original_of(target), (source, None))
        last.kill()

    def test_fan_in(self) -> None:
        """Two streams write to one partition and die: each is copied once and in order."""
        other = StreamId("D", "t", 0, "copy")
        for seed in range(60):
            self.setUp()
            self.chance, self.offset, self.records = random.Random(seed), 0, []
            self.add(30)
            streams = {id_: self.process(stream=id_) for id_ in (ID, other)}
            dead = []
            for _ in range(80):
                id_ = self.chance.choice([ID, other])
                one = streams[id_]
                step = self.chance.random()
                if step < 0.5:
                    one.source.passes(self.chance.randrange(1, 6))
                elif step < 0.9 and one.target.sent:
                    one.target.deliver()
                elif step > 0.95:
                    one.kill()
                    dead.append(one)
                    streams[id_] = self.process(stream=id_)
                self.clock.advance(0.5)
            for one in dead:
                one.target.deliver_all()
            for one in streams.values():
                one.finish(self.clock)
            wanted = [each.offset for each in self.records]
            for id_, one in streams.items():
                mine = [
                    source
                    for batch in self.logs.batches[PLACE]
                    if v2.parse_header(batch).producer_id == one.stream.producer_id
                    for source in self.of_batch(batch)
                ]
                self.assertEqual(mine, wanted, f"seed {seed}, {id_}")
                one.kill()

    @staticmethod
    def of_batch(batch: bytes) -> list[int]:
        """Return the source offsets of one batch."""
        logs = MemoryLogs()
        logs.batches[PLACE].append(batch)
        return [source for _, source in logs.copies(PLACE)]
