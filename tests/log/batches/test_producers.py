"""Tests of kafkatx.log.batches.producers: the producers' state after a cut."""

from __future__ import annotations

from twisted.internet.defer import execute
from twisted.internet.task import Clock
from twisted.trial.unittest import SynchronousTestCase

from kafkatx.config.log_config import LogConfig
from kafkatx.log.batch_log import BatchLog
from kafkatx.log.batches import producers as module
from kafkatx.testing.contracts.log.transactions import COMMIT, in_transaction
from kafkatx.testing.contracts.partition_log import NOW_MS, TP, batch, find_retention
from tests.log.test_batch_log import Storage


class CutTests(SynchronousTestCase):
    """A log over a storage that can be looked into."""

    def setUp(self) -> None:
        """Make the log; read at most three batches again where there is no transaction."""
        clock = Clock()
        clock.advance(NOW_MS / 1000)
        config = LogConfig(segment_bytes=100)
        self.log = BatchLog(TP, config, find_retention, clock, Storage(), execute)
        self.patch(module, "REPLAYED_BATCHES", 3)

    def sequences(self) -> dict[int, int]:
        """Return producer id -> last sequence."""
        return {one.producer_id: one.last_sequence for one in self.log.active_producers()}

    def append(self, sent: bytes) -> None:
        """Append and write."""
        self.assertEqual(self.log.append(sent, 0, NOW_MS, True, None, True).error, 0)
        self.log.write()

    def test_few_are_read(self) -> None:
        """Only producers of what was cut are searched for, among the last batches that are left."""
        self.append(batch([b"x"], producer=(1, 0, 0)))
        for number in range(3):
            self.append(batch([b"x"], producer=(2, 0, number)))
        self.append(batch([b"x"], producer=(1, 0, 1)))
        self.append(batch([b"x"], producer=(2, 0, 3)))
        self.log.truncate_to(4)
        self.assertEqual(self.sequences(), {2: 2})

    def test_all_are_read(self) -> None:
        """With transactions all batches are read: the marker that was cut may belong to an old one."""
        self.append(in_transaction(1, 7))
        for _ in range(10):
            self.append(batch([b"x"]))
        self.log.append_marker(7, 0, COMMIT, 0, NOW_MS)
        self.log.write()
        self.assertEqual(self.log.last_stable_offset(12), 12)
        self.log.truncate_to(11)
        self.assertTrue(self.log.has_transaction(7, 0))
        self.assertEqual(self.log.last_stable_offset(11), 0)

    def test_without_batches(self) -> None:
        """A producer whose batches were deleted is kept."""
        self.append(batch([b"x"], producer=(5, 0, 0)))
        self.append(in_transaction(1, 7))
        self.append(batch([b"x"]))
        self.log.advance_log_start(2)
        self.log.truncate_to(2)
        self.assertEqual(self.sequences(), {5: 0, 7: 0})
