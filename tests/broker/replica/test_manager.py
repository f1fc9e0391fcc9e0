"""The replica manager's write rounds: failed writes, and the fetches that are woken."""

from __future__ import annotations

import errno

from twisted.logger import LogLevel, capturedLogs

from kafkatx.broker.replica.partition import Partition
from kafkatx.broker.replica.purgatory import delay_fetch
from kafkatx.records.builder import build_values
from tests.broker.running import NOW_MS, BrokerTestCase, produce_request


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
