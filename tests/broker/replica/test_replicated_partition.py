"""A partition with several replicas: as a leader, as a follower, and its high watermark in between."""

from __future__ import annotations

import errno

from twisted.internet.defer import Deferred
from twisted.logger import LogLevel, capturedLogs

from kafkatx.broker.replica.leadership import Leadership
from kafkatx.broker.replica.partition import Partition
from kafkatx.broker.replica.purgatory import delay_fetch
from kafkatx.broker.replica.roles import OFFLINE, Following, Leading
from kafkatx.config.log_config import LogConfig
from kafkatx.errors import ErrorCode
from kafkatx.interfaces.storage import NO_LIMIT
from kafkatx.records.builder import build_values
from kafkatx.types import PartitionState
from tests.broker.replica.fakes import FakeCluster
from tests.broker.running import NOW_MS, BrokerTestCase

REPLICAS = (1, 2, 3)


class ReplicatedTestCase(BrokerTestCase):
    """A partition of broker 1, whose log is that of a topic in memory."""

    def setUp(self) -> None:
        """Make a log."""
        super().setUp()
        self.cluster = FakeCluster()
        self.log = self.make_topic()[0].log

    def state(
        self, leader: int = 1, epoch: int = 0, isr: tuple[int, ...] = REPLICAS, version: int = 0
    ) -> PartitionState:
        """Return a state of the partition."""
        return PartitionState(leader, epoch, REPLICAS, isr, version)

    def make(self, state: PartitionState, min_insync: int = 1, high_watermark: int = -1) -> Partition:
        """Return the partition."""
        return Partition(self.log, state, self.cluster, True, min_insync, high_watermark)

    def write(self, partition: Partition, count: int = 1) -> None:
        """Append records as a leader does."""
        partition.log.append(build_values([b"v"] * count, NOW_MS), partition.leader_epoch, NOW_MS, True)
        partition.log.write()
        partition.advance()

    def fetch(self, partition: Partition, replica_id: int, offset: int, start: int = 0) -> None:
        """Count the fetch of a follower."""
        epoch = self.cluster.epochs[replica_id]
        partition.fetched_by(replica_id, epoch, offset, start, self.cluster.time_s)


