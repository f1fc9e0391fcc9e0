"""``kafkatx mirror run`` between real brokers: copies, restarts, kills, several sources, both directions."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

from twisted.trial.unittest import SynchronousTestCase

from kafkatx.mirror.core.provenance import HEADER, parse
from kafkatx.testing import EmbeddedBroker
from kafkatx.testing.messages import create_topic
from tests.clients.brokers import Broker, OurBroker
from tests.integration.clients import DEADLINE_S
from tests.until import until

if TYPE_CHECKING:
    _Case = SynchronousTestCase
else:
    _Case = object  # a mixin

KILLS = 8
SEED = int(os.environ.get("KAFKATX_MIRROR_SEED", "7"))


class MirrorProcesses(_Case):
    """Mirrors in processes, between two brokers.

    :ivar source: the broker that is copied from.
    :ivar target: the broker that is copied to.
    """

    source: Broker
    target: Broker

    def make_folder(self) -> None:
        """Make the folder of settings and logs."""
        self.folder = os.path.abspath(self.mktemp())
        os.makedirs(self.folder)

    def config(self, settings: Mapping[str, str], name: str = "mirror") -> str:
        """Write a settings file; return its path."""
        path = os.path.join(self.folder, f"{name}.properties")
        given = {
            "sources": "dc1",
            "source.dc1.bootstrap.servers": self.source.bootstrap,
            "target.bootstrap.servers": self.target.bootstrap,
            "refresh.interval.ms": "200",
            "progress.interval.ms": "150",
            "checkpoints.interval.ms": "200",
            "heartbeats.interval.ms": "200",
            "report.interval.ms": "0",
            **settings,
        }
        with open(path, "w") as file:
            file.writelines(f"{key}={value}\n" for key, value in given.items())
        return path

    def start(self, path: str, *options: str) -> subprocess.Popen[str]:
        """Start a mirror in a process."""
        command = [sys.executable, "-m", "kafkatx", "mirror", "run", "--config", path, *options]
        with open(os.path.join(self.folder, "mirror.log"), "a") as log:
            process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=log, text=True)

        def end() -> None:
            if process.poll() is None:
                process.kill()
            process.communicate()

        self.addCleanup(end)
        return process

    def log(self) -> str:
        """Return what mirrors have logged."""
        with open(os.path.join(self.folder, "mirror.log")) as log:
            return log.read()

    def run_to_end(self, path: str, *options: str) -> dict[str, int]:
        """Run a mirror with ``--exit``; return its counts."""
        process = self.start(path, "--exit", "--json", *options)
        out, _ = process.communicate(timeout=DEADLINE_S)
        self.assertEqual(process.returncode, 0, self.log())
        counts: dict[str, int] = json.loads(out)
        return counts

    def produce(
        self, broker: Broker, topic: str, values: Iterable[bytes], partition: int = 0, **more: object
    ) -> None:
        """Produce values with a key, a header and a time each."""
        from confluent_kafka import Producer

        producer = Producer({"bootstrap.servers": broker.bootstrap, "linger.ms": 1, **more})
        for number, value in enumerate(values):
            producer.produce(
                topic,
                value,
                b"k%d" % (number % 5),
                partition=partition,
                timestamp=1_700_000_000_000 + number,
                headers=[("h", value[:3])],
            )
        self.assertEqual(producer.flush(DEADLINE_S), 0)

    def read(self, broker: Broker, topic: str, partition: int = 0) -> list[tuple]:  # type: ignore[type-arg]
        """Return (offset, key, value, time, headers) of all records of a partition."""
        from confluent_kafka import OFFSET_BEGINNING, Consumer, KafkaError, TopicPartition

        consumer = Consumer(
            {
                "bootstrap.servers": broker.bootstrap,
                "group.id": "read",
                "isolation.level": "read_committed",
                "enable.partition.eof": True,
                "enable.auto.commit": False,
            }
        )
        consumer.assign([TopicPartition(topic, partition, OFFSET_BEGINNING)])
        found: list[tuple] = []  # type: ignore[type-arg]
        ended = False
        while not ended:
            for one in consumer.consume(1000, timeout=0.2):
                if (error := one.error()) is not None:
                    self.assertEqual(error.code(), KafkaError._PARTITION_EOF, error)
                    ended = True
                    continue
                found.append((one.offset(), one.key(), one.value(), one.timestamp()[1], one.headers()))
        consumer.close()
        return found

    def assert_copies(self, topic: str, copy: str, partition: int = 0) -> None:
        """Check that a copy has all records of a topic, once and in order, with their provenance."""
        original = self.read(self.source, topic, partition)
        copied = self.read(self.target, copy, partition)
        self.assertEqual(
            [(*one[1:4], one[4]) for one in original],
            [(*one[1:4], one[4][:-1] or None) for one in copied],
        )
        places = [parse(one[4][-1][1]) for one in copied]
        self.assertEqual({one[4][-1][0] for one in copied} or {HEADER}, {HEADER})
        self.assertEqual(
            [place and place[1:] for place in places], [(topic, partition, o[0]) for o in original]
        )


class MirrorCase(MirrorProcesses, SynchronousTestCase):
    """Two brokers of ours in processes."""

    source: EmbeddedBroker
    target: EmbeddedBroker

    def setUp(self) -> None:
        """Start the brokers."""
        self.make_folder()
        self.source = self.broker()
        self.target = self.broker()

    def broker(self, data_dir: str | None = None) -> EmbeddedBroker:
        """Start a broker of this test."""
        broker = EmbeddedBroker(run_in="process", data_dir=data_dir)
        self.addCleanup(broker.close)
        return broker.start()


class CopyTests(MirrorCase):
    """Copies of one source."""

    def test_copies(self) -> None:
        """Records are copied with key, value, time and headers; topics get the source's partitions."""
        topic = self.source.topic("orders", partitions=3)
        for partition in range(3):
            self.produce(self.source, topic, (b"%d-%d" % (partition, n) for n in range(2000)), partition)
        counts = self.run_to_end(self.config({}))
        self.assertEqual((counts["records"], counts["partitions"], counts["lag"]), (6000, 3, 0))
        for partition in range(3):
            self.assert_copies(topic, f"dc1.{topic}", partition)
        again = self.run_to_end(self.config({}))
        self.assertEqual(again["records"], 0)

    def test_kills(self) -> None:
        """A mirror that is killed again and again loses nothing and doubles nothing."""
        chance = random.Random(SEED)
        topic = self.source.topic("orders", partitions=2)
        path = self.config({"batch.records": "50", "rename": "{topic}"})
        for kill in range(KILLS):
            process = self.start(path)
            for partition in range(2):
                self.produce(self.source, topic, (b"%d-%d" % (kill, n) for n in range(1500)), partition)
            time.sleep(chance.uniform(0.0, 1.5))
            process.send_signal(signal.SIGKILL)
            process.wait()
        self.run_to_end(path)
        for partition in range(2):
            self.assert_copies(topic, topic, partition)

    def test_stops(self) -> None:
        """SIGTERM ends a mirror in order: status 0, and the position is written."""
        topic = self.source.topic("orders")
        self.produce(self.source, topic, (b"%d" % n for n in range(100)))
        process = self.start(self.config({}), "--json")
        until(lambda: f"created dc1.{topic}" in self.log(), "the topic is there")
        until(lambda: len(self.read(self.target, f"dc1.{topic}")) == 100, "all is copied")
        process.terminate()
        out, _ = process.communicate(timeout=DEADLINE_S)
        self.assertEqual((process.returncode, json.loads(out)["records"]), (0, 100), self.log())

    def test_notes_lost(self) -> None:
        """Without its notes a mirror finds in the copies where to go on."""
        from kafkatx.mirror.core.map_records import topic_name

        topic = self.source.topic("orders")
        self.produce(self.source, topic, (b"%d" % n for n in range(3000)))
        path = self.config({})
        self.run_to_end(path)
        self.delete_topic(self.target, topic_name("dc1"))
        self.produce(self.source, topic, (b"%d" % n for n in range(3000, 4000)))
        self.assertEqual(self.run_to_end(path)["records"], 1000)
        self.assert_copies(topic, f"dc1.{topic}")

    def delete_topic(self, broker: Broker, topic: str) -> None:
        """Delete a topic, and wait until it is gone."""
        from kafkatx.blocking import Cluster
        from kafkatx.blocking.admin.topics import Admin

        with Cluster(broker.bootstrap) as cluster:
            Admin(cluster).delete_topic(topic)
            until(lambda: topic not in cluster.metadata(None).topics, "the topic is gone")

    def test_brokers_killed(self) -> None:
        """Both brokers and the mirror are killed again and again: nothing is lost or doubled."""
        chance = random.Random(SEED)
        ends = [OurBroker({}), OurBroker({})]
        for broker in ends:
            self.addCleanup(broker.close)
            broker.start()
        self.source, self.target = ends
        topic = self.source.topic("orders", partitions=2)
        path = self.config({"batch.records": "100"})
        mirror = self.start(path)
        for kill in range(KILLS):
            for partition in range(2):
                self.produce(self.source, topic, (b"%d-%d" % (kill, n) for n in range(800)), partition)
            time.sleep(chance.uniform(0.0, 0.8))
            broker = ends[kill % 2]
            broker.kill()
            if chance.random() < 0.5:
                mirror.kill()
                mirror.wait()
            broker.start()
            if mirror.poll() is not None:
                mirror = self.start(path)
        mirror.terminate()
        mirror.wait(DEADLINE_S)
        self.run_to_end(path)
        for partition in range(2):
            self.assert_copies(topic, f"dc1.{topic}", partition)

    def test_two_sources_and_two_mirrors(self) -> None:
        """Two clusters are copied to one topic by two mirrors at once: each record is there once."""
        other = self.broker()
        names = {self.source.bootstrap: b"one", other.bootstrap: b"two"}
        for broker in (self.source, other):
            create_topic(broker.bootstrap, "all", 1, {})
        path = self.config(
            {
                "sources": "dc1,dc2",
                "source.dc2.bootstrap.servers": other.bootstrap,
                "rename": "{topic}",
                "batch.records": "20",
            }
        )
        mirrors = [self.start(path), self.start(path)]
        for broker in (self.source, other):
            self.produce(broker, "all", (b"%s %d" % (names[broker.bootstrap], n) for n in range(1500)))
        until(lambda: "created all" in self.log(), "the topic is there")
        until(lambda: len(self.read(self.target, "all")) >= 3000, "all is copied")
        for mirror in mirrors:
            mirror.terminate()
            mirror.wait(DEADLINE_S)
        self.assertEqual(self.run_to_end(path)["records"], 0)
        values = [one[2] for one in self.read(self.target, "all")]
        for name in names.values():
            mine = [value for value in values if value.startswith(name)]
            self.assertEqual(mine, [b"%s %d" % (name, n) for n in range(1500)])
        self.assertEqual(len(values), 3000)
