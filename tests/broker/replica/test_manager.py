"""The replica manager's write rounds: failed writes, and the fetches that are woken."""

from __future__ import annotations

import errno
from collections.abc import Collection
from typing import Any, cast

from twisted.internet.defer import CancelledError, Deferred, fail, succeed
from twisted.logger import LogLevel, capturedLogs

from kafkatx.broker.replica.manager import REPORT_AGAIN_S
from kafkatx.broker.replica.partition import Partition
from kafkatx.broker.replica.purgatory import delay_fetch
from kafkatx.broker.replica.roles import OFFLINE, Following
from kafkatx.errors import ErrorCode, ProtocolViolation, RequestError
from kafkatx.interfaces import IPartitionLog
from kafkatx.records.builder import build_values
from kafkatx.records.compression import Codec
from kafkatx.testing.contracts.partition_log import batch
from kafkatx.types import TopicPartition
from tests.broker.cluster import ClusterTestCase
from tests.broker.replicated import ReplicatedTestCase
from tests.broker.running import NOW_MS, BrokerTestCase, produce_request

NOT_LEADER_OR_FOLLOWER = ErrorCode.NOT_LEADER_OR_FOLLOWER


class ReplicaManagerTests(BrokerTestCase):
    def stage(self, *partitions: Partition) -> None:
        """Stage a record in each partition."""
        for partition in partitions:
            name = partition.topic_partition
            request = produce_request(
                build_values([b"v"], NOW_MS), topic=name.topic, partition=name.partition
            )
            self.dispatch.answer(self.frame(0, 9, request), self.peer)

    def fail_write(self, partition: Partition) -> OSError:
        """Make the next write of a partition's log fail as on a full disk; return the error."""
        error = OSError(errno.ENOSPC, "No space left on device")

        def write() -> None:
            partition.log.truncate_to(partition.log.log_end_offset)  # drops the staged records
            patched.restore()
            raise error

        patched = self.patch(partition.log, "write", write)
        return error

    def test_each_once(self) -> None:
        """Every partition with staged records is written once, and the next round begins empty."""
        (partition,) = self.make_topic()
        writes = []
        write = partition.log.write

        def counted() -> None:
            writes.append(1)
            write()

        self.patch(partition.log, "write", counted)
        self.stage(partition, partition, partition)
        self.assertEqual(self.broker.write_staged(), {})
        self.assertEqual(self.broker.write_staged(), {})
        self.assertEqual((len(writes), partition.high_watermark), (1, 3))

    def test_failure_is_of_one_partition(self) -> None:
        """A failed write affects its partition alone, whose high watermark stays and which the log names."""
        bad, good = self.make_topic("t", 2)
        error = self.fail_write(bad)
        self.stage(bad, good)
        with capturedLogs() as events:
            failed = self.broker.write_staged()
        self.assertEqual(failed, {bad: error})
        self.assertEqual((bad.high_watermark, good.high_watermark), (0, 1))
        (event,) = (e for e in events if e["log_level"] == LogLevel.error)
        self.assertEqual(str(event["partition"]), "t-0")
        self.stage(bad)
        self.assertEqual((self.broker.write_staged(), bad.high_watermark), ({}, 1))

    def test_told_of_an_earlier_write(self) -> None:
        """Failures of a write before the end of its round are told at the end, once."""
        bad, good = self.make_topic("t", 2)
        error = self.fail_write(bad)
        self.stage(bad)
        self.broker.replicas.failed_early.update(self.broker.write_staged())
        self.stage(good)
        self.assertEqual(self.broker.write_staged(), {bad: error})
        self.assertEqual((self.broker.write_staged(), good.high_watermark), ({}, 1))

    def test_woken_after_the_round(self) -> None:
        """Fetches are woken by wake_waiting(), not between two writes, and only for written partitions."""
        written, failed, untouched = self.make_topic("t", 3)
        waits = [delay_fetch(self.clock, [p], 1000, lambda: True) for p in (written, failed, untouched)]
        self.fail_write(failed)
        self.stage(written, failed)
        self.broker.write_staged()
        self.assertNoResult(waits[0])
        self.broker.replicas.wake_waiting()
        self.successResultOf(waits[0])
        for other in waits[1:]:
            self.assertNoResult(other)


