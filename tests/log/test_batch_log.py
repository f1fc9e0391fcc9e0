"""Tests of kafkatx.log.batch_log: the calls to a storage. The contract is in ``test_batch_store``."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TypeVar

from twisted.internet.defer import Deferred
from twisted.internet.task import Clock
from twisted.trial.unittest import SynchronousTestCase

from kafkatx.config.log_config import LogConfig
from kafkatx.log.batch_log import BatchLog
from kafkatx.log.segment.batches import BatchInfo
from kafkatx.testing.contracts.partition_log import ALL, NOW_MS, TP, batch, find_retention
from tests.log.segments import stored

T = TypeVar("T")
ONE = len(batch([b"x"]))


class Storage:
    """A storage in memory that outlives its log, and can fail."""

    lasting = True

    def __init__(self) -> None:
        self.batches: dict[int, bytes] = {}
        self.error: OSError | None = None
        self.syncs = 0

    def load(self) -> Iterable[bytes]:
        """Return all batches, by offset."""
        return [self.batches[offset] for offset in sorted(self.batches)]

    def add(self, batches: Sequence[tuple[BatchInfo, bytes]]) -> None:
        """Keep all batches, or fail."""
        if self.error is not None:
            raise self.error
        self.batches |= {one.base_offset: data for one, data in batches}

    def get(self, batches: Sequence[BatchInfo]) -> bytes:
        """Return the bytes of batches."""
        return b"".join(self.batches[one.base_offset] for one in batches)

    def drop(self, batches: Sequence[BatchInfo]) -> None:
        """Forget batches, or fail."""
        if self.error is not None:
            raise self.error
        for one in batches:
            del self.batches[one.base_offset]

    def sync(self) -> None:
        """Count the call."""
        self.syncs += 1


class BatchLogTests(SynchronousTestCase):
    def setUp(self) -> None:
        """Make an empty log whose worker works when it is told to."""
        self.storage = Storage()
        self.work: list[Callable[[], None]] = []
        self.log = self.open()

    def open(self, log_start_offset: int = 0) -> BatchLog:
        """Return a log over the storage's batches, with two batches in a segment."""
        clock = Clock()
        clock.advance(NOW_MS / 1000)
        config = LogConfig(segment_bytes=2 * ONE)
        return BatchLog(TP, config, find_retention, clock, self.storage, self.worker, log_start_offset)

    def worker(self, function: Callable[[], T]) -> Deferred[T]:
        """Keep the work for later."""
        done: Deferred[T] = Deferred()
        self.work.append(lambda: done.callback(function()))
        return done

    def pump(self) -> None:
        """Do the work."""
        while self.work:
            self.work.pop(0)()

    def put(self, count: int = 1, epoch: int = 0) -> None:
        """Append and write batches of one record."""
        for _ in range(count):
            self.assertEqual(self.log.append(batch([b"x"]), epoch, NOW_MS, True).error, 0)
        self.log.write()

    def test_loaded(self) -> None:
        """A log that is opened again has offsets, segments, epochs and producers of its batches."""
        self.storage.batches = {
            5: stored([b"a", b"b"], 5, epoch=3, producer=(9, 0, 4)),
            7: stored([b"c"], 7, epoch=4),
        }
        log = self.open(log_start_offset=6)
        self.assertEqual((log.log_start_offset, log.log_end_offset, log.flushed_offset), (6, 8, 8))
        self.assertEqual((log.epoch_at(6), log.epoch_at(7)), (3, 4))
        self.assertEqual([one.last_sequence for one in log.active_producers()], [5])
        self.assertEqual(log.size_bytes, sum(map(len, self.storage.batches.values())))

    def test_failed_write(self) -> None:
        """Batches that the storage refuses are not in the log, and their offsets are assigned again."""
        self.storage.error = OSError("full")
        self.assertEqual(self.log.append(batch([b"x"]), 0, NOW_MS, True).error, 0)
        self.assertRaises(OSError, self.log.write)
        self.storage.error = None
        self.put()
        self.assertEqual((self.log.log_end_offset, list(self.storage.batches)), (1, [0]))

    def test_flush(self) -> None:
        """Flushes that wait for the same sync share it; one after a truncation proves nothing."""
        self.put()
        waiting = [self.log.flush(), self.log.flush()]
        self.assertEqual(self.log.flushed_offset, 0)
        self.pump()
        self.assertEqual([self.successResultOf(one) for one in waiting], [1, 1])
        self.assertEqual(self.storage.syncs, 2)
        self.put(2)
        cut = self.log.flush()
        self.log.truncate_to(1)
        self.put(2)
        self.pump()
        self.assertEqual((self.successResultOf(cut), self.log.log_end_offset), (1, 3))

    def test_truncate(self) -> None:
        """Truncation drops the last batches from the storage, whole ones."""
        self.put(5)
        self.log.truncate_to(3)
        self.assertEqual((sorted(self.storage.batches), self.log.log_end_offset), ([0, 1, 2], 3))
        self.assertEqual([one.base_offset for one in self.log.segments], [0, 2])
        self.put()
        self.assertEqual(len(self.log.read(3, ALL, 4, True)), ONE)

    def test_delete_records(self) -> None:
        """Whole segments below the log start go from the storage."""
        self.put(5)
        self.log.advance_log_start(3)
        self.assertEqual((sorted(self.storage.batches), self.log.log_start_offset), ([2, 3, 4], 3))
        self.log.advance_log_start(5)
        self.assertEqual((self.storage.batches, self.log.size_bytes), ({}, 0))
