"""The dashboard: each name in it is in the table, and its panels do not overlap."""

from __future__ import annotations

import json

from twisted.trial.unittest import SynchronousTestCase

from kafkatx.broker.metrics.observability.dashboard import WIDTH, dashboard, dashboard_page
from tests.broker.metrics.observability.names import faults
from tests.test_readme import ROOT

FILE = ROOT / "etc/grafana/kafkatx.json"


class DashboardTests(SynchronousTestCase):
    def test_up_to_date(self) -> None:
        """``make documents`` would change nothing in the file."""
        self.assertEqual(FILE.read_text(), dashboard_page())
        self.assertEqual(json.loads(FILE.read_text()), dashboard())

    def test_variables(self) -> None:
        """The lists to choose from are made of metrics and labels that are served."""
        for variable in dashboard()["templating"]["list"][1:]:
            name, label = variable["query"]["query"].removeprefix("label_values(").rstrip(")").split(", ")
            self.assertEqual(list(faults(f"sum by ({label}) ({name})")), [])

    def test_grid(self) -> None:
        """Panels stand side by side, within the width of the page."""
        taken: set[tuple[int, int]] = set()
        for panel in dashboard()["panels"]:
            at = panel["gridPos"]
            self.assertLessEqual(at["x"] + at["w"], WIDTH)
            for x in range(at["x"], at["x"] + at["w"]):
                for y in range(at["y"], at["y"] + at["h"]):
                    self.assertNotIn((x, y), taken, panel["title"])
                    taken.add((x, y))
        ids = [panel["id"] for panel in dashboard()["panels"]]
        self.assertEqual(len(set(ids)), len(ids))