class LeaderTests(ReplicatedTestCase):
    def test_high_watermark(self) -> None:
        """It follows the in-sync replicas' fetches, and retention stays below it."""
        partition = self.make(self.state())
        self.assertEqual((partition.high_watermark, self.log.deletable_end), (0, 0))
        self.write(partition, 3)
        self.fetch(partition, 2, 3)
        self.assertEqual(partition.high_watermark, 0)
        self.fetch(partition, 3, 2)
        self.assertEqual((partition.high_watermark, self.log.deletable_end), (2, 2))

    def test_never_back(self) -> None:
        """It does not go back when a member joins that has less, or fetches again from before."""
        partition = self.make(self.state(isr=(1, 2)))
        self.write(partition, 3)
        self.fetch(partition, 2, 3)
        self.fetch(partition, 2, 1)
        self.assertEqual(partition.high_watermark, 3)

    def test_flushed_only(self) -> None:
        """With log.expose=flushed the leader's own part is what it has flushed."""
        partition = self.make(self.state())
        partition.reconfigure(LogConfig(expose="flushed"))
        self.patch(type(self.log), "flushed_offset", 1)
        self.write(partition, 3)
        for follower in (2, 3):
            self.fetch(partition, follower, 3)
        self.assertEqual(partition.high_watermark, 1)
        self.patch(type(self.log), "flushed_offset", 3)
        assert self.log.on_flushed is not None
        self.log.on_flushed()
        self.assertEqual(partition.high_watermark, 3)

    def test_lease(self) -> None:
        """It stands still without a lease: another broker may lead (race 12)."""
        partition = self.make(self.state())
        self.write(partition)
        self.cluster.lease = False
        for follower in (2, 3):
            self.fetch(partition, follower, 1)
        self.assertEqual(partition.high_watermark, 0)
        self.cluster.lease = True
        self.fetch(partition, 2, 1)
        self.assertEqual(partition.high_watermark, 1)

    def test_start(self) -> None:
        """It begins where it was written down last, within the log; that of a sole replica at the end."""
        self.fill(b"a", b"b", b"c")
        for known, expected in ((-1, 0), (2, 2), (9, 3)):
            self.assertEqual(self.make(self.state(), high_watermark=known).high_watermark, expected)
        alone = Partition(self.log, PartitionState(1, 0, (1,), (1,)), self.cluster)
        self.assertEqual((alone.high_watermark, self.log.deletable_end), (3, NO_LIMIT))
        self.log.advance_log_start(2)
        self.assertEqual(self.make(self.state(), high_watermark=1).high_watermark, 2)

    def test_epoch_begins(self) -> None:
        """A leader notes its epoch at once, where the log ends (KAFKA-7415)."""
        self.fill(b"a", b"b")
        partition = self.make(self.state(leader=2, epoch=3))
        self.assertEqual(self.log.latest_epoch, 0)
        partition.apply(self.state(leader=1, epoch=4), True)
        self.assertEqual((self.log.latest_epoch, self.log.end_offset_for_epoch(3)), (4, (0, 2)))
        assert partition.leadership is not None
        self.assertEqual(partition.leadership.epoch_start_offset, 2)

    def test_epoch_cannot_be_noted(self) -> None:
        """A leader whose disk is full leads all the same; one whose log dir fails with that is offline."""

        def full(epoch: int) -> None:
            raise OSError(errno.ENOSPC, "No space left on device")

        self.patch(self.log, "begin_epoch", full)
        with capturedLogs() as events:
            partition = self.make(self.state())
        self.assertIsInstance(partition.leadership, Leadership)
        self.assertEqual([e["epoch"] for e in events if e["log_level"] == LogLevel.error], [0])

        def broken(epoch: int) -> None:
            partition.go_offline()
            raise OSError(errno.EIO, "Input/output error")

        self.patch(self.log, "begin_epoch", broken)
        partition.apply(self.state(epoch=1), True)
        self.assertEqual((partition.role, partition.leadership, partition.writable), (OFFLINE, None, False))

    def test_new_epoch(self) -> None:
        """In a new epoch nothing is known of the followers: what they had, they may have cut off."""
        partition = self.make(self.state())
        self.write(partition)
        for follower in (2, 3):
            self.fetch(partition, follower, 1)
        partition.apply(self.state(epoch=1, version=1), True)
        self.write(partition)
        self.fetch(partition, 2, 2)
        self.assertEqual(partition.high_watermark, 1)

    def test_not_led(self) -> None:
        """Fetches of followers count only where this broker leads; a leader takes nothing from others."""
        partition = self.make(self.state())
        self.write(partition)
        partition.followed(1, 0)
        self.assertEqual(partition.high_watermark, 0)
        partition.apply(self.state(leader=2, epoch=1), True)
        for follower in (2, 3):
            self.fetch(partition, follower, 1)
        partition.advance()
        self.assertEqual(partition.high_watermark, 0)

    def test_asks(self) -> None:
        """A fetch of a replica that is not in sync makes the cluster look; one of a member does not."""
        partition = self.make(self.state(isr=(1, 2)))
        self.cluster.looked_at.clear()
        self.fetch(partition, 2, 0)
        self.assertEqual(self.cluster.looked_at, [])
        self.fetch(partition, 3, 0)
        self.assertEqual(self.cluster.looked_at, [partition])

    def test_minimum(self) -> None:
        """The minimum is at most the number of replicas, and follows the setting."""
        partition = self.make(self.state(), min_insync=5)
        self.assertEqual((partition.min_insync, partition.min_insync_replicas), (3, 5))
        partition.use_min_insync(2)
        assert partition.leadership is not None
        self.assertEqual((partition.min_insync, partition.leadership.min_insync), (2, 2))
        partition.apply(PartitionState(1, 0, (1,), (1,), 1), True)
        self.assertEqual((partition.min_insync, partition.leadership), (1, None))


