"""Tasks of a commit as Spark's jobs."""

from __future__ import annotations

import errno
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

from twisted.trial.unittest import SynchronousTestCase

from kafkatx.clientcore.errors import ConnectionFailed
from kafkatx.spark.ingest import retry
from kafkatx.spark.ingest.decoder import open_decoding
from kafkatx.spark.ingest.errors import IngestError, OffsetsLost
from kafkatx.spark.ingest.options import Bounds
from kafkatx.spark.ingest.retry import RetryLimit, Stopped
from kafkatx.spark.ingest.table.files import LocalFiles
from kafkatx.spark.ingest.tasks import task
from kafkatx.spark.ingest.tasks.jobs import Jobs, _first_line
from kafkatx.spark.ingest.tasks.task import TaskResult, Work
from kafkatx.spark.offsets import OffsetRange
from kafkatx.spark.options.client import ClientSettings
from kafkatx.spark.source.plan import DataLoss
from tests.spark.ingest.fakes import FakeSpark, FakeTopics

RANGES = [[OffsetRange("t", 0, 0, 5)], [OffsetRange("t", 1, 0, 5)]]


def failing(error: Exception) -> Callable[[], None]:
    """Return a function that raises."""

    def fail() -> None:
        raise error

    return fail


class JobsCase(SynchronousTestCase):
    """Work of two tasks, for a Spark and topics in memory."""

    def setUp(self) -> None:
        """Make a Spark and topics in memory, and brokers that may be away for 10 s."""
        self.patch(retry, "PAUSE_S", 0)
        self.spark = FakeSpark()
        self.topics = FakeTopics()
        self.patch(task, "read_range", self.topics.read_range)
        self.now_s = 0.0
        self.stop = threading.Event()
        self.work = Work(
            files=LocalFiles(str(Path(self.mktemp()).resolve())),
            staging="staging",
            client=ClientSettings("h:1"),
            decoding=open_decoding(None, None, {}),
            decoded=False,
            format="json",
            compression="none",
            partition_by=(),
            time_column="timestamp",
            bounds=Bounds(),
            include_headers=False,
            fail_on_data_loss=True,
        )
        self.told: list[int] = []

    def run_jobs(self, max_failures: int = 3) -> list[TaskResult]:
        """Run both tasks."""
        spark: Any = self.spark
        limit = RetryLimit(10.0, self.stop, lambda: self.now_s)
        return Jobs(spark, limit, max_failures).run(self.work, RANGES, self.told.append)


class JobsTests(JobsCase):
    def test_all_done(self) -> None:
        """Each task's result comes in its order, with the rows that it has written."""
        results = self.run_jobs()
        self.assertEqual([result.task for result in results], [0, 1])
        self.assertEqual([[file.rows for file in result.files] for result in results], [[5], [5]])
        self.assertEqual(self.told[-1], 2)

    def test_away(self) -> None:
        """A task that found no broker is run again, and the other one is not."""
        self.topics.failures.append(failing(ConnectionFailed("away")))
        self.assertEqual(len(self.run_jobs()), 2)
        self.assertEqual(self.spark.jobs, [2, 1])

    def test_spark_fails(self) -> None:
        """A job of Spark's that fails is run again, but not for ever."""
        self.spark.failures = ["worker killed"] * 2
        self.assertEqual(len(self.run_jobs()), 2)
        self.spark.failures = ["worker killed"] * 3
        self.assertRaisesRegex(IngestError, "Spark failed 3 times, last: worker killed", self.run_jobs)

    def test_final(self) -> None:
        """Lost offsets, a full disk and a bug end it, each with an error of its own."""
        for error, kind, message in (
            (DataLoss("t-0"), OffsetsLost, "t-0"),
            (OSError(errno.ENOSPC, "No space left"), IngestError, "No space left.*Nothing of this commit"),
            (ZeroDivisionError("bug"), IngestError, "a task failed: (.|\n)*ZeroDivisionError"),
        ):
            self.topics.failures = [failing(error)]
            self.assertRaisesRegex(kind, message, self.run_jobs)

    def test_stopped(self) -> None:
        """While brokers are away it can be told to stop."""
        self.topics.failures.append(failing(ConnectionFailed("away")))
        self.stop.set()
        self.assertRaises(Stopped, self.run_jobs)

    def test_first_line(self) -> None:
        """The last cause on a page of stack traces is reported."""
        page = ValueError("Job aborted\n  at Foo.scala\nCaused by: java.io.IOException: No space\n  at Bar")
        self.assertEqual(_first_line(page), "Caused by: java.io.IOException: No space")
        self.assertEqual(
            (_first_line(ValueError("short")), _first_line(ValueError(""))), ("short", "ValueError")
        )
