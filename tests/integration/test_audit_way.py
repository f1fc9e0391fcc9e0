"""The audit of all tiers with real processes: a record that a tier drops is found, with tier and window."""

from __future__ import annotations

import json
from typing import Any

from kafkatx.blocking import Admin, Cluster
from kafkatx.client.threads import Consumer, Producer
from kafkatx.testing import EmbeddedBroker
from kafkatx.types import TopicPartition
from tests.integration.test_cli import ProcessCase
from tests.until import until

START_MS = 1_431_857_100_000
WINDOW_MS = 10_000
RECORDS = 2000
DROPPED = 700
"""Offset of the record that the consumer leaves out; in the second window."""


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
