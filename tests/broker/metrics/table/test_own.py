"""kafkatx's own metrics: names, units, and a collector for each."""

from __future__ import annotations

from pathlib import Path

from twisted.trial.unittest import SynchronousTestCase

import kafkatx.broker.metrics
from kafkatx.broker.metrics.table import exporter, kafka, own, process
from kafkatx.broker.metrics.table.own import OWN
from kafkatx.broker.metrics.table.row import Metric


class OwnTests(SynchronousTestCase):
    def test_names(self) -> None:
        """All begin with the project's name, and times have their unit."""
        self.assertEqual([one.name for one in OWN.metrics if not one.name.startswith("kafkatx_")], [])
        self.assertEqual([one.name for one in OWN.metrics if one.name.endswith("_ms")], [])

    def test_collected(self) -> None:
        """Each row of the whole table is named by a collector."""
        folder = Path(kafkatx.broker.metrics.__file__).parent
        code = "".join(
            path.read_text(encoding="utf-8")
            for path in (*folder.glob("*.py"), *folder.glob("collectors/*.py"))
        )
        missing = [
            f"{letter}.{name}"
            for letter, module in (("k", kafka), ("e", exporter), ("o", own), ("p", process))
            for name, value in vars(module).items()
            if isinstance(value, Metric) and f"{letter}.{name}" not in code
        ]
        self.assertEqual(missing, [])
