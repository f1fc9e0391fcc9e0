"""Our producer's transactions with our broker, in both protocols; restarts, and a copier that is killed."""

from __future__ import annotations

import atexit
import random
import subprocess
import sys
import time

from kafkatx.blocking import Cluster
from kafkatx.blocking.admin.topics import Admin
from kafkatx.client import threads
from kafkatx.spark.options.options import SourceOptions, parse_batch
from kafkatx.spark.source.partition_logs import PartitionLogs
from kafkatx.spark.source.range_reader import read_range
from kafkatx.testing import EmbeddedBroker
from tests.integration.clients import new_topic
from tests.integration.producer_transactions import OlderProtocol, ProducerTransactions
from tests.ports import free_port

RECORDS = 6000
KILLED_AFTER = 900
"""The copier is killed each time when it has copied that many more."""

COPY_S = 300.0
"""Only a copier that does not come to its end takes so long."""

_SHARED: list[EmbeddedBroker] = []


def shared_broker() -> EmbeddedBroker:
    """Return the broker of all tests here; it is started once, in a process."""
    if not _SHARED:
        settings = {
            "listeners": f"PLAINTEXT://127.0.0.1:{free_port()}",
            "group.initial.rebalance.delay.ms": "0",
        }
        _SHARED.append(EmbeddedBroker(settings, run_in="process").start())
        atexit.register(_SHARED[0].stop)
    return _SHARED[0]


class _OurBroker(ProducerTransactions):
    def setUp(self) -> None:
        """Use the broker."""
        self.broker = shared_broker()
        self.bootstrap = self.broker.bootstrap
        super().setUp()

    def test_readers(self) -> None:
        """kafkatx consume and Spark's source leave out what is aborted or open."""
        producer = self.producer()
        for value, end in ((b"kept", producer.commit), (b"aborted", producer.abort), (b"open", None)):
            producer.begin()
            producer.send(self.topic, value, partition=0).result(30)
            if end is not None:
                end()
        every = ["kept", "aborted", "open"]
        for level, values in (("read_committed", every[:1]), ("read_uncommitted", every)):
            command = [sys.executable, "-m", "kafkatx", "-b", self.bootstrap, "consume", self.topic, "-e"]
            done = subprocess.run(
                [*command, "--isolation", level], capture_output=True, text=True, timeout=60, check=True
            )
            self.assertEqual(done.stdout.split(), values)
            options = {"kafka.bootstrap.servers": self.bootstrap, "subscribe": self.topic}
            options["kafka.isolation.level"] = level
            self.assertEqual(self.with_spark(parse_batch(options)), values)
        producer.abort()

    def with_spark(self, options: SourceOptions) -> list[str]:
        """Return the values that a batch of Spark's source reads."""
        with PartitionLogs(options) as logs:
            ranges = logs.batch()
        batches = [batch for each in ranges for batch in read_range(options.client, each, False, True)]
        return [value.decode() for batch in batches for value in batch.column("value").to_pylist()]

    def test_copier(self) -> None:
        """A copier that is killed amid its work, and the broker, leave each record once in the output."""
        source, values = new_topic(), [b"%04d" % number for number in range(RECORDS)]
        with Cluster(self.bootstrap) as cluster:
            Admin(cluster).create_topic(source, partitions=2)
        with threads.Producer(bootstrap_servers=self.bootstrap) as producer:
            for value in values:
                producer.produce(source, value)
        command = [sys.executable, "-m", "tests.integration.transactional_copier", self.bootstrap]
        command += [source, self.topic, self.name, *([] if self.implicit else ["older"])]
        chance, end = random.Random(5), time.monotonic() + COPY_S
        starts = 0

        def lacks(count: int) -> bool:
            return time.monotonic() < end and len(self.read(ended=False)) < count

        while lacks(RECORDS):
            copier = subprocess.Popen(command, stderr=subprocess.DEVNULL)
            starts += 1
            while copier.poll() is None and lacks(min(RECORDS, KILLED_AFTER * starts)):
                time.sleep(chance.uniform(0.01, 0.1))
            copier.kill()
            copier.wait()
            if starts == 2:
                self.broker.kill()
                self.broker.start()
        self.assertEqual(self.read(), values)
        self.assertGreater(starts, 1)

    def test_killed(self) -> None:
        """A transaction over two kills of the broker is whole."""
        producer = self.producer()
        for _ in range(2):
            producer.begin()
            producer.send(self.topic, b"before", partition=0).result(30)
            producer.send_offsets({self.place: 4}, self.group)
            self.broker.kill()
            self.broker.start()
            producer.produce(self.topic, b"after", partition=1)
            producer.commit()
        self.assertEqual(self.read(), [b"after", b"after", b"before", b"before"])
        self.assertEqual(self.committed(), 4)


class OurBrokerTests(_OurBroker):
    """Protocol 2."""


class OurBrokerOlderTests(OlderProtocol, _OurBroker):
    """Protocol 1."""


del ProducerTransactions, OlderProtocol, _OurBroker
