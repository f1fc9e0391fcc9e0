"""A disk that is really full: a small tmpfs under a real broker. Mounting one needs root."""

from __future__ import annotations

import os
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from twisted.trial.unittest import SynchronousTestCase

from kafkatx.blocking import Admin, Cluster, Reader, Writer
from kafkatx.errors import ErrorCode, RequestError
from kafkatx.testing import EmbeddedBroker

SIZE = "3m"
VALUE = b"x" * 5000
WAIT_S = 20.0


@contextmanager
def small_disk() -> Iterator[Path]:
    """A directory with room for 3 MB."""
    with tempfile.TemporaryDirectory(prefix="kafkatx-") as path:
        command = ["mount", "-t", "tmpfs", "-o", f"size={SIZE}", "tmpfs", path]
        done = subprocess.run(command, capture_output=True, text=True)
        if done.returncode:
            raise AssertionError(
                f"{' '.join(command)} failed: {done.stderr.strip()}; this test needs root, in a container "
                "the right to mount (CAP_SYS_ADMIN)"
            )
        try:
            yield Path(path)
        finally:
            subprocess.run(["umount", "--lazy", path], check=True)


class FullDiskTests(SynchronousTestCase):
    """Partition 0 of the topic is on a disk with room, partition 1 on one that fills."""

    def test_full_and_emptied(self) -> None:
        """A batch that does not fit is rejected whole; reads go on, and writing resumes with room."""
        with small_disk() as small, tempfile.TemporaryDirectory(prefix="kafkatx-") as large:
            settings = {
                "log.dirs": f"{large},{small}",
                "log.segment.bytes": "200000",
                "log.segment.delete.delay.ms": "50",
                "log.flush.interval.messages": "1",
                "log.flush.offset.checkpoint.interval.ms": "100",
            }
            broker = EmbeddedBroker(settings, run_in="process").start()
            try:
                self.fill_and_empty(broker, small)
            finally:
                broker.stop()

    def fill_and_empty(self, broker: EmbeddedBroker, small: Path) -> None:
        """The test, with a broker that runs."""
        with Cluster(broker.bootstrap) as cluster:
            admin = Admin(cluster)
            admin.create_topic("t", 2)
            acknowledged = self.fill(cluster)
            self.assertGreater(acknowledged, 100)
            self.assertEqual(admin.describe_log_dirs()[0][1].error, ErrorCode.NONE)
            self.assertEqual(self.send(cluster, 0, b"elsewhere"), 1)
            self.check(cluster, 0, acknowledged)
        self.assertLess(broker.output().count("No space left"), 20)  # 10 a minute of a kind
        broker.kill()
        broker.start()
        with Cluster(broker.bootstrap) as cluster:
            self.check(cluster, 0, acknowledged)
            Admin(cluster).delete_records("t", {1: acknowledged - 50})
            self.wait_for_room(small)
            self.assertEqual(self.send(cluster, 1, b"%d|" % acknowledged + VALUE), acknowledged + 1)
            self.check(cluster, acknowledged - 50, acknowledged + 1)

    def send(self, cluster: Cluster, partition: int, *values: bytes) -> int:
        """Produce; how many records the partition has then."""
        with Writer(cluster, "t", delivery_timeout_s=1) as writer:
            for value in values:
                writer.send(value, partition=partition)
        return cluster.offsets("t", {partition: -1})[partition][0]

    def fill(self, cluster: Cluster) -> int:
        """Produce until the disk is full; how many records were acknowledged, the log has no more."""
        number = 0
        while True:
            try:
                self.assertEqual(self.send(cluster, 1, b"%d|" % number + VALUE), number + 1)
            except RequestError as error:
                self.assertEqual(error.code, ErrorCode.KAFKA_STORAGE_ERROR)
                self.assertEqual(cluster.offsets("t", {1: -1})[1][0], number)
                return number
            number += 1

    def check(self, cluster: Cluster, start: int, end: int) -> None:
        """The numbers from start to end are in partition 1, each at its offset."""
        with Reader(cluster, "t", 1, start_offset=start, end_offset=end) as reader:
            found = [(record.offset, int((record.value or b"").split(b"|")[0])) for record in reader]
        self.assertEqual(found, [(number, number) for number in range(start, end)])

    def wait_for_room(self, small: Path) -> None:
        """Old segments' files go a little later than their records."""
        deadline_s = time.monotonic() + WAIT_S
        while os.statvfs(small).f_bavail * os.statvfs(small).f_bsize < 1_000_000:
            self.assertLess(time.monotonic(), deadline_s, "no room was made")
            time.sleep(0.05)  # real files of a real process
