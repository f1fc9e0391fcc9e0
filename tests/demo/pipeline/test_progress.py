"""Tests of kafkatx.demo.pipeline.progress."""

from __future__ import annotations

import io
from typing import Any

from rich.console import Console
from twisted.trial.unittest import SynchronousTestCase

from kafkatx.demo.pipeline import progress
from kafkatx.demo.pipeline.progress import STAGES, ProgressView, Stages
from kafkatx.errors import KafkaTXError
from kafkatx.records.builder import build_values
from tests.blocking.fakes import FakeCluster, Log
from tests.demo.pipeline.fakes import FakeDeployment, FakeProgram
from tests.until import until


class FakeWarehouse:
    """A table that can be damaged."""

    damaged = False

    def rows(self) -> int:
        """Return the number of rows.

        :raises KafkaTXError: it is damaged.
        """
        if self.damaged:
            raise KafkaTXError("damaged")
        return 4


class StagesTests(SynchronousTestCase):
    def setUp(self) -> None:
        """Two clusters with two topics, of which one has records, and two services."""
        self.logs = {address: Log() for address in (FakeDeployment.dc1, FakeDeployment.dc2)}
        clusters = {address: FakeCluster({"x": [log], "y": [Log()]}) for address, log in self.logs.items()}
        self.patch(progress, "Cluster", lambda bootstrap: clusters[bootstrap].client())
        self.logs[FakeDeployment.dc1].append(build_values([b"v"] * 6, 0))
        self.logs[FakeDeployment.dc2].append(build_values([b"v"] * 5, 0))
        services = FakeProgram("one", {"records": 1}, {"records": 2}), FakeProgram("two")
        deployment: Any = FakeDeployment(*services, FakeProgram("reader", {"records": 9}))
        self.warehouse = FakeWarehouse()
        table: Any = self.warehouse
        self.stages = Stages(deployment, table)

    def test_counts(self) -> None:
        """Each stage is counted where it is."""
        self.assertEqual(list(self.stages.counts(7).values()), [7, 6, 2, 5, 4])
        self.assertEqual(list(self.stages.counts(7)), list(STAGES))

    def test_stage_that_fails(self) -> None:
        """A stage that cannot be counted keeps its number; the others go on."""
        self.stages.counts(7)
        self.warehouse.damaged = True
        self.logs[FakeDeployment.dc2].append(build_values([b"v"], 0))
        self.assertEqual(list(self.stages.counts(8).values()), [8, 6, 2, 6, 4])

    def test_lines(self) -> None:
        """Without a terminal a line is printed now and then."""
        self.patch(progress, "EVERY_S", 0.001)
        self.patch(progress, "LINE_EVERY_S", 0.002)
        output = io.StringIO()
        with ProgressView(Console(file=output, width=200), self.stages, 7) as view:
            view.produced = 7
            until(lambda: "7 produced" in output.getvalue(), "a line is printed")
        self.assertIn(
            "7 produced, 6 in dc1, 2 read by services, 5 in dc2, 4 in the warehouse", output.getvalue()
        )