class WakeTests(ReplicatedTestCase):
    def setUp(self) -> None:
        """Begin the waiting of a consumer and of a follower."""
        super().setUp()
        self.partition = self.make(self.state())
        self.woken = {"consumer": 0, "follower": 0}
        self.consumer = self.wait("consumer", False)
        self.follower = self.wait("follower", True)
        self.codes: list[ErrorCode] = []

    def wait(self, name: str, by_replica: bool) -> Deferred[None]:
        """Begin to wait; count how often the fetch is woken."""

        def is_enough() -> bool:
            self.woken[name] += 1
            return False

        return delay_fetch(self.clock, [self.partition], 1000, is_enough, by_replica)

    def counts(self) -> tuple[int, int]:
        """Return how often the consumer and the follower were woken."""
        return self.woken["consumer"], self.woken["follower"]

    def commit_at(self, offset: int) -> None:
        """Wait for a commit."""
        self.partition.commit_waiters.add(offset, self.partition.leader_epoch, 1e9, self.codes.append)

    def test_written(self) -> None:
        """Followers are woken by what is written; consumers and writers by what is committed."""
        self.write(self.partition)
        self.commit_at(1)
        self.partition.wake_written()
        self.assertEqual((self.counts(), self.codes), ((0, 1), []))
        self.fetch(self.partition, 2, 1)
        self.assertEqual(self.counts(), (0, 1))
        self.fetch(self.partition, 3, 1)
        self.assertEqual((self.counts(), self.codes), ((1, 1), [ErrorCode.NONE]))
        self.partition.wake_written()
        self.assertEqual(self.counts(), (1, 2))

    def test_followed(self) -> None:
        """A follower's readers are woken when it hears of more that is committed."""
        self.partition.apply(self.state(leader=2, epoch=1), True)
        self.write(self.partition)
        self.partition.followed(1, 0)
        self.partition.followed(1, 0)
        self.assertEqual(self.counts(), (1, 0))

    def test_shrink(self) -> None:
        """A smaller set of in-sync replicas moves the high watermark, and writers hear of one too small."""
        self.write(self.partition, 2)
        self.fetch(self.partition, 2, 1)
        self.commit_at(1)
        self.commit_at(2)
        self.partition.apply(self.state(isr=(1, 2), version=1), True)
        self.partition.change_ended()
        self.assertEqual((self.counts(), self.codes), ((1, 0), [ErrorCode.NONE]))
        self.partition.use_min_insync(3)
        self.assertEqual(self.codes[1:], [ErrorCode.NOT_ENOUGH_REPLICAS_AFTER_APPEND])

    def test_deletes(self) -> None:
        """Those that wait for followers' log starts are woken when one has moved."""
        woken = []

        class Delete:
            def wake(self) -> None:
                woken.append(1)

        self.partition.delayed_deletes.add(Delete())
        self.write(self.partition, 3)
        self.fetch(self.partition, 2, 1)
        self.fetch(self.partition, 2, 2)
        self.assertEqual(len(woken), 1)  # it has told its log start for the first time
        self.fetch(self.partition, 2, 3, start=2)
        self.assertEqual(len(woken), 2)


class FollowerTests(ReplicatedTestCase):
    def setUp(self) -> None:
        """Follow broker 2, with five records."""
        super().setUp()
        self.fill(b"a", b"b", b"c")
        self.fill(b"d", b"e")
        self.partition = self.make(self.state(leader=2, epoch=1))

    def test_role(self) -> None:
        """A follower refuses clients."""
        self.assertEqual(self.partition.role, Following(2, 1))
        self.assertEqual(
            (self.partition.error, self.partition.writable), (ErrorCode.NOT_LEADER_OR_FOLLOWER, False)
        )

    def test_high_watermark(self) -> None:
        """It is what the leader tells, at most the own end, and never less than before."""
        for told, expected in ((2, 2), (1, 2), (9, 5)):
            self.partition.followed(told, 0)
            self.assertEqual((self.partition.high_watermark, self.log.deletable_end), (expected, expected))

    def test_log_start(self) -> None:
        """The log starts where the leader's does, as far as records are known to be committed (race 26)."""
        self.partition.followed(2, 3)
        self.assertEqual(self.log.log_start_offset, 2)
        self.partition.followed(5, 3)
        self.assertEqual(self.log.log_start_offset, 3)
        self.partition.followed(5, 1)
        self.assertEqual(self.log.log_start_offset, 3)

    def test_kept_start(self) -> None:
        """A follower tells the log start that outlives a crash, and asks to write one that has moved."""
        moved: list[Partition] = []
        self.patch(self.cluster, "log_start_moved", moved.append)
        self.partition.followed(5, 0)
        self.assertEqual(moved, [])
        self.partition.followed(5, 3)
        self.assertEqual((moved, self.partition.kept_start), ([self.partition], 0))

    def test_truncated(self) -> None:
        """After a cut the high watermark is within the log, and after a new beginning at it (KAFKA-9491)."""
        self.partition.followed(5, 0)
        self.log.truncate_to(3)
        self.partition.truncated()
        self.assertEqual((self.partition.high_watermark, self.log.deletable_end), (3, 3))
        self.log.restart_at(70)
        self.partition.truncated()
        self.assertEqual((self.partition.high_watermark, self.log.deletable_end), (70, 70))

    def test_elected(self) -> None:
        """A follower that becomes leader keeps its high watermark, though its log is longer."""
        self.partition.followed(2, 0)
        self.partition.apply(self.state(leader=1, epoch=2), True)
        self.partition.change_ended()
        self.assertEqual((self.partition.role, self.partition.high_watermark), (Leading(2), 2))

    def test_flush(self) -> None:
        """A flush does not move a follower's high watermark, also with log.expose=flushed."""
        self.partition.reconfigure(LogConfig(expose="flushed"))
        assert self.log.on_flushed is not None
        self.log.on_flushed()
        self.assertEqual(self.partition.high_watermark, 0)
