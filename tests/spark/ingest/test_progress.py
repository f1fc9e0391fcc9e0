"""Reports of an ingestion."""

from __future__ import annotations

import threading
from types import SimpleNamespace
from typing import Any

import attrs
from twisted.trial.unittest import SynchronousTestCase

from kafkatx.spark.ingest import progress
from kafkatx.spark.ingest.progress import Loaded, PartitionReport, Report, watched
from kafkatx.spark.ingest.table.manifest import DATA, DEAD, TableFile
from kafkatx.types import TopicPartition
from tests.spark.ingest.table.test_table import EMPTY

FIRST, SECOND = TopicPartition("t", 0), TopicPartition("t", 1)


class ReportTests(SynchronousTestCase):
    def test_sums(self) -> None:
        """Rows, dead letters, bytes and files add up over commits."""
        files = (TableFile("a", DATA, 5, 100, {}), TableFile("b", DEAD, 2, 30, {}))
        report = Report()
        for _ in range(2):
            report.add(attrs.evolve(EMPTY, files=files))
        self.assertEqual(
            (report.commits, report.rows, report.dead, report.bytes, report.files), (2, 10, 4, 260, 4)
        )


class LoadedTests(SynchronousTestCase):
    def test_over_commits(self) -> None:
        """A partition's range goes from its first commit's start to its last commit's end."""
        loaded = Loaded()
        for start, end in ((3, 5), (5, 9)):
            loaded.add(attrs.evolve(EMPTY, offsets={FIRST: (start, end)}))
        self.assertEqual(loaded.report({FIRST: 4}, {}), [PartitionReport("t", 0, 3, 9, 4)])

    def test_nothing_loaded(self) -> None:
        """A partition of which nothing was loaded stands at its next offset."""
        self.assertEqual(Loaded().report({SECOND: 0}, {SECOND: 80}), [PartitionReport("t", 1, 80, 80, 0)])


class FakeContext:
    """Spark's context, with one job of one stage.

    :ivar groups: the job groups that were set.
    :ivar cleared: the local properties that were removed.
    """

    def __init__(self, completed: list[int]) -> None:
        self.sparkContext = self
        self.groups: list[str] = []
        self.cleared: list[str] = []
        self._completed = completed

    def setJobGroup(self, group: str, description: str) -> None:
        """Set the group of the jobs that follow."""
        self.groups.append(group)

    def setLocalProperty(self, name: str, value: str | None) -> None:
        """Remove a property."""
        self.cleared.append(name)

    def statusTracker(self) -> FakeContext:
        """Return the tracker."""
        return self

    def getJobIdsForGroup(self, group: str) -> list[int]:
        """Return the job's id, in its group only."""
        return [1] if group == self.groups[-1] else []

    def getJobInfo(self, job: int) -> Any:
        """Return the job's stages, one of which Spark has forgotten."""
        return SimpleNamespace(stageIds=[1, 2])

    def getStageInfo(self, stage: int) -> Any:
        """Return the next number of completed tasks."""
        if stage == 2:
            return None
        done = self._completed.pop(0) if len(self._completed) > 1 else self._completed[0]
        return SimpleNamespace(numCompletedTasks=done)


class WatchedTests(SynchronousTestCase):
    def test_told(self) -> None:
        """Each change is told once, never more tasks than there are; afterwards the group is cleared."""
        self.patch(progress, "POLL_S", 0)
        context: Any = FakeContext([0, 1, 1, 3, 9])
        told: list[int] = []
        complete = threading.Event()

        def tell(done: int) -> None:
            told.append(done)
            if done == 4:
                complete.set()

        with watched(context, 4, tell):
            self.assertTrue(complete.wait(30))
        self.assertEqual(told, [1, 3, 4])
        self.assertEqual(context.cleared, ["spark.jobGroup.id", "spark.job.description"])
