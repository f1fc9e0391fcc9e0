"""On the driver: a commit's tasks as Spark's jobs, until all are done."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING

from kafkatx.spark.ingest.errors import IngestError, OffsetsLost
from kafkatx.spark.ingest.progress import watched
from kafkatx.spark.ingest.retry import RetryLimit
from kafkatx.spark.ingest.tasks.task import AWAY, DISK, LOST, TaskResult, Tasks, Work, parse_result
from kafkatx.spark.offsets import OffsetRange

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

log = logging.getLogger(__name__)


class Jobs:
    """Runs tasks; those that are done are not run again because of others.

    :param max_failures: so many jobs of one commit may fail: Spark's own failures, a killed worker say.
    """

    def __init__(self, spark: SparkSession, retry: RetryLimit, max_failures: int) -> None:
        self._spark = spark
        self._retry = retry
        self._max_failures = max_failures

    @property
    def cores(self) -> int:
        """Number of tasks that run at a time."""
        return int(self._spark.sparkContext.defaultParallelism)

    def run(
        self, work: Work, ranges: Sequence[Sequence[OffsetRange]], told: Callable[[int], None]
    ) -> list[TaskResult]:
        """Run a task for each item and return all results, none of them an error.

        :param told: called, also in another thread, with how many tasks are done.
        :raises OffsetsLost: a task found that its offsets are gone.
        :raises IngestError: a task, or Spark, failed for good.
        :raises Stopped: the ingestion was told to stop while brokers were away.
        """
        done: dict[int, TaskResult] = {}
        failures = 0
        while len(done) < len(ranges):
            left = {task: item for task, item in enumerate(ranges) if task not in done}
            try:
                results = self._collect(work, left, partial(_told_above, told, len(done)))
            except _spark_errors() as error:
                failures += 1
                if failures >= self._max_failures:
                    raise IngestError(f"Spark failed {failures} times, last: {_first_line(error)}") from error
                log.warning("Spark failed and is asked again: %s", _first_line(error))
                continue
            done |= {result.task: result for result in results if result.kind is None}
            self._judge(work, [result for result in results if result.kind is not None])
            told(len(done))
        return [done[task] for task in sorted(done)]

    def _collect(
        self, work: Work, left: Mapping[int, Sequence[OffsetRange]], told: Callable[[int], None]
    ) -> list[TaskResult]:
        count = len(left)
        frame = self._spark.range(0, count, 1, count).mapInArrow(Tasks(work, left), "result string")
        with watched(self._spark, count, told):
            return [parse_result(row.result) for row in frame.collect()]

    def _judge(self, work: Work, failed: Sequence[TaskResult]) -> None:
        """Wait if brokers are away; raise what will not pass."""
        for result in failed:
            if result.kind == LOST:
                raise OffsetsLost(result.error or "")
            if result.kind == DISK:
                raise disk_error(work.files.root, result.error or "")
            if result.kind != AWAY:
                raise IngestError(f"a task failed: {result.error}")
        if failed:
            self._retry.pause(failed[0].error or "")
        else:
            self._retry.succeeded()


def _told_above(told: Callable[[int], None], base: int, more: int) -> None:
    told(base + more)


def disk_error(root: str, why: str) -> IngestError:
    """Return the error of a directory that cannot be written to."""
    return IngestError(
        f"{root}: {why}. Nothing of this commit is visible; when that is mended, the next run goes on from "
        "the last commit"
    )


def _spark_errors() -> tuple[type[Exception], ...]:
    from py4j.protocol import Py4JError
    from pyspark.errors import PySparkException

    return (Py4JError, PySparkException)


def _first_line(error: Exception) -> str:
    """Return the first useful line of a page of stack traces."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    causes = [line for line in lines if "Exception: " in line or "Error: " in line]
    return (causes or lines or [type(error).__name__])[-1 if causes else 0][:500]
