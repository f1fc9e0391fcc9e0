"""The audit of all tiers with real processes: a record that a tier drops is found, with tier and window."""

from __future__ import annotations

import json
import os
import subprocess
from typing import Any

from twisted.internet.defer import Deferred

from kafkatx.blocking import Admin, Cluster, Reader
from kafkatx.client.facades.reactor_thread import ReactorThread
from kafkatx.client.producer.producer import Producer as TwistedProducer
from kafkatx.client.threads import Consumer, ConsumerConnector, Producer
from kafkatx.client.tier_audit import TierAuditor
from kafkatx.testing import EmbeddedBroker, EmbeddedCluster
from kafkatx.types import TopicPartition
from tests.integration.test_cli import COMMAND, ProcessCase
from tests.until import until

START_MS = 1_431_857_100_000
WINDOW_MS = 10_000
RECORDS = 2000
SPARK_S = 600.0
"""A start of Spark takes five seconds, and on a busy machine minutes."""

DROPPED = 700
"""Offset of the record that the consumer leaves out; in the second window."""


def mirror(source: str, target: str, topic: str, dropped: int) -> None:
    """Copy all records of a topic's partition 0 but for one, and announce what is copied."""
    with Cluster(source) as cluster:
        topic_id = str(cluster.topic(topic).topic_id)
        with Reader(cluster, topic, 0, start_offset=0, end_offset=RECORDS) as reader:
            copied = [record for record in reader if record.offset != dropped]
    thread = ReactorThread("mirror")

    async def copy() -> None:
        producer = TwistedProducer({"bootstrap.servers": target}, reactor=thread.reactor)
        await producer.start()
        auditor = TierAuditor(producer, place="link", interval_ms=5000)
        auditor.start()
        for first in range(0, len(copied), 100):
            piece = copied[first : first + 100]
            sent = [producer.send(topic, one.value, timestamp_ms=one.timestamp) for one in piece]
            for one in sent:
                await one
            start = 0 if not first else copied[first - 1].offset + 1
            times_ms = [one.timestamp for one in piece]
            auditor.count(topic, topic_id, 0, start, piece[-1].offset + 1, times_ms)
        await auditor.close(10)
        await producer.close()

    try:
        thread.call(lambda: Deferred.fromCoroutine(copy()), 60)
    finally:
        thread.stop()


