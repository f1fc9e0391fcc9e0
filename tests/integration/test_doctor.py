"""``kafkatx doctor`` and the explanations of a real broker."""

from __future__ import annotations

import json
import subprocess
import sys

from confluent_kafka import Consumer, TopicPartition
from twisted.trial.unittest import SynchronousTestCase

from kafkatx.testing import EmbeddedBroker


class DoctorTests(SynchronousTestCase):
    def setUp(self) -> None:
        """Start a broker with settings that a doctor finds fault with."""
        settings = {"authorizer.class.name": "learn"}
        self.broker = EmbeddedBroker(settings, run_in="process").start()
        self.addCleanup(self.broker.__exit__, None, None, None)

    def run_command(self, *arguments: str) -> tuple[int, list[dict[str, str]]]:
        """Run a command with ``--json``; return its exit code and its objects."""
        command = [
            sys.executable,
            "-m",
            "kafkatx.cli.main",
            *arguments,
            "--json",
            "-b",
            self.broker.bootstrap,
        ]
        done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
        self.assertEqual(done.stderr, "")
        return done.returncode, [json.loads(line) for line in done.stdout.splitlines()]

    def test_doctor(self) -> None:
        """The fault is found, nothing else is, and every check could be made."""
        code, found = self.run_command("doctor")
        self.assertEqual(code, 1)
        self.assertEqual([one["check"] for one in found if one["level"] == "wrong"], ["learn-mode"])
        self.assertEqual([one for one in found if "cannot be checked" in one["sentence"]], [])
        checks = {one["check"] for one in found}
        self.assertLessEqual(
            {"addresses", "brokers", "versions", "groups", "hanging-transactions", "log-dirs", "open-files"},
            checks,
        )

    def test_explain_lag(self) -> None:
        """A group whose consumers are gone is explained."""
        topic = self.broker.topic("t")
        self.broker.produce(topic, *(b"value" for _ in range(20)))
        consumer = Consumer({"bootstrap.servers": self.broker.bootstrap, "group.id": "g"})
        self.addCleanup(consumer.close)
        consumer.commit(offsets=[TopicPartition(topic, 0, 5)], asynchronous=False)
        code, found = self.run_command("explain-lag", "g")
        self.assertEqual((code, found[0]["rule"]), (1, "no-members"))
        self.assertIn("15 records of lag", found[0]["sentence"])
        code, found = self.run_command("explain-client", "rdkafka")
        self.assertEqual(code, 0)
