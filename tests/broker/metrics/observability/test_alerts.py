"""The alerts: each name in them is in the table, and Prometheus' own tool accepts them where it is."""

from __future__ import annotations

import re
import shutil
import subprocess

from twisted.trial.unittest import SkipTest, SynchronousTestCase

from kafkatx.broker.metrics.observability.alerts import ALERTS, alerts_page
from tests.broker.metrics.observability.names import faults
from tests.test_readme import ROOT

FILE = ROOT / "etc/prometheus/alerts.yml"


class AlertsTests(SynchronousTestCase):
    def test_up_to_date(self) -> None:
        """``make documents`` would change nothing in the file."""
        self.assertEqual(FILE.read_text(), alerts_page())

    def test_names(self) -> None:
        """Each metric, and each label, is one that a broker serves."""
        self.assertEqual([fault for alert in ALERTS for fault in faults(alert.expression)], [])
        self.assertEqual(
            list(faults('sum by (topc) (kafka_brokers{id="1"})')), ["kafka_brokers: id", "by topc"]
        )
        self.assertEqual(list(faults("rate(kafka_broker[1m])")), ["kafka_broker"])

    def test_labels(self) -> None:
        """The texts use labels that the result of their query has."""
        for alert in ALERTS:
            for label in re.findall(r"\$labels\.([a-z]+)", alert.summary + alert.description):
                query = f"sum by ({label}) ({alert.expression})"
                self.assertEqual(list(faults(query)), [], alert.name)

    def test_promtool(self) -> None:
        """``promtool check rules`` accepts the file."""
        promtool = shutil.which("promtool")
        if promtool is None:
            raise SkipTest("promtool is not installed (Debian's package prometheus has it)")
        checked = subprocess.run([promtool, "check", "rules", FILE], capture_output=True, text=True)
        self.assertEqual(checked.returncode, 0, checked.stdout + checked.stderr)
        self.assertIn(f"{len(ALERTS)} rules found", checked.stdout)
