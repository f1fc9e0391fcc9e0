"""The results of a task."""

from __future__ import annotations

import attrs

from kafkatx.clientcore.errors import ConnectionFailed
from kafkatx.errors import SettingError
from kafkatx.spark.ingest.decoder import open_decoding
from kafkatx.spark.ingest.table.manifest import DEAD, StagedFile
from kafkatx.spark.ingest.tasks.task import AWAY, DISK, FAILED, LOST, TaskResult, parse_result, run_task
from kafkatx.spark.source.plan import DataLoss
from tests.spark.ingest.tasks.test_jobs import RANGES, JobsCase, failing


class TaskTests(JobsCase):
    def test_json(self) -> None:
        """A result survives the way to the driver."""
        files = (StagedFile("staging/a", DEAD, 1, 20, {"hour": None}),)
        counted = (("t", 0, 5, 7, ((60_000, 2),)),)
        for result in (
            TaskResult(3, files, {"a": "bigint"}),
            TaskResult(4, kind=LOST, error="gone"),
            TaskResult(5, files, counted=counted),
        ):
            self.assertEqual(parse_result(result.to_json()), result)

    def test_kinds(self) -> None:
        """An error becomes a result of its kind; a bug comes with its traceback."""
        for error, kind in (
            (DataLoss("gone"), LOST),
            (ConnectionFailed("away"), AWAY),
            (SettingError("wrong"), FAILED),
            (OSError(5, "Input/output error"), DISK),
            (ZeroDivisionError("bug"), FAILED),
        ):
            self.topics.failures = [failing(error)]
            result = run_task(self.work, 7, RANGES[0])
            self.assertEqual((result.task, result.kind, result.files), (7, kind, ()))
        self.assertIn("Traceback", result.error or "")

    def test_drift(self) -> None:
        """A task that finds new fields reports them and writes nothing."""
        self.topics.values = lambda offset: b'{"n": %d}' % offset
        work = attrs.evolve(
            self.work, decoding=open_decoding("json", None, {}), decoded=True, time_column=None
        )
        result = run_task(work, 0, RANGES[0])
        self.assertEqual((dict(result.drift), result.files), ({"n": "bigint"}, ()))
