"""Metrics that librdkafka pushes (KIP-714) by itself, as soon as there is a subscription."""

from __future__ import annotations

import re
import urllib.request

from confluent_kafka import Consumer, Producer
from twisted.trial.unittest import SynchronousTestCase

from kafkatx.blocking import Cluster
from kafkatx.blocking.diagnosis.client_metrics import ClientMetrics
from kafkatx.testing import EmbeddedBroker
from kafkatx.wire.messages.describe_client_metrics import MetricsClient
from tests.until import until

CREATED = "org.apache.kafka.producer.connection.creation.total"
ASSIGNED = "org.apache.kafka.consumer.coordinator.assigned.partitions"


class ClientMetricsTests(SynchronousTestCase):
    def setUp(self) -> None:
        """Start a broker, and subscribe to the metrics of clients whose id begins with app."""
        self.broker = EmbeddedBroker({"http.listeners": "HTTP://127.0.0.1:0"}, run_in="process").start()
        self.addCleanup(self.broker.__exit__, None, None, None)
        cluster = Cluster(self.broker.bootstrap)
        self.addCleanup(cluster.close)
        self.metrics = ClientMetrics(cluster)
        self.metrics.alter("app", {"metrics": "*", "interval.ms": "200", "match": "client_id=app.*"})

    def pushed(self, client_id: str, name: str) -> MetricsClient | None:
        """Return a client that has pushed a metric; None if there is none yet."""
        (found,) = self.metrics.values(client_id, [name])
        return next((one for one in found.clients if one.metrics), None)

    def page(self) -> str:
        """Return the page of metrics."""
        with urllib.request.urlopen(f"{self.broker.http}/metrics", timeout=30) as response:
            text: str = response.read().decode()
        return text

    def test_librdkafka(self) -> None:
        """Producer and consumer push, with what they say about themselves; others do not."""
        common = {"bootstrap.servers": self.broker.bootstrap, "log_level": 0}
        topic = self.broker.topic("t", partitions=2)
        producer = Producer({**common, "client.id": "app-1"})
        other = Producer({**common, "client.id": "other"})
        consumer = Consumer(
            {**common, "client.id": "app-2", "group.id": "g", "auto.offset.reset": "earliest"}
        )
        self.addCleanup(consumer.close)
        for client in (producer, other):
            self.addCleanup(client.close)
        consumer.subscribe([topic])

        def work() -> bool:
            for client in (producer, other):
                client.produce(topic, b"value")
                client.poll(0)
            consumer.poll(0.05)
            assigned = self.pushed("app-2", ASSIGNED)
            return (
                self.pushed("app-1", CREATED) is not None
                and assigned is not None
                and assigned.metrics[0].value == 2
            )

        until(work, "pushes of both clients")
        found = self.pushed("app-1", CREATED)
        assert found is not None
        self.assertEqual((found.software_name, found.push_interval_ms), ("confluent-kafka-python", 200))
        self.assertTrue(found.metrics[0].is_sum)
        (every,) = self.metrics.values(None, None)
        self.assertEqual({one.client_id for one in every.clients}, {"app-1", "app-2"})
        page = self.page()
        self.assertRegex(page, r'kafka_client_producer_connection_creation_total\{client_id="app-1",')
        self.assertRegex(page, r'kafka_client_consumer_coordinator_assigned_partitions\{client_id="app-2",')
        self.assertFalse(re.search('client_id="other"', page))
        self.assertTrue(self.metrics.delete("app"))
        self.assertEqual(self.metrics.subscriptions(), [])
