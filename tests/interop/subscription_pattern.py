"""The Java client subscribes to a pattern that the broker matches (``SubscriptionPattern``, KIP-848)."""

from __future__ import annotations

import os
import subprocess

from twisted.trial.unittest import SynchronousTestCase

from kafkatx.testing import EmbeddedBroker
from tests.clients.toolchains import BUILT, prepare

SOURCE = os.path.join(os.path.dirname(__file__), "Patterns.java")
TIMEOUT_S = 120


class SubscriptionPatternTests(SynchronousTestCase):
    timeout = TIMEOUT_S

    def test_reads(self) -> None:
        """The consumer gets the topics whose names match, and reads their records."""
        prepare("java-4")
        with EmbeddedBroker({"group.initial.rebalance.delay.ms": 0}) as broker:
            for topic in ("orders-eu", "orders-us", "payments"):
                broker.topic(topic, partitions=2)
                broker.produce(topic, topic.encode())
            done = subprocess.run(
                ["java", "-cp", f"{BUILT}/java-4/*", SOURCE, broker.bootstrap, "orders-.*", "2"],
                capture_output=True,
                text=True,
                timeout=TIMEOUT_S,
                check=False,
            )
        self.assertEqual(done.stdout, "orders-eu orders-eu\norders-us orders-us\n", done.stderr)