class LeaseTests(ClusterTestCase):
    """A broker of several writes only while no other one can lead its partitions."""

    def setUp(self) -> None:
        """Make two partitions."""
        super().setUp()
        self.metadata.put(self.metadata.make_topic("t", [[1], [1]]))
        self.records = build_values([b"v"], NOW_MS)

    def ends(self) -> list[int]:
        """Return the log end offsets."""
        return [partition.log.log_end_offset for partition in self.broker.topics.of("t")]

    def test_ended(self) -> None:
        """Nothing is written once the lease has ended; the next records after that get the next offset."""
        self.assertEqual(self.produce(self.records).error_code, 0)
        self.metadata.remaining_s = 0
        for acks in (-1, 1):
            result = self.produce(self.records, acks=acks)
            self.assertEqual((result.error_code, result.base_offset), (NOT_LEADER_OR_FOLLOWER, -1))
        self.assertEqual(self.ends(), [1, 0])
        self.metadata.remaining_s = 0.1
        self.assertEqual(self.produce(self.records).base_offset, 1)

    def test_no_acknowledgement(self) -> None:
        """With acks=0 the connection is closed: there is no other way to tell the producer."""
        self.metadata.remaining_s = -5
        with self.assertRaises(ProtocolViolation) as caught:
            self.produce(self.records, acks=0)
        self.assertIn("NOT_LEADER_OR_FOLLOWER", str(caught.exception))
        self.assertEqual(self.ends(), [0, 0])

    def test_producers(self) -> None:
        """A producer's sequence numbers go on where they were before the refused records."""
        first, second = (batch([b"v"], producer=(7, 0, sequence)) for sequence in (0, 1))
        self.assertEqual(self.produce(first).error_code, 0)
        self.metadata.remaining_s = 0
        self.assertEqual(self.produce(second).error_code, NOT_LEADER_OR_FOLLOWER)
        self.metadata.remaining_s = 1
        self.assertEqual(self.produce(second).base_offset, 1)

    def test_own_records(self) -> None:
        """The broker's own records are not written either."""
        partition = self.broker.topics.of("t")[0]
        partition.log.append(self.records, 0, NOW_MS, True)
        self.metadata.remaining_s = 0
        self.assertEqual(list(self.broker.replicas.write(partition)), [partition])
        self.assertEqual(self.ends(), [0, 0])

    def test_validated(self) -> None:
        """Records that were validated in a worker are not written either."""
        self.metadata.remaining_s = 0
        result = self.produce(build_values([b"v"] * 20_000, NOW_MS, codec=Codec.GZIP))
        self.assertEqual(result.error_code, NOT_LEADER_OR_FOLLOWER)
        self.assertEqual(self.ends(), [0, 0])

    def test_log(self) -> None:
        """The log tells of it, not more often than of other failures."""
        self.metadata.remaining_s = 0
        with capturedLogs() as events:
            for _ in range(3):
                self.produce(self.records)
        (event,) = [event for event in events if event["log_level"] == LogLevel.error]
        self.assertIn("lease", str(event["error"]))


class FakeDir:
    """A log dir that fails."""

    path = "/failed"
    error: OSError | None = OSError(errno.EIO, "Input/output error")

    def __init__(self, *logs: IPartitionLog) -> None:
        self.logs = {log.topic_partition: log for log in logs}


class WorkingDir(FakeDir):
    """One that works."""

    error = None


