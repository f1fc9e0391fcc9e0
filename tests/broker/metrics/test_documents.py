"""The page of metrics is made of the table, and up to date."""

from __future__ import annotations

from twisted.trial.unittest import SynchronousTestCase

from kafkatx.broker.metrics.documents import metrics_page
from kafkatx.broker.metrics.table import METRICS
from tests.test_readme import ROOT


class MetricsPageTests(SynchronousTestCase):
    def test_up_to_date(self) -> None:
        """``make documents`` would change nothing in ``docs/metrics.md``, which has each metric."""
        page = (ROOT / "docs/metrics.md").read_text()
        self.assertEqual(page, metrics_page())
        self.assertEqual([metric.name for metric in METRICS if f"| `{metric.name}` |" not in page], [])
