"""Tests of kafkatx.mirror.core.record_queue."""

from __future__ import annotations

import random

from twisted.trial.unittest import SynchronousTestCase

from kafkatx.clientcore.consumer.record import Record
from kafkatx.mirror.core.encoder import total_size
from kafkatx.mirror.core.record_queue import RecordQueue


def record(offset: int, size: int) -> Record:
    """Make a record of about a size."""
    return Record("t", 0, offset, 0, 0, None, bytes(size))


class RecordQueueTests(SynchronousTestCase):
    def test_order(self) -> None:
        """All records come once, in order, in batches within the limits."""
        for seed in range(20):
            chance = random.Random(seed)
            queue = RecordQueue(1000, 7)
            offset, taken, added = 0, list[Record](), 0
            while offset < 300 or queue:
                if offset < 300 and chance.random() < 0.5:
                    count = chance.randrange(1, 20)
                    added += queue.add([record(offset + at, chance.randrange(400)) for at in range(count)])
                    offset += count
                elif queue:
                    records, size = queue.take()
                    self.assertEqual(size, total_size(records))
                    self.assertTrue(len(records) == 1 or size <= 1000)
                    self.assertTrue(0 < len(records) <= 7)
                    taken += records
                    added -= size
                self.assertEqual(queue.size, added)
            self.assertEqual([one.offset for one in taken], list(range(offset)))

    def test_joined(self) -> None:
        """Small lists become one batch."""
        queue = RecordQueue(10_000, 100)
        for at in range(30):
            queue.add([record(at, 10)])
        self.assertEqual(len(queue.take()[0]), 30)

    def test_large(self) -> None:
        """A record above the limit is a batch of its own."""
        queue = RecordQueue(100, 100)
        queue.add([record(0, 1), record(1, 5000), record(2, 1)])
        self.assertEqual([len(queue.take()[0]) for _ in range(3)], [1, 1, 1])

    def test_bounds(self) -> None:
        """The queue tells when it has enough, and when it needs more."""
        queue = RecordQueue(100, 100)
        self.assertEqual((queue.full, queue.low), (False, True))
        queue.add([record(0, 120)])
        self.assertEqual((queue.full, queue.low), (False, False))
        queue.add([record(1, 120)])
        self.assertTrue(queue.full)
        self.assertEqual(queue.clear(), 320)
        self.assertEqual((queue.size, bool(queue)), (0, False))
