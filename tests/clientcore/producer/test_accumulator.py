"""Tests of kafkatx.clientcore.producer.accumulator."""

from __future__ import annotations

import random
from typing import Any

import attrs
from twisted.trial.unittest import SynchronousTestCase

from kafkatx.clientcore.backoff import Backoff
from kafkatx.clientcore.errors import ConnectionFailed
from kafkatx.clientcore.producer.accumulator import AccumulatorLimits, Outcome, RecordAccumulator
from kafkatx.clientcore.producer.batch import (
    NOT_IDEMPOTENT,
    RECORD_OVERHEAD_BYTES,
    ProducerBatch,
    ProducerIdAndEpoch,
)
from kafkatx.errors import ErrorCode, RequestError
from kafkatx.records.batch import iter_records, parse_header
from kafkatx.records.compression import Codec
from tests.clientcore.partition import Partition

SEEDS = 80
LIMITS = AccumulatorLimits(batch_bytes=200, max_bytes=1000, linger_s=1.0, buffer_bytes=5000, delivery_s=30.0)


class AccumulatorTests(SynchronousTestCase):
    def setUp(self) -> None:
        """Make an accumulator, and record the topics of closed batches."""
        self.closed: list[str] = []
        self.use(LIMITS)

    def use(self, limits: AccumulatorLimits, **more: Any) -> None:
        """Make another accumulator."""
        self.accumulator = RecordAccumulator(
            limits, closed=self.closed.append, id_and_epoch=NOT_IDEMPOTENT, backoff=Backoff(), **more
        )
        self.queue = self.accumulator.queue("t", 0)

    def add(self, size: int = 10, now_s: float = 0.0) -> None:
        """Add a record that takes *size* bytes and the overhead."""
        self.accumulator.append(self.queue, None, b"x" * size, 5, (), None, now_s)

    def due(self, now_s: float, hurry: bool = False) -> tuple[int, float]:
        """Return the number of due queues, and the next time to look."""
        ready, again_s = self.accumulator.ready(now_s, hurry)
        return len(ready), again_s

    def take(self) -> ProducerBatch:
        """Return the next batch."""
        return self.accumulator.take(self.queue)

    def test_lingers(self) -> None:
        """A batch that is not full is due after the linger time, or at once in a hurry."""
        self.add(now_s=3.0)
        self.assertEqual(self.due(3.5), (0, 4.0))
        self.assertEqual(self.due(3.5, hurry=True)[0], 1)
        self.assertEqual(self.due(4.0)[0], 1)

    def test_full(self) -> None:
        """A batch is closed before it would exceed batch_bytes, and then due at once."""
        self.add(100)
        self.add(100)
        self.assertEqual(self.closed, ["t"])
        self.assertEqual(self.due(0.0)[0], 1)
        self.assertEqual(self.take().records, 1)
        self.assertEqual(self.due(0.0)[0], 0)

    def test_one_large_record(self) -> None:
        """A record as large as a batch does not linger; it has a batch of its own."""
        self.add(500)
        self.assertEqual(self.due(0.0)[0], 1)
        self.add(1)
        self.assertEqual([self.take().records for _ in range(2)], [1, 1])

    def test_bounded_behind_others(self) -> None:
        """No batch becomes larger than batch_bytes while others wait before it."""
        for _ in range(9):
            self.add(60)
        self.assertEqual([batch.records for batch in self.queue.waiting], [2, 2, 2, 2])

    def test_lists_do_not_grow(self) -> None:
        """Lists share a waiting batch up to batch_bytes; a larger list has its own."""
        for count in (4, 2, 2, 1, 5):
            self.accumulator.append_values(self.queue, [b"x" * 20] * count, 5, None, 0.0)
        self.accumulator.close(self.queue)
        self.assertEqual([batch.records for batch in self.queue.waiting], [4, 4, 1, 5])

    def test_closed_takes_nothing(self) -> None:
        """A batch that is closed, or has expired while open, accepts no more records."""
        self.add(10)
        first = self.queue.open
        assert first is not None
        self.assertGreater(first.max_bytes, 0)
        self.accumulator.close(self.queue)
        self.add(10)
        second = self.queue.open
        assert second is not None
        self.accumulator.expire(31.0)
        self.assertEqual((first.max_bytes, second.max_bytes), (0, 0))

    def test_bad_time(self) -> None:
        """A timestamp that the format cannot hold is refused, and uses no memory."""
        for wrong, error in ((-1, ValueError), (1 << 63, ValueError), (1.5, TypeError)):
            bad: Any = wrong
            self.assertRaises(error, self.accumulator.append, self.queue, None, b"v", bad, (), None, 0.0)
            self.assertRaises(error, self.accumulator.append_values, self.queue, [b"v"], bad, None, 0.0)
        self.assertEqual((self.accumulator.used_bytes, self.queue.open), (0, None))

    def test_drop(self) -> None:
        """A batch that cannot be sealed fails alone, frees its memory and uses no sequence."""
        self.accumulator = RecordAccumulator(LIMITS, id_and_epoch=ProducerIdAndEpoch(7, 0))
        self.queue = self.accumulator.queue("t", 0)
        for size in (1, 200, 2):
            self.add(size)
        used = self.accumulator.used_bytes
        bad = self.queue.waiting[0]
        wrong: Any = "text"
        bad.rows.values[0] = wrong
        self.assertRaises(TypeError, self.take)
        self.assertIs(self.accumulator.drop(self.queue), bad)
        self.assertEqual(self.accumulator.used_bytes, used - bad.size_bytes)
        self.assertEqual(parse_header(self.take().data).base_sequence, 0)

    def test_list_is_one_batch(self) -> None:
        """A list is one batch whatever batch_bytes says; one above max_bytes is split."""
        self.assertEqual(self.accumulator.append_values(self.queue, [b"x" * 50] * 10, 5, None, 0.0), 1)
        self.assertEqual(self.due(0.0)[0], 1)
        self.assertEqual(self.take().records, 10)
        self.assertEqual(self.accumulator.append_values(self.queue, [b"x" * 50] * 20, 5, None, 0.0), 2)

    def test_list_and_records(self) -> None:
        """Records and lists share a batch, in order, each with its own time."""
        self.use(attrs.evolve(LIMITS, batch_bytes=1000))
        self.accumulator.append(self.queue, b"k", b"1", 7, (), None, 0.0)
        self.accumulator.append_values(self.queue, [b"2", b"3"], 9, None, 0.0)
        self.accumulator.append_values(self.queue, [b"4"], 6, None, 0.0)
        self.accumulator.append(self.queue, None, b"5", 8, (), None, 0.0)
        records = list(iter_records(memoryview(self.take().data)))
        self.assertEqual(
            [(r.offset, r.timestamp, r.value) for r in records],
            [(0, 7, b"1"), (1, 9, b"2"), (2, 9, b"3"), (3, 6, b"4"), (4, 8, b"5")],
        )

    def test_bad_value(self) -> None:
        """A value that is not bytes is refused, and uses no memory."""
        bad: Any = "text"
        self.assertRaises(TypeError, self.accumulator.append, self.queue, None, bad, 5, (), None, 0.0)
        for count in (2, 200):
            values = [*[b"x" * 20] * count, bad]
            self.assertRaises(TypeError, self.accumulator.append_values, self.queue, values, 5, None, 0.0)
        self.assertEqual(self.accumulator.used_bytes, 0)
        self.assertEqual(self.due(9.0, hurry=True)[0], 0)
        self.add(now_s=9.0)
        self.assertEqual(self.take().records, 1)

    def test_memory(self) -> None:
        """Batches use memory until they are settled, and split ones free what the whole used."""
        self.use(attrs.evolve(LIMITS, buffer_bytes=300))
        self.accumulator.append_values(self.queue, [b"x" * 50] * 4, 5, None, 0.0)
        used = self.accumulator.used_bytes
        self.assertEqual(used, 4 * (50 + RECORD_OVERHEAD_BYTES))
        self.assertFalse(self.accumulator.full)
        self.add()
        self.assertTrue(self.accumulator.full)
        error = RequestError(ErrorCode.MESSAGE_TOO_LARGE)
        self.assertEqual(self.accumulator.complete_batch(self.take(), error, 0.0), Outcome.RETRY)
        for outcome in (None, RequestError(ErrorCode.INVALID_RECORD), None):
            self.assertTrue(self.accumulator.busy)
            self.accumulator.complete_batch(self.take(), outcome, 0.0)
        self.assertEqual((self.accumulator.used_bytes, len(self.accumulator.busy)), (0, 0))

    def test_pause(self) -> None:
        """A failure pauses the partition; batches that fail together cause one pause."""
        self.use(attrs.evolve(LIMITS, in_flight=2))
        self.add(200)
        self.add(200)
        error = ConnectionFailed("gone")
        for batch in [self.take(), self.take()]:
            self.accumulator.complete_batch(batch, error, 10.0)
        self.assertEqual(self.due(10.05), (0, 10.1))
        self.assertEqual(self.due(10.1)[0], 1)
        self.accumulator.complete_batch(self.take(), error, 10.1)
        self.assertEqual(self.due(10.2), (0, 10.1 + 0.2))

    def test_retries(self) -> None:
        """A batch fails when its retries are used up, or at once by a final error."""
        self.use(attrs.evolve(LIMITS, retries=1))
        self.add(200)
        outcomes = [
            self.accumulator.complete_batch(self.take(), ConnectionFailed("x"), 0.0) for _ in range(2)
        ]
        self.assertEqual(outcomes, [Outcome.RETRY, Outcome.FAILED])
        self.add(200)
        error = RequestError(ErrorCode.INVALID_RECORD)
        self.assertEqual(self.accumulator.complete_batch(self.take(), error, 0.0), Outcome.FAILED)

    def test_expire(self) -> None:
        """Expired batches fail wherever they are, free their memory, and ignore later responses."""
        self.add(200, now_s=0.0)
        taken = self.take()
        self.add(200, now_s=1.0)
        self.add(200, now_s=2.0)
        self.assertEqual(self.due(2.0)[1], 30.0)
        self.assertEqual(self.accumulator.expire(29.0), [])
        self.assertEqual(len(self.accumulator.expire(31.0)), 2)
        self.assertEqual(len(self.accumulator.expire(32.0)), 1)
        self.assertEqual(self.accumulator.used_bytes, 0)
        self.accumulator.complete_batch(taken, None, 33.0)
        self.assertEqual((self.accumulator.used_bytes, len(self.accumulator.busy)), (0, 0))

    def test_turns(self) -> None:
        """A queue that has sent comes after the others."""
        other = self.accumulator.queue("t", 1)
        self.add(500)
        self.accumulator.append(other, None, b"x", 5, (), None, 0.0)
        self.add(500)
        self.assertEqual(self.accumulator.ready(9.0)[0], [self.queue, other])
        self.take()
        self.assertEqual(list(self.accumulator.busy), [other, self.queue])


