"""``kafkatx log verify`` and ``dump`` read the log dir of an Apache Kafka broker."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import time
from typing import Any

from twisted.trial.unittest import SynchronousTestCase

from kafkatx.config.log_config import LogConfig
from kafkatx.log.files import Files
from kafkatx.log.inspect.dump import Dump
from kafkatx.log.inspect.logdir import Check
from kafkatx.log.inspect.rows import AbortedRow, BatchRow, DamageRow, RecordRow
from kafkatx.log.recovery.loader import load
from tests.integration.clients import CODECS, Confluent, messages
from tests.interop.apache import JARS, TIMEOUT_S, java, run
from tests.ports import free_port

COUNT = 3000
CLUSTER_ID = "a2Fma2F0eC1pbnRlcm9wIQ"

_SETTINGS = """\
process.roles=broker,controller
node.id=1
controller.quorum.voters=1@127.0.0.1:{controller}
listeners=PLAINTEXT://127.0.0.1:{broker},CONTROLLER://127.0.0.1:{controller}
advertised.listeners=PLAINTEXT://127.0.0.1:{broker}
controller.listener.names=CONTROLLER
log.dirs={data}
log.segment.bytes=200000
offsets.topic.num.partitions=1
offsets.topic.replication.factor=1
transaction.state.log.num.partitions=1
transaction.state.log.replication.factor=1
transaction.state.log.min.isr=1
log.cleaner.backoff.ms=100
"""


class KafkaBroker:
    """A broker of Apache Kafka in KRaft mode."""

    def __init__(self, path: str) -> None:
        self.data = os.path.join(path, "data")
        self._config = os.path.join(path, "server.properties")
        broker, controller = free_port(), free_port()
        self.bootstrap = f"127.0.0.1:{broker}"
        os.makedirs(self.data)
        with open(self._config, "w") as file:
            file.write(_SETTINGS.format(broker=broker, controller=controller, data=self.data))
        run("kafka.tools.StorageTool", "format", "-t", CLUSTER_ID, "-c", self._config)
        self._log = open(os.path.join(path, "kafka.log"), "wb")  # noqa: SIM115  # closed by end()
        command = java("kafka.Kafka", self._config)
        self._process = subprocess.Popen(command, stdout=self._log, stderr=subprocess.STDOUT)

    def wait_until_ready(self) -> None:
        """Return when clients can connect."""
        from confluent_kafka.admin import AdminClient

        end = time.monotonic() + TIMEOUT_S
        while True:
            try:
                AdminClient({"bootstrap.servers": self.bootstrap, "log_level": 0}).list_topics(timeout=2)
                return
            except Exception:
                if time.monotonic() > end or self._process.poll() is not None:
                    raise

    def end(self, number: int = signal.SIGTERM) -> None:
        """Stop or kill it."""
        if self._process.poll() is None:
            self._process.send_signal(number)
        self._process.wait(TIMEOUT_S)
        self._log.close()


class KafkaLogTests(SynchronousTestCase):
    """One broker with all that it can have in its logs: codecs, transactions, compaction, groups."""

    def setUp(self) -> None:
        """Start it and fill its topics."""
        self.assertTrue(os.path.isdir(JARS), "make interop fetches the jars")
        self.broker = KafkaBroker(os.path.abspath(self.mktemp()))
        self.addCleanup(self.broker.end, signal.SIGKILL)
        self.broker.wait_until_ready()
        client = Confluent(self.broker.bootstrap)
        for codec in CODECS:
            client.create(f"codec-{codec}", 1)
            client.produce(f"codec-{codec}", codec, messages(COUNT), **{"batch.num.messages": 50})
        self.transactions()
        self.compacted()

    def transactions(self) -> None:
        """Committed and aborted transactions of an idempotent producer."""
        from confluent_kafka import Producer

        Confluent(self.broker.bootstrap).create("transactions", 1)
        producer = Producer(
            {"bootstrap.servers": self.broker.bootstrap, "transactional.id": "t", "log_level": 0}
        )
        producer.init_transactions()
        for number in range(6):
            producer.begin_transaction()
            for key in range(50):
                producer.produce("transactions", b"v" * 100, b"%d" % key, partition=0)
            producer.flush(TIMEOUT_S)
            producer.abort_transaction() if number % 2 else producer.commit_transaction()
        producer.begin_transaction()
        producer.produce("transactions", b"open", partition=0)
        producer.flush(TIMEOUT_S)
        self.addCleanup(lambda: producer)

    def compacted(self) -> None:
        """A topic that the cleaner has been at."""
        from confluent_kafka.admin import AdminClient, NewTopic

        admin = AdminClient({"bootstrap.servers": self.broker.bootstrap})
        settings = {"cleanup.policy": "compact", "min.cleanable.dirty.ratio": "0.01", "segment.ms": "100"}
        for made in admin.create_topics([NewTopic("compacted", 1, 1, config=settings)]).values():
            made.result(TIMEOUT_S)
        client = Confluent(self.broker.bootstrap)
        for turn in range(4):
            keys = [b"%d-%d" % (turn, n) if n % 10 == 0 else b"%d" % (n % 97) for n in range(COUNT)]
            pairs = [(key, value) for key, (_, value) in zip(keys, messages(COUNT), strict=True)]
            client.produce("compacted", "lz4", pairs, **{"batch.num.messages": 70})
            time.sleep(0.3)  # segment.ms: a real broker's clock
        path = os.path.join(self.broker.data, "cleaner-offset-checkpoint")
        end = time.monotonic() + 30
        while b"compacted 0" not in (Files().read(path) or b"") and time.monotonic() < end:
            time.sleep(0.2)
        self.assertIn(b"compacted 0", Files().read(path) or b"")

    def check(self) -> Check:
        """A check of the log dir that finds nothing."""
        check = Check(Files(), self.broker.data, deep=True)
        self.assertEqual([str(fault) for fault in check.faults()], [])
        self.assertGreater(check.tally.sound.records, len(CODECS) * COUNT)
        return check

    def rows(self, partition: str) -> list[Any]:
        """The rows of a partition."""
        return list(Dump(Files(), records=True, indexes=True).rows(os.path.join(self.broker.data, partition)))

    def test_stopped(self) -> None:
        """In use it is sound and told to be in use; stopped, sound and everything is there to be dumped."""
        self.assertIsNotNone(self.check().held_by)
        self.broker.end()
        self.assertIsNone(self.check().held_by)
        for codec in CODECS:
            rows = self.rows(f"codec-{codec}-0")
            records = [(row.key, row.value) for row in rows if isinstance(row, RecordRow)]
            self.assertEqual(records, messages(COUNT))
            # librdkafka sends a batch as it is where compression does not make it smaller
            self.assertIn(codec, {row.codec for row in rows if isinstance(row, BatchRow)})
        rows = self.rows("transactions-0")
        self.assertEqual(sum(isinstance(row, BatchRow) and row.control for row in rows), 6)
        self.assertEqual([row for row in rows if isinstance(row, DamageRow)], [])
        offsets = [row.offset for row in self.rows("compacted-0") if isinstance(row, RecordRow)]
        self.assertLess(len(offsets), offsets[-1] - offsets[0])

    def check_transactions(self, clean: bool) -> None:
        """Our log finds Kafka's transactions of 50 records and a marker: each other one was aborted."""
        copy = os.path.join(self.mktemp(), "transactions-0")
        shutil.copytree(os.path.join(self.broker.data, "transactions-0"), copy)
        loaded = load(Files(), copy, LogConfig(), 0, clean)
        firsts = [one.first_offset for one in loaded.aborted]
        self.assertEqual(firsts, [51, 153, 255])
        self.assertEqual([one.last_offset for one in loaded.aborted], [101, 203, 305])
        self.assertEqual(list(loaded.producers.open.values()), [306])
        self.assertEqual(loaded.log_end_offset, 307)

    def test_transactions(self) -> None:
        """After a stop the transactions of Kafka's log are known, one that is open as well."""
        self.broker.end()
        self.check_transactions(clean=True)
        rows = [row for row in self.rows("transactions-0") if isinstance(row, AbortedRow)]
        self.assertEqual([row.first_offset for row in rows], [51, 153, 255])

    def test_killed(self) -> None:
        """After kill -9 only indexes are at fault: they end in the zeros that Kafka has reserved."""
        self.broker.end(signal.SIGKILL)
        self.check_transactions(clean=False)
        faults = list(Check(Files(), self.broker.data, deep=True).faults())
        self.assertTrue(faults)
        self.assertEqual([str(f) for f in faults if not f.path.endswith(("index", "timeindex"))], [])
