"""The broker that keeps nothing is one to a real client: it acknowledges, and it serves."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Mapping

from confluent_kafka import Consumer, Message, Producer, TopicPartition
from twisted.trial.unittest import SynchronousTestCase

from benchmarks.broker_process import free_port
from benchmarks.compare.loads.build import NotBuilt
from benchmarks.compare.systems import sink
from benchmarks.compare.systems.sink import Sink

WAIT_S = 30.0
BATCH, VALUE = 50, b"v" * 200


class SinkTests(SynchronousTestCase):
    def setUp(self) -> None:
        """One runs."""
        folder: str = self.mktemp()
        os.mkdir(folder)
        self.port = free_port()
        self.server = Sink().start(folder, self.port, None)
        self.addCleanup(self.server.stop)

    def produced(
        self, topic: str, count: int, properties: Mapping[str, object], value: bytes = VALUE
    ) -> list[Message]:
        """Produce so many messages; those that were delivered."""
        delivered: list[Message] = []
        errors: list[object] = []

        def told(error: object, message: Message) -> None:
            (delivered.append(message) if error is None else errors.append(error))

        producer = Producer({"bootstrap.servers": f"127.0.0.1:{self.port}", "linger.ms": 5, **properties})
        for _ in range(count):
            producer.produce(topic, value, partition=0, on_delivery=told)
        self.assertEqual((producer.flush(WAIT_S), errors), (0, []))
        return delivered

    def test_acknowledged(self) -> None:
        """All that is produced is acknowledged: single messages, large requests, compressed ones."""
        for properties in (
            {"acks": 1, "batch.num.messages": 1},
            {"acks": "all"},
            {"acks": 0},
            {"acks": 1, "compression.type": "lz4"},
            {"acks": 1, "compression.type": "zstd"},
        ):
            self.assertEqual(len(self.produced("t", 20_000, properties)), 20_000, properties)

    def test_partitions(self) -> None:
        """A topic's name tells how many partitions it has; else it has one."""
        producer = Producer({"bootstrap.servers": f"127.0.0.1:{self.port}"})
        for topic, many in (
            ("t.1000", 1000),
            ("t.1", 1),
            ("t", 1),
            ("t.0", 1),
            ("7", 1),
            ("t.99999", 1),
            (".12", 12),
        ):
            self.assertEqual(len(producer.list_topics(topic, WAIT_S).topics[topic].partitions), many, topic)

    def test_compresses(self) -> None:
        """Debian's librdkafka compresses for it, as it does for any broker."""
        for codec in ("lz4", "zstd"):
            command = [
                "kcat",
                "-b",
                f"127.0.0.1:{self.port}",
                "-P",
                "-t",
                "t",
                "-p",
                "0",
                "-z",
                codec,
                "-d",
                "msg",
            ]
            done = subprocess.run(command, input=10 * VALUE, capture_output=True, timeout=WAIT_S)
            told = done.stderr.decode()
            self.assertIn("Produce MessageSet with 1 message(s)", told)
            self.assertIn(codec, told)
            self.assertNotIn("not compressing", told)

    def test_served(self) -> None:
        """A topic has no end: the last one's batch comes again and again, with the offsets that follow."""
        self.produced("other", 5 * BATCH, {"batch.num.messages": BATCH * 3}, b"w")
        self.produced("t", 5 * BATCH, {"batch.num.messages": BATCH})
        consumer = Consumer(
            {"bootstrap.servers": f"127.0.0.1:{self.port}", "group.id": "g", "enable.auto.commit": False}
        )
        self.addCleanup(consumer.close)
        consumer.assign([TopicPartition("t", 0, 0)])
        found: list[Message] = []
        while len(found) < 1000 and (more := consumer.consume(1000 - len(found), WAIT_S)):
            found += more
        self.assertEqual([message.error() for message in found if message.error()], [])
        self.assertEqual([message.offset() for message in found], list(range(1000)))
        self.assertEqual({message.value() for message in found}, {VALUE})


class MissingTests(SynchronousTestCase):
    def test_no_compiler(self) -> None:
        """Without a compiler it is left out, and it is said what to install."""

        def no_compiler(*_: object) -> str:
            raise NotBuilt("there is no cc; on Debian: apt-get install gcc")

        self.patch(sink, "built", no_compiler)
        self.assertEqual(Sink().missing(), "there is no cc; on Debian: apt-get install gcc")
