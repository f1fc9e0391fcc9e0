"""A bit that flipped on the disk: never served as good, found, mended; the rest is untouched."""

from __future__ import annotations

import glob
import os
import subprocess
import sys
import tempfile
from typing import Any

from twisted.trial.unittest import SynchronousTestCase

from kafkatx.testing import EmbeddedBroker
from tests.integration.clients import Confluent, messages

COUNT = 2000
SETTINGS = {"log.segment.bytes": "100000"}


def kafkatx(*arguments: str) -> subprocess.CompletedProcess[bytes]:
    """Run the command line."""
    command = [sys.executable, "-c", "import sys; from kafkatx.cli.main import main; sys.exit(main())"]
    return subprocess.run([*command, *arguments], capture_output=True, check=False)


def read_checked(bootstrap: str, topic: str) -> tuple[list[tuple[int, Any, Any]], bool]:
    """Read a partition by librdkafka with ``check.crcs``; return the values, and True if it saw an error."""
    from confluent_kafka import OFFSET_BEGINNING, Consumer, KafkaError, TopicPartition

    consumer = Consumer(
        {
            "bootstrap.servers": bootstrap,
            "group.id": "unused",
            "enable.auto.commit": False,
            "check.crcs": True,
            "enable.partition.eof": True,
            "log_level": 0,
        }
    )
    consumer.assign([TopicPartition(topic, 0, OFFSET_BEGINNING)])
    found = []
    while True:
        message = consumer.poll(5)
        if message is None or message.error():
            break
        found.append((message.offset(), message.key(), message.value()))
    consumer.close()
    return found, message is None or message.error().code() != KafkaError._PARTITION_EOF


class FlippedBitTests(SynchronousTestCase):
    """Two topics, of which one gets a wrong bit in the middle of a segment in its middle."""

    def setUp(self) -> None:
        """Fill them, stop the broker, flip the bit."""
        directory = tempfile.TemporaryDirectory(prefix="kafkatx-")
        self.addCleanup(directory.cleanup)
        self.path = directory.name
        self.expected = [(n, *pair) for n, pair in enumerate(messages(COUNT))]
        self.broker = EmbeddedBroker(SETTINGS, data_dir=self.path, run_in="process").start()
        self.addCleanup(self.broker.stop)
        client = Confluent(self.broker.bootstrap)
        for topic in ("damaged", "whole"):
            client.create(topic, 1)
            client.produce(topic, "none", messages(COUNT), **{"batch.num.messages": 20})
        self.broker.stop()
        logs = sorted(glob.glob(os.path.join(self.path, "damaged-0", "*.log")))
        self.assertGreater(len(logs), 3)
        self.log = logs[len(logs) // 2]
        with open(self.log, "r+b") as file:
            data = bytearray(file.read())
            data[len(data) // 2] ^= 0x10
            file.seek(0)
            file.write(data)

    def check_reads(self, topic: str, whole: bool) -> int:
        """Two clients that check get nothing but what was written; return how much it was."""
        found, told = read_checked(self.broker.bootstrap, topic)
        self.assertEqual(found, [self.expected[one[0]] for one in found])
        self.assertEqual([one[0] for one in found], list(range(len(found))))
        done = kafkatx("consume", topic, "-e", "-f", "%R%s", "-b", self.broker.bootstrap)
        values = [value for _, _, value in self.expected]
        stream = b"".join(len(value).to_bytes(4, "big") + value for value in values)
        self.assertTrue(stream.startswith(done.stdout))
        self.assertEqual((done.returncode, told), (0, False) if whole else (1, True), done.stderr)
        return len(found)

    def test_flipped(self) -> None:
        """Readers stop at the batch, verify names file and byte, repair cuts there, and the log goes on."""
        self.broker.start()
        served = self.check_reads("damaged", whole=False)
        self.assertTrue(0 < served < COUNT)
        self.assertEqual(self.check_reads("whole", whole=True), COUNT)
        done = kafkatx("log", "verify", self.path)
        self.assertEqual(done.returncode, 1)
        (line,) = done.stdout.decode().splitlines()
        self.assertTrue(line.startswith(f"{self.log}:"), line)
        self.assertIn("in use by a broker", done.stderr.decode())
        self.assertEqual(kafkatx("log", "repair", self.path, "--yes").returncode, 1)
        self.broker.stop()
        self.assertEqual(kafkatx("log", "verify", os.path.join(self.path, "whole-0")).returncode, 0)

        done = kafkatx("log", "repair", self.path, "--yes")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(kafkatx("log", "verify", "--records", self.path).returncode, 0)
        self.broker.start()
        kept, told = read_checked(self.broker.bootstrap, "damaged")
        self.assertFalse(told)
        self.assertEqual(kept, self.expected[: len(kept)])
        self.assertGreaterEqual(len(kept), served)
        self.assertEqual(self.check_reads("whole", whole=True), COUNT)
        Confluent(self.broker.bootstrap).produce("damaged", "none", [(b"k", b"after")])
        self.assertEqual(read_checked(self.broker.bootstrap, "damaged")[0][-1], (len(kept), b"k", b"after"))
