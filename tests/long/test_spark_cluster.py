"""Ingestion by a Spark cluster, and a worker and an executor that are killed while they read."""

from __future__ import annotations

import os
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from pyspark import cloudpickle

from kafkatx.spark.ingest import IngestOptions, ingest, read_table
from kafkatx.spark.options.client import ClientSettings
from kafkatx.spark.options.options import Subscribe
from tests.integration.cluster import executors, kill, python_workers, shared_cluster
from tests.integration.test_spark_cluster import DEADLINE_S, PARTITIONS, RECORDS, ClusterCase

# The executors have no tests: functions that are given to them go with all that is in them.
cloudpickle.register_pickle_by_value(sys.modules[__name__])

GO_ON = "go-on"


class ClusterTests(ClusterCase):
    def read_by_halves(self, folder: str) -> list[tuple[int, int]]:
        """Partition and offset of every record; workers wait in the middle of a partition.

        :param folder: gets a file for each worker that waits, named by its pid; they go on when it has GO_ON.
        """
        shared_cluster().udf.register("by_halves", by_halves(folder), "bigint")
        rows = self.load().selectExpr("partition", "by_halves(offset) AS offset").collect()
        return sorted((row.partition, row.offset) for row in rows)

    def test_killed(self) -> None:
        """A Python worker and an executor are killed while they read: every record is there once.

        Each has one task, which cannot end before it is killed.
        """
        folder = os.path.abspath(self.mktemp())
        os.mkdir(folder)

        def reading_in(executor: int) -> list[int]:
            """An executor's workers that have read half a partition, and wait."""
            return [worker for worker in python_workers(executor) if str(worker) in os.listdir(folder)]

        reading = Background(lambda: self.read_by_halves(folder))
        wait_for(lambda: len(executors()) == 2 and all(map(reading_in, executors())))
        tracker = shared_cluster().sparkContext.statusTracker()
        (stage,) = tracker.getActiveStageIds()
        first, second = executors()
        for worker in reading_in(first):
            kill(worker)
        kill(second)
        Path(folder, GO_ON).touch()
        self.assertEqual(reading.result(), self.everything)
        wait_for(lambda: tracker.getStageInfo(stage).numCompletedTasks == PARTITIONS)  # it is told later
        self.assertEqual(tracker.getStageInfo(stage).numFailedTasks, 2)
        wait_for(lambda: len(executors()) == 2)
        self.assertNotIn(second, executors())

    def test_ingest(self) -> None:
        """An ingestion is done by the executors: every record is in the files once."""
        folder = os.path.abspath(self.mktemp())
        client = ClientSettings(self.bootstrap)
        report = ingest(shared_cluster(), IngestOptions(client, Subscribe((self.topic,)), folder))
        self.assertEqual(report.rows, len(self.everything))
        rows = read_table(shared_cluster(), folder).select("partition", "offset").collect()
        self.assertEqual(sorted((row.partition, row.offset) for row in rows), self.everything)


class Background:
    """A call in a thread, whose result is waited for."""

    def __init__(self, call: Callable[[], Any]) -> None:
        self._call = call
        self._outcome: list[Any] = []
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def _run(self) -> None:
        try:
            self._outcome.append(self._call())
        except Exception as error:
            self._outcome.append(error)

    def result(self) -> Any:
        """Return the result of the call, or the exception that it raised."""
        self._thread.join(DEADLINE_S)
        (outcome,) = self._outcome
        if isinstance(outcome, Exception):
            raise outcome
        return outcome


def wait_for(condition: Callable[[], bool]) -> None:
    """Look again and again until it is so."""
    deadline = time.monotonic() + DEADLINE_S
    while not condition():
        if time.monotonic() > deadline:
            raise AssertionError("it did not come to be")
        time.sleep(0.05)


def by_halves(folder: str) -> Callable[[int], int]:
    """A function that gives a number back; in the middle it leaves its pid in a folder, and waits there."""

    def by_halves(number: int) -> int:
        if number == RECORDS // 2:
            Path(folder, str(os.getpid())).touch()
            wait_for(Path(folder, GO_ON).exists)
        return number

    return by_halves
