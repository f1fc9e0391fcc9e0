"""Real brokers and the records' keeping: deleted records, log dirs, disks that go away."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

from twisted.trial.unittest import SynchronousTestCase

from kafkatx.blocking import EARLIEST, Admin, Cluster, Reader, Writer
from kafkatx.errors import ErrorCode, RequestError
from kafkatx.testing import EmbeddedBroker
from kafkatx.types import TopicPartition
from tests.integration.clients import new_topic

WAIT_S = 30.0


class StorageTests(SynchronousTestCase):
    def setUp(self) -> None:
        """A broker with two log dirs, and a topic of two partitions."""
        self.dirs = [Path(self.mktemp()).resolve() for _ in range(2)]
        settings = {"log.dirs": ",".join(map(str, self.dirs)), "log.segment.bytes": "10000"}
        self.broker = EmbeddedBroker(settings, run_in="process").start()
        self.addCleanup(self.broker.stop)
        self.topic = new_topic()
        self.connect()
        self.admin.create_topic(self.topic, 2)
        with Writer(self.cluster, self.topic, batch_bytes=1000) as writer:
            for number in range(2000):
                writer.send(b"%d" % number, partition=number % 2)

    def connect(self) -> None:
        """Reach the broker where it is now."""
        self.cluster = Cluster(self.broker.bootstrap)
        self.addCleanup(self.cluster.close)
        self.admin = Admin(self.cluster)

    def read(self, partition: int, start: int) -> list[int]:
        """The numbers in a partition, from an offset on."""
        with Reader(self.cluster, self.topic, partition, start_offset=start, end_offset=1000) as reader:
            return [int(record.value or b"") for record in reader]

    def test_delete_records(self) -> None:
        """Deleted records are gone, and after kill -9 they are still."""
        self.assertEqual(self.admin.delete_records(self.topic, {0: 990, 1: -1}), {0: 990, 1: 1000})
        error = self.assertRaises(RequestError, self.admin.delete_records, self.topic, {0: 1001})
        self.assertEqual(error.code, ErrorCode.OFFSET_OUT_OF_RANGE)
        for _ in range(2):
            found = self.cluster.offsets(self.topic, {0: EARLIEST, 1: EARLIEST})
            self.assertEqual({number: offset for number, (offset, _) in found.items()}, {0: 990, 1: 1000})
            self.assertEqual(self.read(0, 990), list(range(1980, 2000, 2)))
            self.broker.kill()
            self.broker.start()
            self.connect()

    def test_log_dirs(self) -> None:
        """Each broker tells what is in its dirs."""
        ((broker_id, dirs),) = self.admin.describe_log_dirs().items()
        self.assertEqual(broker_id, 0)
        self.assertEqual([one.path for one in dirs], [str(path) for path in self.dirs])
        for number, one in enumerate(dirs):
            self.assertEqual((one.error, list(one.sizes)), (0, [TopicPartition(self.topic, number)]))
            self.assertGreater(one.sizes[TopicPartition(self.topic, number)], 10_000)

    def test_a_dir_is_lost(self) -> None:
        """A dir that vanishes is offline, at the start and under load; what is in the other is served."""
        shutil.rmtree(self.dirs[1])
        with (
            self.assertRaises(RequestError) as raised,
            Writer(self.cluster, self.topic, batch_bytes=20_000, delivery_timeout_s=2) as writer,
        ):
            for _ in range(50):  # until a segment has to be made
                writer.send(b"x" * 1000, partition=1)
        self.assertEqual(raised.exception.code, ErrorCode.KAFKA_STORAGE_ERROR)
        self.assertEqual(len(self.read(0, 0)), 1000)
        dirs = self.admin.describe_log_dirs()[0]
        self.assertEqual([one.error for one in dirs], [0, ErrorCode.KAFKA_STORAGE_ERROR])
        self.assertEqual(self.broker.output().count("is offline"), 1)


class LastDirTests(SynchronousTestCase):
    def test_broker_stops(self) -> None:
        """A broker whose last dir fails ends with status 1, and says why."""
        data = self.mktemp()
        command = [sys.executable, "-c", "from twisted.scripts.twistd import run; run()"]
        command += ["--nodaemon", "--pidfile=", "kafkatx", "--set", f"log.dirs={data}"]
        command += ["--set", "listeners=PLAINTEXT://127.0.0.1:0"]
        command += ["--set", "log.flush.offset.checkpoint.interval.ms=200"]
        broker = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        assert broker.stdout is not None
        lines = []
        for line in broker.stdout:
            lines.append(line)
            if "kafkatx is ready" in line:
                os.rename(data, data + "-gone")
        self.assertEqual(broker.wait(WAIT_S), 1)
        broker.stdout.close()
        self.assertIn("kafkatx: log.dirs: every directory is offline", "".join(lines))
        self.assertNotIn("every log is flushed", "".join(lines))
