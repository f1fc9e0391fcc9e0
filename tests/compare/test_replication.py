"""Three brokers of each system: the figures of rounds, kept, as tables, and drawn."""

from __future__ import annotations

import os
from pathlib import Path

from twisted.trial.unittest import SynchronousTestCase

from benchmarks.replication import cells, plots, report
from benchmarks.replication.cells import CATCH_UP, LATENCY, SIGKILL, SIGTERM, THROUGHPUT, Figures
from benchmarks.replication.report import OURS, THEIRS, WITH_ZOOKEEPER, Measured, Run
from kafkatx.errors import KafkaTXError

CELL = next(iter(THROUGHPUT))


def measured(per_s: float, **more: Figures) -> Measured:
    """The figures of a system in one round."""
    return Measured({CELL: {"per_s": per_s, "cpu_s": 2.0}, **more}, 1.5, 60.0)


def a_run() -> Run:
    """Three rounds, of which the last has no figures of Apache Kafka."""
    latency = {"ack_p50_ms": 1.0, "ack_p99_ms": 4.0, "end_p50_ms": 2.0, "end_p99_ms": 5.0}
    back = {"mb_per_s": 100.0, "quiet_p99_ms": 5.0, "p99_ms": 20.0}
    ours = {LATENCY: latency, CATCH_UP: back, SIGTERM: {"gap_ms": 300.0}, SIGKILL: {"gap_ms": 15_000.0}}
    rounds = [
        {OURS: measured(1000, **ours), THEIRS: measured(500)},
        {OURS: measured(3000, **ours), THEIRS: measured(1000)},
        {OURS: measured(2000, **ours), WITH_ZOOKEEPER: Measured({SIGTERM: {"gap_ms": 2000.0}}, 0.0, 30.0)},
    ]
    return Run({"cores": 2}, "today", rounds, ["kafka-4: it did not start"])


class ReportTests(SynchronousTestCase):
    def test_within_a_round(self) -> None:
        """Figures are medians with their range; a ratio is that of a round that has both systems."""
        line = report.throughput_table(a_run()).splitlines()[2]
        self.assertEqual(
            line,
            f"| {CELL} | 2,000 (1,000-3,000) | 750 (500-1,000) | 2.50 (2.00-3.00) "
            "| 2.00 (2.00-2.00) | 2.00 (2.00-2.00) | 1.00 (1.00-1.00) |",
        )

    def test_missing(self) -> None:
        """A system that was not measured leaves its place empty; what failed is said."""
        told = report.table(a_run())
        self.assertIn("| SIGTERM of a leader | 0.30 (0.30-0.30) |  | 2.00 |", told)
        self.assertIn("*   kafka-4: it did not start\n", told)

    def test_goals(self) -> None:
        """Each goal is held or missed by what was measured: gaps by the longest one."""
        words = {what: word for what, _, _, word in report.goals(a_run())}
        self.assertEqual(
            words,
            {
                "throughput to Apache Kafka's, worst cell": report.HELD,
                "throughput, median of the cells": report.HELD,
                "CPU time of the brokers, worst cell": report.MISSED,
                "p99 while a follower catches up, to that before": report.MISSED,
                "SIGTERM of a leader, kafkatx: longest gap, s": report.HELD,
                "SIGTERM of a leader, kafkatx with a ZooKeeper: longest gap, s": report.MISSED,
                "kill -9 of a leader, kafkatx: longest gap, s": report.MISSED,
            },
        )

    def test_tie(self) -> None:
        """A latency that is worse by less than the rounds differ is a tie."""

        def told(*theirs: float) -> str:
            rounds = [
                {
                    system: Measured({LATENCY: {"ack_p99_ms": p99}}, 0.0, 1.0)
                    for system, p99 in ((OURS, 4.0), (THEIRS, ms))
                }
                for ms in theirs
            ]
            return next(word for what, _, _, word in report.goals(Run({}, "today", rounds)) if "p99" in what)

        self.assertEqual(told(5.0, 5.0, 2.0), report.HELD)
        self.assertEqual(told(5.0, 2.0, 2.0), report.TIE)
        self.assertEqual(told(3.0, 2.0, 2.0), report.MISSED)

    def test_kept(self) -> None:
        """A run is read as it was saved, also one that has not ended."""
        path = Path(self.mktemp())
        for run in (a_run(), Run({}, "today", [{}])):
            report.save(run, path)
            self.assertEqual(report.load(path), run)
            report.save_table(run, path)
            self.assertEqual(path.with_suffix(".txt").read_text(), report.table(run))


class PlotTests(SynchronousTestCase):
    def test_pictures(self) -> None:
        """The page shows the pictures that are drawn, even if figures are missing."""
        folder = Path(self.mktemp())
        folder.mkdir()
        plots.draw(a_run(), folder)
        for name in plots.NAMES:
            self.assertEqual((folder / name).read_bytes()[:8], b"\x89PNG\r\n\x1a\n")
            self.assertIn(f"({name})", report.page(a_run()))


class MeasureTests(SynchronousTestCase):
    def test_a_cell_fails(self) -> None:
        """A cell that fails is left out; after two in a row the cluster is given up."""
        names = list(THROUGHPUT)[:5]
        fails = {names[0], names[2], names[3]}
        asked: list[str] = []

        def fake(_: object, cell: cells.Throughput, *__: object) -> Figures:
            asked.append(cell.name)
            if cell.name in fails:
                raise KafkaTXError("gone")
            return {"per_s": 1.0}

        self.patch(cells, "measure_throughput", fake)
        self.patch(os, "sync", lambda: None)
        failed: list[str] = []
        told: list[str] = []
        found = cells.measure(None, names, 1.0, {}, told.append, failed)  # type: ignore[arg-type]
        self.assertEqual(found, {names[1]: {"per_s": 1.0}})
        self.assertEqual(asked, names[:4])
        self.assertEqual([line.split(":")[0] for line in failed], [names[0], names[2], names[3]])
        self.assertEqual(len(told), 4)
