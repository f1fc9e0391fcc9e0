"""Tests of ``kafkatx client-metrics``."""

from __future__ import annotations

import json

from tests.cli.client_metrics.client_metrics_case import ClientMetricsCase


class SubscriptionTests(ClientMetricsCase):
    def test_alter(self) -> None:
        """A subscription is made and changed; what is not given stays."""
        self.metrics("alter", "s", "--metrics", "*", "--interval", "1000")
        self.metrics("alter", "s", "--match", "client_id=a.*")
        self.assertEqual(self.metrics("list"), "s\n")
        self.assertEqual(self.metrics("describe"), "s\t*\t1000\tclient_id=a.*\n")
        self.assertEqual(
            json.loads(self.metrics("describe", "s", "--json")),
            {"name": "s", "metrics": "*", "interval.ms": "1000", "match": "client_id=a.*"},
        )

    def test_kafka_names(self) -> None:
        """The options of kafka-client-metrics.sh do the same."""
        self.metrics("--alter", "--name", "s", "--metrics", "a,b", "--interval", "1000")
        self.assertEqual(self.metrics("--describe", "--name", "s"), "s\ta,b\t1000\t-\n")
        self.assertEqual(self.metrics("--list"), "s\n")
        self.metrics("--delete", "--name", "s")
        self.assertEqual(self.metrics("--list"), "")
        name = self.metrics("--alter", "--generate-name", "--metrics", "a").strip()
        self.assertEqual(self.metrics("--list"), f"{name}\n")
        self.assertEqual(len(name), 36)

    def test_missing(self) -> None:
        """A command line that lacks something changes nothing."""
        self.metrics("alter", "s", exit_code=2)
        self.metrics("alter", "--metrics", "a", exit_code=2)
        self.metrics("alter", "s", "--generate-name", "--metrics", "a", exit_code=2)
        for command in ("describe", "delete"):
            self.metrics(command, "s", exit_code=1)
            self.assertIn("there is no subscription 's'", self.err.text())
        self.assertEqual(self.cluster.settings, {})
