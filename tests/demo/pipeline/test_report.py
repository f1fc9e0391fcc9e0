"""Tests of kafkatx.demo.pipeline.report."""

from __future__ import annotations

import io
from typing import Any

from rich.console import Console
from twisted.trial.unittest import SynchronousTestCase

from kafkatx.demo.pipeline.delays import Delays
from kafkatx.demo.pipeline.report import delay_table, print_end, print_members, stage_delays
from tests.demo.pipeline.fakes import FakeDeployment, FakeProgram

ONE = {"records": 2, "partitions": ["x-0", "y-1"], "delays_ms": {"10": 1, "20": 1}}
READ = {"records": 3, "partitions": ["x-0"], "delays_ms": {"50": 3}}


class FakeWarehouse:
    """A table of two commits."""

    def delays(self, first: int = 0) -> Delays:
        """Return the delays of the second one, or of both."""
        return Delays({1500: 2}) if first else Delays({1500: 2, 7000: 1})


class ReportTests(SynchronousTestCase):
    def setUp(self) -> None:
        """Two services, the second of which was killed, and a reader in dc2."""
        services = FakeProgram("one", {"records": 1}, ONE), FakeProgram("two", {"records": 1})
        self.deployment: Any = FakeDeployment(*services, FakeProgram("reader", READ))
        self.warehouse: Any = FakeWarehouse()
        self.output = io.StringIO()
        self.console = Console(file=self.output, width=100)

    def test_stages(self) -> None:
        """The services' delays are added up; the reader's and the table's stand by themselves."""
        found = {
            stage: delays.to_object()
            for stage, delays in stage_delays(self.deployment, self.warehouse).items()
        }
        self.assertEqual(
            list(found.values()),
            [{"10": 1, "20": 1}, {"50": 3}, {"1500": 2, "7000": 1}, {"1500": 2}],
        )

    def test_table(self) -> None:
        """The percentiles are shown in seconds; nothing stands where nothing was read."""
        self.console.print(delay_table({"some": Delays({10: 98, 2500: 2}), "none": Delays()}))
        rows = [line.replace("│", " ").split() for line in self.output.getvalue().splitlines()]
        self.assertIn(["some", "100", "0.01", "0.01", "2.50", "2.50"], rows)
        self.assertIn(["none", "0"], rows)

    def test_members(self) -> None:
        """Each member of the group is told with its partitions, the reader is none of them."""
        print_members(self.console, self.deployment)
        lines = self.output.getvalue().splitlines()
        self.assertEqual(lines, ["one read 2 records: x-0, y-1", "two read 1 records: nothing"])

    def test_end(self) -> None:
        """The end says whether all went through, and where the files are."""
        print_end(self.console, 0, None)
        print_end(self.console, 1, "/a[b]")
        for expected in ("every record", "status 0", "differences", "status 1", "stay in /a[b]"):
            self.assertIn(expected, self.output.getvalue())