class FaultsTests(SynchronousTestCase):
    """An accumulator and a partition with the broker's own check of sequences, with faults between."""

    def run_one(self, seed: int, refusals: bool) -> None:
        """Send 60 batches through random faults."""
        source = random.Random(seed)
        limits = AccumulatorLimits(batch_bytes=60, max_bytes=120, linger_s=0.0, delivery_s=1e9)
        accumulator = RecordAccumulator(limits, Codec.NONE, id_and_epoch=ProducerIdAndEpoch(7, 0))
        queue, log = accumulator.queue("t", 0), Partition(max_bytes=source.choice([1 << 30, 130]))
        sent, refused, number = [], set(), 0
        flights: list[tuple[ProducerBatch, Exception | None]] = []
        while number < 120 or accumulator.busy:
            if number < 120 and source.random() < 0.6:
                value = b"%04d" % number
                accumulator.append(queue, None, value, 5, (), None, 0.0)
                sent.append(value)
                number += 1
            ready, _ = accumulator.ready(0.0)
            if ready and source.random() < 0.8:
                batch = accumulator.take(queue)
                flights.append((batch, self.deliver(log, batch, source, refusals)))
            elif flights:
                batch, error = flights.pop(0)
                if accumulator.complete_batch(batch, error, 0.0) is Outcome.FAILED:
                    refused |= {record.value for record in iter_records(memoryview(batch.data))}
        self.assertEqual(len(log.values), len(set(log.values)), f"seed {seed}: doubled")
        self.assertEqual(log.values, sorted(log.values), f"seed {seed}: out of order")
        self.assertEqual(set(sent) - set(log.values) - refused, set(), f"seed {seed}: lost")
        if not refusals:
            self.assertEqual((log.values, refused), (sent, set()))
        self.assertEqual(accumulator.used_bytes, 0)

    def deliver(
        self, log: Partition, batch: ProducerBatch, source: random.Random, refusals: bool
    ) -> Exception | None:
        """Apply a batch to the log, or not; return the error that the client gets."""
        draw = source.random()
        if draw < 0.10:
            return ConnectionFailed("the request was lost")
        if draw < 0.15:
            return RequestError(ErrorCode.NOT_ENOUGH_REPLICAS)
        if draw < 0.20 and refusals:
            return RequestError(ErrorCode.INVALID_RECORD)
        code, _ = log.append(batch.data)
        if draw < 0.30:
            return ConnectionFailed("the reply was lost")
        return RequestError(code) if code else None

    def test_nothing_lost_or_doubled(self) -> None:
        """All records are in the log once and in order, in every random run."""
        for seed in range(SEEDS):
            self.run_one(seed, refusals=False)

    def test_refusals(self) -> None:
        """Refused batches affect no others, and none is duplicated or out of order."""
        for seed in range(SEEDS):
            self.run_one(seed, refusals=True)
