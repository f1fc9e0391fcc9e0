"""Records of real clients in the console: searched, followed, and produced."""

from __future__ import annotations

import json
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Iterator
from typing import Any

from confluent_kafka import Consumer, Producer, TopicPartition
from twisted.trial.unittest import SynchronousTestCase

from kafkatx.testing import EmbeddedBroker, EmbeddedCluster
from tests.until import until

HTTP: dict[str, str | int | float | bool] = {
    "http.listeners": "HTTP://127.0.0.1:0",
    "kafkatx.console.enable": True,
}
API = "/console/api/v1/messages"
HEADERS = {"X-Kafkatx-Console": "1", "Content-Type": "application/json"}
TIMEOUT_S = 60.0

Event = tuple[str, Any]


def stream(url: str, path: str = "", **query: Any) -> Iterator[Event]:
    """Yield the events of a search or a tail."""
    target = f"{url}{API}{path}?{urllib.parse.urlencode(query)}"
    with urllib.request.urlopen(target, timeout=TIMEOUT_S) as response:
        name = ""
        for line in response:
            text = line.decode().rstrip("\n")
            if text.startswith("event: "):
                name = text.removeprefix("event: ")
            elif text.startswith("data: "):
                yield name, json.loads(text.removeprefix("data: "))


def produce(url: str, body: object) -> Any:
    """Produce a record by the console."""
    request = urllib.request.Request(f"{url}{API}", json.dumps(body).encode(), HEADERS)
    with urllib.request.urlopen(request, timeout=TIMEOUT_S) as response:
        return json.load(response)


def records(url: str, **query: Any) -> list[Any]:
    """Return the records of a search."""
    found = list(stream(url, **query))
    assert found[-1][0] == "end", found[-1]
    return [data for name, data in found if name == "record"]


class BrokerTests(SynchronousTestCase):
    def setUp(self) -> None:
        """Start a broker in a process of its own."""
        settings = {**HTTP, "kafkatx.console.max.streams": 5, "transaction.state.log.num.partitions": 1}
        self.broker = EmbeddedBroker(settings, run_in="process").start()
        self.addCleanup(self.broker.__exit__, None, None, None)
        self.url = self.broker.http

    def test_real_clients(self) -> None:
        """Batches and transactions of a real producer are found; a typed record reaches a consumer."""
        topic = self.broker.topic("t", partitions=2)
        producer = Producer(
            {
                "bootstrap.servers": self.broker.bootstrap,
                "transactional.id": "tx",
                "compression.type": "zstd",
                "partitioner": "murmur2_random",  # as in the Java client
                "log_level": 0,
            }
        )
        producer.init_transactions(TIMEOUT_S)
        for outcome in ("abort", "commit"):
            producer.begin_transaction()
            for number in range(500):
                producer.produce(topic, json.dumps({"n": number, "as": outcome}), f"k{number % 10}")
            producer.flush(TIMEOUT_S)
            getattr(producer, f"{outcome}_transaction")(TIMEOUT_S)
        both = records(self.url, topic=topic, filter="value.n == 33")
        self.assertEqual({one["transactional"] for one in both}, {"aborted", "committed"})
        (committed,) = records(self.url, topic=topic, filter="value.n == 33", isolation="read_committed")
        self.assertEqual(committed["key"]["text"], "k3")
        self.assertIn("commit", [one["control"] for one in records(self.url, topic=topic, count=2)])
        sent = {"topic": topic, "key": "k3", "value": '{"a":1}', "valueFormat": "json"}
        sent_to = produce(self.url, {**sent, "headers": [{"key": "h", "value": "é"}]})
        self.assertEqual(sent_to["partition"], committed["partition"])
        with Consumer({"bootstrap.servers": self.broker.bootstrap, "group.id": "g"}) as consumer:
            consumer.assign([TopicPartition(topic, sent_to["partition"], int(sent_to["offset"]))])
            messages: list[Any] = []

            def read() -> bool:
                messages.extend(consumer.consume(1, 0.1))
                return bool(messages)

            until(read, "the record comes")
        self.assertEqual((messages[0].value(), messages[0].headers()), (b'{"a":1}', [("h", "é".encode())]))

    def test_tail(self) -> None:
        """A tail shows records as they come, and ends when the topic is deleted, or the broker stops."""
        topic = self.broker.topic("t")
        events = stream(self.url, "/tail", topic=topic, filter="value.contains('wanted')")
        self.assertEqual(next(events)[0], "progress")
        self.broker.produce(topic, b"other", b"wanted 1")
        self.assertEqual(self.next_record(events)["value"]["text"], "wanted 1")
        with self.assertRaises(urllib.error.HTTPError) as caught:
            open_tails = [stream(self.url, "/tail", topic=topic) for _ in range(6)]
            for each in open_tails:
                next(each)
        self.assertEqual(caught.exception.code, 503)
        caught.exception.close()
        for each in open_tails:
            each.close()  # type: ignore[attr-defined]
        self.broker.stop()
        self.assertNotIn("Traceback", self.broker.output())

    def next_record(self, events: Iterator[Event]) -> Any:
        """Return the next record of a stream."""
        return next(data for name, data in events if name == "record")


class ClusterTests(SynchronousTestCase):
    def test_other_broker(self) -> None:
        """Each broker's console shows and takes the records of partitions that another one has."""
        with EmbeddedCluster(2, HTTP) as cluster:
            topic = cluster.topic("t", partitions=4, replication=1)
            first, second = (broker.http for broker in cluster.brokers.values())
            for number in range(4):
                produce(first, {"topic": topic, "partition": number, "value": f"v{number}"})
            for url in (first, second):
                until(lambda url=url: len(records(url, topic=topic)) == 4, "all records are found")  # type: ignore[misc]
                found = records(url, topic=topic, filter="value.startswith('v')", **{"from": "oldest"})
                self.assertEqual(sorted(one["value"]["text"] for one in found), ["v0", "v1", "v2", "v3"])