class WayTests(ProcessCase):
    def setUp(self) -> None:
        """A broker that counts once a second, and a topic with one partition."""
        super().setUp()
        settings = {"kafkatx.audit.interval.ms": "1000", "kafkatx.audit.place": "dc1"}
        self.broker = EmbeddedBroker(settings, run_in="process")
        self.broker.start()
        self.addCleanup(self.broker.__exit__, None, None, None)
        with Cluster(self.broker.bootstrap) as cluster:
            Admin(cluster).create_topic(self.topic, 1, configs={"retention.ms": "-1"})
        self.settings = {"bootstrap.servers": self.broker.bootstrap, "audit.interval.ms": WINDOW_MS}

    def produce(self) -> None:
        """Write 500 records into each of four windows."""
        with Producer(self.settings) as producer:
            for number in range(RECORDS):
                producer.send(self.topic, b"%d" % number, timestamp_ms=START_MS + number * 20)

    def consume(self, dropped: int | None = None) -> None:
        """Read all records as a group; a record may be passed over."""
        place = TopicPartition(self.topic, 0)
        settings = {**self.settings, "group.id": "billing", "auto.offset.reset": "earliest"}
        with Consumer(settings) as consumer:
            consumer.assign([place])
            left = RECORDS
            if dropped is not None:
                consumer.seek(place, 0)
                self.assertEqual(len(consumer.getmany(dropped, 20_000)[place]), dropped)
                consumer.seek(place, dropped + 1)
                left -= dropped + 1
            while left:
                left -= sum(map(len, consumer.getmany(left, 20_000).values()))
            consumer.commit()

    def way(self, *arguments: str, code: int = 0) -> list[dict[str, Any]]:
        """Return the windows of ``kafkatx audit --way``."""
        told = ("audit", "-b", self.broker.bootstrap, "--way", "--settle", "0", "--json", "-t", self.topic)
        printed = self.run_command(*told, *arguments, code=code)
        return [json.loads(line) for line in printed.splitlines()]

    def counted(self) -> int:
        """Return the number of records that the broker has announced."""
        told = ("audit", "-b", self.broker.bootstrap, "--compare", "producer,broker", "--settle", "0")
        try:
            printed = self.run_command(*told, "--json", "--all", "-t", self.topic)
        except self.failureException:  # it has announced nothing or only a part yet
            return 0
        return sum(json.loads(line)["tiers"]["broker:dc1"] for line in printed.splitlines())

    def test_dropped_record(self) -> None:
        """A record that a consumer passes over is named with tier, topic and window; the rest is equal."""
        self.produce()
        self.consume(DROPPED)
        until(lambda: self.counted() == RECORDS, "the broker announces all records")
        (window,) = self.way(code=1)
        self.assertEqual(window["topic"], self.topic)
        self.assertEqual(window["window_start_ms"], START_MS + WINDOW_MS)
        self.assertEqual(window["tiers"], {"producer": 500, "broker:dc1": 500, "consumer:billing": 499})
        (fault,) = window["faults"]
        self.assertEqual((fault["tier"], fault["missing"]), ("consumer:billing", 1))
        self.assertIn(
            f"{self.topic}: consumer:billing lacks 1 of the 500 records of broker:dc1 in the window from"
            " 2015-05-17T10:05:10Z to 2015-05-17T10:05:20Z",
            self.errors,
        )

    def test_connector(self) -> None:
        """The records that a ConsumerConnector of Kafka 0.7's form returns are counted as its group's."""
        self.produce()
        until(lambda: self.counted() == RECORDS, "the broker announces all records")
        with ConsumerConnector(
            {**self.settings, "group.id": "old", "auto.offset.reset": "earliest"}
        ) as connector:
            (stream,) = connector.create_message_streams({self.topic: 1})[self.topic]
            for record in stream:
                if record.offset == RECORDS - 1:
                    break
        self.assertEqual(self.way(), [])
        self.assertIn("producer, broker:dc1, consumer:old are equal in all 4 closed windows", self.errors)

    def test_two_clusters(self) -> None:
        """A record that a mirror drops is named as missing in the mirror, and nowhere else on the way."""
        self.produce()
        until(lambda: self.counted() == RECORDS, "the broker announces all records")
        settings = {"kafkatx.audit.interval.ms": "1000", "kafkatx.audit.place": "dc2"}
        with EmbeddedBroker(settings, run_in="process") as target:
            with Cluster(target.bootstrap) as cluster:
                Admin(cluster).create_topic(self.topic, 1, configs={"retention.ms": "-1"})
            mirror(self.broker.bootstrap, target.bootstrap, self.topic, DROPPED)
            also = ("--also", target.bootstrap)
            until(
                lambda: sum(w["tiers"].get("broker:dc2", 0) for w in self.ways(*also)) == RECORDS - 1,
                "the target's broker announces all records",
            )
            (window,) = self.way(*also, code=1)
        self.assertEqual(window["window_start_ms"], START_MS + WINDOW_MS)
        tiers = {"producer": 500, "broker:dc1": 500, "mirror:link": 499, "broker:dc2": 499}
        self.assertEqual(window["tiers"], tiers)
        self.assertEqual([fault["tier"] for fault in window["faults"]], ["mirror:link"])
        self.assertIn("mirror:link lacks 1 of the 500 records of broker:dc1 in the window", self.errors)
        self.assertIn(f"{self.topic}-0: 1 offset has no record in mirror:link", self.errors)

    def test_mirror_run(self) -> None:
        """A record that the filter of ``kafkatx mirror run`` drops is missing in the mirror."""
        self.produce()
        until(lambda: self.counted() == RECORDS, "the broker announces all records")
        settings = {"kafkatx.audit.interval.ms": "1000", "kafkatx.audit.place": "dc2"}
        with EmbeddedBroker(settings, run_in="process") as target:
            path = os.path.abspath(self.mktemp())
            with open(path, "w") as file:
                file.write(
                    f"sources=a\ntarget.alias=b\nsource.a.bootstrap.servers={self.broker.bootstrap}\n"
                    f"target.bootstrap.servers={target.bootstrap}\ntopics={self.topic}\nrename={{topic}}\n"
                    f"audit.interval.ms=1000\nfilter=regex\nkafkatx.plugin.regex.value=^{DROPPED}$\n"
                    "kafkatx.plugin.regex.invert=true\n"
                )
            process = self.start("mirror", "run", "--config", path)
            also = ("--also", target.bootstrap)
            until(
                lambda: sum(w["tiers"].get("broker:dc2", 0) for w in self.ways(*also)) == RECORDS - 1,
                "the target's broker announces all records",
            )
            process.terminate()
            process.communicate(timeout=60)
            (window,) = self.way(*also, code=1)
        self.assertEqual(window["window_start_ms"], START_MS + WINDOW_MS)
        self.assertEqual(window["tiers"]["mirror:a-b"], 499)
        self.assertEqual([fault["tier"] for fault in window["faults"]], ["mirror:a-b"])

    def ways(self, *arguments: str) -> list[dict[str, Any]]:
        """Return all windows, whatever the exit code."""
        told = (*COMMAND, "audit", "-b", self.broker.bootstrap, "--way", "--settle", "0", "--json", "--all")
        printed = subprocess.run(
            [*told, "-t", self.topic, *arguments], capture_output=True, check=False
        ).stdout
        return [json.loads(line) for line in printed.splitlines()]

    def test_ingestion(self) -> None:
        """An ingestion announces what it has loaded, and what it has not loaded is missing there."""
        self.produce()
        until(lambda: self.counted() == RECORDS, "the broker announces all records")
        to = os.path.abspath(self.mktemp())
        ingest = ("ingest", "-b", self.broker.bootstrap, "-t", self.topic, "--to", to, "-q")
        audited = ("--audit-interval-ms", "5000", "--audit-name", "web", "--master", "local[1]")
        done = subprocess.run(
            [*COMMAND, *ingest, *audited], capture_output=True, timeout=SPARK_S, check=False
        )
        self.assertEqual(done.returncode, 0, done.stderr.decode())
        self.assertEqual(self.way(), [])
        self.assertIn("producer, broker:dc1, ingest:web are equal in all 4 closed windows", self.errors)
        with Producer(self.settings) as producer:
            producer.send(self.topic, b"late", timestamp_ms=START_MS)
        until(lambda: self.counted() == RECORDS + 1, "the broker announces the last record")
        (window,) = self.way(code=1)
        self.assertEqual(window["tiers"], {"producer": 501, "broker:dc1": 501, "ingest:web": 500})
        self.assertIn("ingest:web is 1 offset behind broker:dc1", self.errors)

    def test_equal(self) -> None:
        """Nothing is said to be wrong where nothing is; after a crash of the broker neither."""
        self.produce()
        until(lambda: self.counted() == RECORDS, "the broker announces all records")
        self.broker.kill()
        self.broker.start()
        self.settings["bootstrap.servers"] = self.broker.bootstrap
        self.consume()
        self.assertEqual(self.way(), [])
        self.assertIn("producer, broker:dc1, consumer:billing are equal in all 4 closed windows", self.errors)
        self.assertEqual({window["state"] for window in self.way("--all")}, {"ok"})


