"""The progress and the result of an ingestion."""

from __future__ import annotations

import threading
import uuid
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, NamedTuple

import attrs

from kafkatx.spark.ingest.table.manifest import Manifest
from kafkatx.types import TopicPartition

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

POLL_S = 0.25


class Progress(NamedTuple):
    """The progress of an ingestion; records are counted by offsets.

    ``records_total`` is what there is to load: when following it grows. ``lag`` is what the logs have and no
    commit holds.
    """

    commit: int
    records_done: int
    records_total: int
    lag: int


class PartitionReport(NamedTuple):
    """The offsets of a partition that were loaded, ``end`` exclusive, and the number of offsets left behind
    it.
    """

    topic: str
    partition: int
    start: int
    end: int
    lag: int


@attrs.define
class Report:
    """The commits of an ingestion since it was started.

    :ivar rows: in the table; ``dead`` are among the dead letters.
    :ivar bytes: of all files.
    """

    commits: int = 0
    rows: int = 0
    dead: int = 0
    bytes: int = 0
    files: int = 0
    partitions: list[PartitionReport] = attrs.field(factory=list)

    def add(self, manifest: Manifest) -> None:
        """Count one commit."""
        self.commits += 1
        self.rows += manifest.rows
        self.dead += manifest.dead
        self.bytes += manifest.size_bytes
        self.files += len(manifest.files)


class Loaded:
    """From where to where each partition was loaded since the start, over all commits."""

    def __init__(self) -> None:
        self._ends: dict[TopicPartition, tuple[int, int]] = {}

    def add(self, manifest: Manifest) -> None:
        """Take a commit into account."""
        for at, (start, end) in manifest.offsets.items():
            self._ends[at] = (self._ends.get(at, (start, end))[0], end)

    def report(
        self, behind: Mapping[TopicPartition, int], next_offsets: Mapping[TopicPartition, int]
    ) -> list[PartitionReport]:
        """Return one line for each known partition.

        :param behind: for each partition how many offsets are not loaded.
        """
        known = sorted({*behind, *self._ends})
        return [
            PartitionReport(*at, *self._ends.get(at, (next_offsets.get(at, 0),) * 2), behind.get(at, 0))
            for at in known
        ]


@contextmanager
def watched(spark: SparkSession, tasks: int, told: Callable[[int], None]) -> Iterator[None]:
    """Tell, while a job of so many tasks runs in this thread, how many of them are done.

    Spark does not report by itself, so a thread polls it and calls *told* while this one waits for the job.
    """
    context = spark.sparkContext
    group, over = f"kafkatx-ingest-{uuid.uuid4().hex}", threading.Event()
    context.setJobGroup(group, "kafkatx ingest")

    def watch() -> None:
        tracker, last = context.statusTracker(), 0
        while not over.wait(POLL_S):
            stages = [
                tracker.getStageInfo(stage)
                for job in tracker.getJobIdsForGroup(group)
                for stage in getattr(tracker.getJobInfo(job), "stageIds", ())
            ]
            done = min(tasks, sum(stage.numCompletedTasks for stage in stages if stage))
            if done != last:
                last = done
                told(done)

    thread = threading.Thread(target=watch, name="progress of an ingestion", daemon=True)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()
        context.setLocalProperty("spark.jobGroup.id", None)
        context.setLocalProperty("spark.job.description", None)
