"""The panels: their queries name what is served, and their lines have the labels of the result."""

from __future__ import annotations

import re

from twisted.trial.unittest import SynchronousTestCase

from kafkatx.broker.metrics.observability.panels import ROWS
from tests.broker.metrics.observability.names import faults


class PanelsTests(SynchronousTestCase):
    def test_names(self) -> None:
        """Each metric, and each label, is one that a broker serves."""
        queries = [query for _, panels in ROWS for panel in panels for query, _ in panel.queries]
        self.assertGreater(len(queries), 40)
        self.assertEqual([fault for query in queries for fault in faults(query)], [])

    def test_legends(self) -> None:
        """A line is named by labels that are left after the aggregation."""
        for _, panels in ROWS:
            for panel in panels:
                for query, legend in panel.queries:
                    left = {label for by in re.findall(r"by \(([^)]*)\)", query) for label in by.split(", ")}
                    for label in re.findall(r"{{(\w+)}}", legend):
                        self.assertTrue(label in left or "by (" not in query, (panel.title, label))
                        self.assertEqual(list(faults(f"sum by ({label}) ({query})")), [])