class LeadersTests(ProcessCase):
    def test_leaders_die(self) -> None:
        """Each record counts once although leaders are killed, others go on, and the dead come back."""
        settings = {
            "kafkatx.audit.interval.ms": "1000",
            "kafkatx.audit.place": "dc1",
            "default.replication.factor": "3",
            "offsets.topic.num.partitions": "3",
        }
        with EmbeddedCluster(3, settings, run_in="process") as cluster:
            with Cluster(cluster.bootstrap) as client:
                Admin(client).create_topic(self.topic, 3, 3, configs={"retention.ms": "-1"})
            client_settings = {
                "bootstrap.servers": cluster.bootstrap,
                "audit.interval.ms": WINDOW_MS,
                "delivery.timeout.ms": 120_000,
                "max.block.ms": 120_000,
            }
            sent = 0
            with Producer(client_settings) as producer:
                for dead in (1, 2, 3):
                    sent += self.send(producer, sent)
                    cluster.brokers[dead].kill()
                    sent += self.send(producer, sent)
                    cluster.start_broker(dead)
                sent += self.send(producer, sent)
            until(lambda: self.counted(cluster) == sent, "the brokers announce all records", 120.0)
            told = ("audit", "-b", cluster.bootstrap, "--way", "--settle", "0", "-t", self.topic)
            self.assertEqual(self.run_command(*told), b"")
        self.assertIn("the numbers of producer, broker:dc1 are equal in all", self.errors)
        self.assertNotIn("has not announced", self.errors)

    def send(self, producer: Producer, first: int) -> int:
        """Send records to all partitions, wait until they are committed, and return their number."""
        futures = [
            producer.send(self.topic, b"v", partition=n % 3, timestamp_ms=START_MS + (first + n) * 20)
            for n in range(300)
        ]
        for future in futures:
            future.result(120)
        return len(futures)

    def counted(self, cluster: EmbeddedCluster) -> int:
        """Return the number of records that the brokers have announced."""
        told = (
            "audit",
            "-b",
            cluster.bootstrap,
            "--way",
            "--settle",
            "0",
            "--json",
            "--all",
            "-t",
            self.topic,
        )
        printed = subprocess.run([*COMMAND, *told], capture_output=True, check=False).stdout
        return sum(json.loads(line)["tiers"].get("broker:dc1", 0) for line in printed.splitlines())
