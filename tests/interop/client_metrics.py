"""Metrics of Apache Kafka's own clients (KIP-714), and its tool for the subscriptions, of version 4."""

from __future__ import annotations

import os
import subprocess

from twisted.trial.unittest import SynchronousTestCase

from kafkatx.blocking import Cluster
from kafkatx.blocking.diagnosis.client_metrics import ClientMetrics
from kafkatx.testing import EmbeddedBroker
from tests.clients.toolchains import BUILT, java, prepare
from tests.until import until

JARS = os.path.join(BUILT, "java-4")
TIMEOUT_S = 120
TOOL = "org.apache.kafka.tools.ClientMetricsCommand"
PRODUCER = "org.apache.kafka.tools.ConsoleProducer"
LATENCY = "org.apache.kafka.producer.node.request.latency."


class ClientMetricsTests(SynchronousTestCase):
    def setUp(self) -> None:
        """Start a broker."""
        prepare("java-4")
        self.broker = EmbeddedBroker(run_in="process").start()
        self.addCleanup(self.broker.__exit__, None, None, None)
        cluster = Cluster(self.broker.bootstrap)
        self.addCleanup(cluster.close)
        self.metrics = ClientMetrics(cluster)

    def tool(self, *arguments: str) -> str:
        """Run kafka-client-metrics.sh and return its output."""
        command = java(JARS, TOOL, "--bootstrap-server", self.broker.bootstrap, *arguments)
        done = subprocess.run(command, capture_output=True, text=True, timeout=TIMEOUT_S, check=False)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        return done.stdout

    def test_tool(self) -> None:
        """Apache Kafka's tool makes, describes, lists and deletes subscriptions."""
        match = "client_id=app.*"
        self.tool("--alter", "--name", "all", "--metrics", "*", "--interval", "1000", "--match", match)
        self.assertEqual(self.tool("--list").split(), ["all"])
        described = self.tool("--describe", "--name", "all")
        for text in ("metrics=*", "interval.ms=1000", f"match={match}"):
            self.assertIn(text, described)
        self.tool("--delete", "--name", "all")
        self.assertEqual(self.tool("--list").split(), [])

    def test_java_producer(self) -> None:
        """A producer of Apache Kafka pushes by itself, and ends in order with its last push."""
        self.metrics.alter("all", {"metrics": "*", "interval.ms": "500"})
        topic = self.broker.topic("t")
        arguments = ("--bootstrap-server", self.broker.bootstrap, "--topic", topic)
        settings = ("--command-property", "client.id=java-1")
        process = subprocess.Popen(
            java(JARS, PRODUCER, *arguments, *settings), stdin=subprocess.PIPE, stdout=subprocess.DEVNULL
        )
        self.addCleanup(process.kill)
        assert process.stdin is not None

        def latency() -> list[float]:
            """Send a line; return the latencies that have come."""
            process.stdin.write(b"value\n")  # type: ignore[union-attr]
            process.stdin.flush()  # type: ignore[union-attr]
            (found,) = self.metrics.values("java-1", [LATENCY])
            return [metric.value for one in found.clients for metric in one.metrics]

        until(lambda: any(value > 0 for value in latency()), "the latency of a Java producer")
        (found,) = self.metrics.values("java-1", None)
        (one,) = found.clients
        self.assertEqual(one.software_name, "apache-kafka-java")
        self.assertGreater(len(one.metrics), 10)
        process.stdin.close()
        self.assertEqual(process.wait(60), 0)
