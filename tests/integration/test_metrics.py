"""The metrics of a real broker, after real clients, read by Prometheus' own parser."""

from __future__ import annotations

import time
import urllib.request
from typing import Any

from confluent_kafka import Consumer, TopicPartition
from prometheus_client.openmetrics.parser import text_string_to_metric_families
from twisted.trial.unittest import SynchronousTestCase

from kafkatx.broker.metrics.application import OPEN_METRICS
from kafkatx.testing import EmbeddedBroker

PRODUCED, COMMITTED = 20, 5


class MetricsTests(SynchronousTestCase):
    def setUp(self) -> None:
        """A broker in a process of its own, with records and a group that has read some of them."""
        self.broker = EmbeddedBroker({"http.listeners": "HTTP://127.0.0.1:0"}, run_in="process").start()
        self.addCleanup(self.broker.__exit__, None, None, None)
        self.began_s = time.time()
        self.topic = self.broker.topic("t")
        self.broker.produce(self.topic, *(b"value" for _ in range(PRODUCED)))
        self.consumer = Consumer({"bootstrap.servers": self.broker.bootstrap, "group.id": "g"})
        self.addCleanup(self.consumer.close)
        self.consumer.commit(offsets=[TopicPartition(self.topic, 0, COMMITTED)], asynchronous=False)

    def read(self) -> dict[tuple[Any, ...], float]:
        """Return the value of each series, by name and values of labels."""
        request = urllib.request.Request(
            f"{self.broker.http}/metrics", headers={"Accept": "application/openmetrics-text"}
        )
        with urllib.request.urlopen(request, timeout=30) as response:
            self.assertEqual(response.headers["content-type"], OPEN_METRICS)
            text = response.read().decode()
        families: Any = text_string_to_metric_families(text)
        return {
            (sample.name, *sample.labels.values()): sample.value
            for family in families
            for sample in family.samples
        }

    def test_real_broker(self) -> None:
        """Records, lag in records and in seconds, and connections are as the clients have made them."""
        found, topic = self.read(), self.topic
        wanted = {
            ("kafka_server_brokertopicmetrics_messagesin_total", topic): PRODUCED,
            ("kafka_topic_partition_current_offset", topic, "0"): PRODUCED,
            ("kafka_consumergroup_current_offset", "g", topic, "0"): COMMITTED,
            ("kafka_consumergroup_lag", "g", topic, "0"): PRODUCED - COMMITTED,
            ("kafka_brokers",): 1,
        }
        self.assertEqual({key: found.get(key) for key in wanted}, wanted)
        lag_s = found["kafkatx_group_lag_seconds", "g", topic]
        self.assertGreaterEqual(lag_s, 0)
        self.assertLess(lag_s, time.time() - self.began_s + 1)
        self.assertGreaterEqual(found["kafka_server_socket_server_metrics_connection_count", "PLAINTEXT"], 1)
        self.assertGreater(found["kafkatx_reactor_idle_seconds_total",], 0)
        self.assertEqual([key for key in found if str(key[-1]) == "__consumer_offsets"], [])
        self.assertGreater(found["kafka_log_log_size", topic, "0"], PRODUCED * len(b"value"))