class OfflineTests(ReplicatedTestCase):
    """A log dir of a broker of several fails."""

    def setUp(self) -> None:
        """Lead one partition, follow two others; the log of the last one stays."""
        super().setUp()
        self.partitions = self.make_replicated("t", [(1, 2), (2, 1), (2, 1)])
        self.told: list[TopicPartition] = []
        self.broker.topics.replica_listeners.append(lambda one: self.told.append(one.topic_partition))

    def fail_dir(self) -> None:
        """Fail the dir of the first two."""
        failed = FakeDir(*[partition.log for partition in self.partitions[:2]])
        self.patch(self.broker.store, "dirs", [failed, WorkingDir()])
        assert self.broker.store.on_offline is not None
        self.broker.store.on_offline(cast(Any, failed))

    def reports(self) -> list[set[TopicPartition]]:
        """Return what the cluster was told."""
        return [set(one.args[0]) for one in self.metadata.commands if one.name == "report_offline"]

    def test_reported(self) -> None:
        """The cluster is told of all its replicas in one call; listeners are, so that following ends."""
        self.fail_dir()
        self.assertEqual((self.told, self.reports()), ([], []))  # it may be in the middle of a round
        self.clock.advance(0)
        self.clock.advance(0)
        names = [partition.topic_partition for partition in self.partitions[:2]]
        self.assertEqual((self.told, self.reports()), (names, [set(names)]))
        self.assertEqual(self.metadata.state.offline[1], set(names))
        self.assertEqual([one.role for one in self.partitions[:2]], [OFFLINE] * 2)

    def test_reported_again(self) -> None:
        """A cluster that could not be told in time is told again later."""
        told: list[set[TopicPartition]] = []

        def report(replicas: Collection[TopicPartition]) -> Deferred[None]:
            told.append(set(replicas))
            return fail(RequestError(ErrorCode.REQUEST_TIMED_OUT)) if len(told) == 1 else succeed(None)

        self.patch(self.metadata, "report_offline", report)
        self.fail_dir()
        self.clock.advance(0)
        self.clock.advance(0)
        self.assertEqual(len(told), 1)
        for _ in range(3):
            self.clock.advance(REPORT_AGAIN_S)
        self.assertEqual(told, [{one.topic_partition for one in self.partitions[:2]}] * 2)
        self.assertEqual(self.partitions[2].role, Following(2, 0))

    def test_writers_are_told(self) -> None:
        """Writers that wait for a commit, and fetches, are answered."""
        codes: list[ErrorCode] = []
        self.partitions[0].commit_waiters.add(1, 0, 1e9, codes.append)
        waiting = delay_fetch(self.clock, self.partitions[:1], 1000, lambda: True, by_replica=True)
        self.fail_dir()
        self.clock.advance(0)
        self.successResultOf(waiting)
        self.assertEqual(codes, [ErrorCode.KAFKA_STORAGE_ERROR])

    def test_failures(self) -> None:
        """A report that fails is a bug, unless the store stops."""
        for error, lines in ((CancelledError(), 0), (ValueError("bug"), 1)):
            self.metadata.holding = True
            (partition,) = self.make_replicated(f"u{lines}", [(1, 2)])
            partition.go_offline()
            self.broker.topics.tell(partition)
            with capturedLogs() as events:
                self.clock.advance(0)
                self.metadata.commands[-1].done.errback(error)
            self.assertEqual(len([e for e in events if e["log_level"] == LogLevel.critical]), lines)
        self.assertEqual(len(self.flushLoggedErrors(ValueError)), 1)

    def test_one_broker(self) -> None:
        """A cluster of one broker has no others to tell."""
        self.metadata.lease_remaining_s = None
        self.fail_dir()
        self.clock.advance(0)
        self.clock.advance(0)
        self.assertEqual(self.reports(), [])


class HighWatermarkTests(ReplicatedTestCase):
    """The high watermarks on the disk."""

    def test_checkpoint(self) -> None:
        """Those of partitions with several replicas are written if one has changed, or after a failure."""
        written: list[dict[TopicPartition, int]] = []
        results: list[Deferred[None]] = []

        def write(offsets: dict[TopicPartition, int]) -> Deferred[None]:
            written.append(offsets)
            return results.pop() if results else succeed(None)

        self.patch(self.broker.store, "checkpoint_high_watermarks", write)
        checkpoint = self.broker.replicas.checkpoint_high_watermarks
        self.make_replicated("alone", [(1,)])
        self.successResultOf(checkpoint())
        self.assertEqual(written, [])
        (partition,) = self.make_replicated()
        for _ in range(2):
            self.successResultOf(checkpoint())
        self.assertEqual(written, [{("t", 0): 0}])
        partition.log.append(build_values([b"v"], NOW_MS), 0, NOW_MS, True)
        partition.log.write()
        self.replicate(partition, 1)
        results.append(fail(OSError(errno.ENOSPC, "full")))
        self.failureResultOf(checkpoint(), OSError)
        self.successResultOf(checkpoint())
        self.assertEqual(written[1:], [{("t", 0): 1}] * 2)
        partition.go_offline()
        self.successResultOf(checkpoint())
        self.assertEqual(written[3:], [{}])
