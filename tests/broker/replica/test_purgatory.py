"""The purgatory: fetches that wait for data."""

from __future__ import annotations

from twisted.internet.defer import CancelledError, execute
from twisted.internet.task import Clock
from twisted.trial.unittest import SynchronousTestCase

from kafkatx.broker.replica.partition import Partition
from kafkatx.broker.replica.purgatory import delay_fetch
from kafkatx.config.log_config import LogConfig
from kafkatx.log.batch_log import BatchLog
from kafkatx.log.memory import MemoryStorage
from kafkatx.log.retention import KeepAll
from kafkatx.types import PartitionState, TopicPartition
from tests.broker.replica.fakes import FakeCluster


class ParkTests(SynchronousTestCase):
    def setUp(self) -> None:
        """Park a fetch on two partitions."""
        self.clock = Clock()
        self.enough = False
        self.partitions = [self.make_partition(number) for number in range(2)]
        self.waiting = delay_fetch(self.clock, self.partitions, 500, lambda: self.enough)

    def make_partition(self, number: int) -> Partition:
        """Return a partition whose log is in memory."""
        topic_partition = TopicPartition("t", number)
        log = BatchLog(
            topic_partition, LogConfig(), lambda name: KeepAll(), self.clock, MemoryStorage(), execute
        )
        return Partition(log, PartitionState(0, 0, (0,), (0,)), FakeCluster(0))

    def check_nothing_left(self) -> None:
        """Assert that no timer runs, and that no partition knows of the fetch."""
        self.assertEqual(self.clock.getDelayedCalls(), [])
        self.assertEqual([partition.delayed_fetches for partition in self.partitions], [set(), set()])

    def test_data_ends_it(self) -> None:
        """A fetch completes when one of its partitions has moved and there is enough data."""
        self.enough = True
        self.partitions[1].wake()
        self.assertIsNone(self.successResultOf(self.waiting))
        self.check_nothing_left()

    def test_too_little_does_not(self) -> None:
        """A fetch continues to wait while there is too little data."""
        self.partitions[0].wake()
        self.assertNoResult(self.waiting)
        self.assertEqual(len(self.clock.getDelayedCalls()), 1)

    def test_time_ends_it(self) -> None:
        """A fetch completes without data after max_wait_ms, not before."""
        self.clock.advance(0.499)
        self.assertNoResult(self.waiting)
        self.clock.advance(0.001)
        self.assertIsNone(self.successResultOf(self.waiting))
        self.check_nothing_left()

    def test_cancel(self) -> None:
        """A cancelled fetch is removed."""
        self.waiting.cancel()
        self.failureResultOf(self.waiting, CancelledError)
        self.check_nothing_left()
        self.enough = True
        self.partitions[0].wake()

    def test_all_of_a_partition_are_woken(self) -> None:
        """One wake reaches every fetch parked at the partition, while they are removed from it."""
        others = [delay_fetch(self.clock, self.partitions[:1], 500, lambda: True) for _ in range(3)]
        self.partitions[0].wake()
        for other in others:
            self.successResultOf(other)
        self.assertNoResult(self.waiting)
