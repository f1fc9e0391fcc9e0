"""Tests of kafkatx.cli.pipeline.ingestion: progress, signals, logs and the result."""

from __future__ import annotations

import json
import logging
import os
import signal
from collections.abc import Callable
from pathlib import Path
from threading import Event

from py4j.protocol import Py4JError

from kafkatx.cli.output.progress import ProgressBar
from kafkatx.cli.pipeline import ingestion
from kafkatx.errors import SettingError
from kafkatx.spark.ingest import (
    ConflictingCommit,
    IngestError,
    PartitionReport,
    Progress,
    Report,
)
from tests.cli.command_case import CommandCase
from tests.cli.pipeline.test_ingest import LOADED, IngestCase


class ReportTests(IngestCase):
    def test_lines(self) -> None:
        """For another program: a line for each partition; what is for people goes to stderr."""
        self.assertEqual(self.ingest(), "t\t0\t0\t1000\t0\nt\t1\t5\t508\t2\n")
        self.assertRegex(
            self.err.text(),
            r"^starting Spark \(local\[\*\]\) \.\.\.\nSpark 4\.3\.0 started in \d+\.\d s\n"
            r"1,500 rows, 3 dead letters, 123,456 bytes in 7 files, 2 commits: DIR\n$",
        )

    def test_table(self) -> None:
        """For a person it is a table."""
        self.use_streams(tty=True)
        text = self.ingest()
        for word in ("topic", "partition", "from", "to", "lag", "508"):
            self.assertIn(word, text)

    def test_json(self) -> None:
        """Or an object, with what there is to know."""
        found = json.loads(self.ingest("--json", "--quiet"))
        self.assertEqual(
            {name: found[name] for name in ("commits", "rows", "dead", "bytes", "files")},
            {"commits": 2, "rows": 1500, "dead": 3, "bytes": 123_456, "files": 7},
        )
        self.assertEqual(
            found["partitions"][1], {"topic": "t", "partition": 1, "start": 5, "end": 508, "lag": 2}
        )
        self.assertEqual(self.err.text(), "")

    def test_quiet(self) -> None:
        """Or nothing at all."""
        self.assertEqual(self.ingest("-q"), "")
        self.assertEqual(self.err.text(), "")

    def test_nothing_new(self) -> None:
        """An ingestion without new records succeeds with a message."""
        self.ingest_does(lambda tell, stop: Report(partitions=[PartitionReport("t", 0, 5, 5, 0)]))
        self.assertEqual(self.ingest(), "t\t0\t5\t5\t0\n")
        self.assertIn("nothing new: DIR has all records\n", self.err.text())


class StopTests(IngestCase):
    def stopped_by(self, number: int, times: int = 1) -> None:
        """Send a signal while the ingestion runs."""

        def code(tell: Callable[[Progress], None], stop: Event) -> Report:
            self.assertFalse(stop.is_set())
            for _ in range(times):
                signal.raise_signal(number)
            self.assertTrue(stop.is_set())
            return LOADED

        self.ingest_does(code)

    def test_following(self) -> None:
        """Ctrl-C and SIGTERM end what would go on for ever: after the commit, with the table, as success."""
        for number in (signal.SIGINT, signal.SIGTERM):
            self.use_streams()
            self.stopped_by(number)
            self.assertIn("t\t1\t5\t508\t2\n", self.ingest("--follow"))
            self.assertIn("again: stop now", self.err.text())

    def test_once(self) -> None:
        """A stopped --once may not have loaded everything: exit code 130."""
        self.stopped_by(signal.SIGINT)
        self.assertIn("t\t1\t5\t508\t2\n", self.ingest(code=130))

    def test_twice(self) -> None:
        """The second signal does not wait for the commit."""
        self.stopped_by(signal.SIGINT, times=2)
        self.assertEqual(self.ingest("--follow", code=130), "")
        self.assertEqual(self.logs(), [])

    def test_handlers(self) -> None:
        """Afterwards signals do what they did before."""
        before = signal.getsignal(signal.SIGINT), signal.getsignal(signal.SIGTERM)
        self.ingest()
        self.assertEqual((signal.getsignal(signal.SIGINT), signal.getsignal(signal.SIGTERM)), before)


class FailureTests(IngestCase):
    def failing(self, error: Exception) -> str:
        """Return the error of a failed ingestion: one line, and exit code 1."""

        def code(tell: Callable[[Progress], None], stop: Event) -> Report:
            raise error

        self.use_streams()
        self.ingest_does(code)
        self.assertEqual(self.ingest("-q", code=1), "")
        self.assertEqual(self.err.text().count("\n"), 1)
        return self.err.text()

    def test_log_is_kept(self) -> None:
        """The message of an error that Spark may explain names the file with its output."""
        for error in (IngestError("a task failed"), Py4JError("JVM\nstack\ntrace")):
            text = self.failing(error)
            (path,) = self.logs()
            self.assertIn(os.path.join(self.folder, path), text)
            self.assertEqual(Path(self.folder, path).read_text(), "what Spark says")
            self.assertNotIn("stack", text)
            os.unlink(os.path.join(self.folder, path))

    def test_log_is_removed(self) -> None:
        """It is not kept if it tells nothing, or after success."""
        self.assertEqual(self.failing(ConflictingCommit("two of them")), "kafkatx: two of them\n")
        self.assertEqual(
            self.failing(SettingError("decode json: keep to that")), "kafkatx: decode json: keep to that\n"
        )
        self.ingest_does(lambda tell, stop: LOADED)
        self.ingest()
        self.assertEqual(self.logs(), [])

    def test_killed(self) -> None:
        """The next start deletes the files that a killed command left; a log that was kept stays."""
        left = Path(self.folder, "kafkatx-run-left", "blockmgr-1")
        left.mkdir(parents=True)
        Path(self.folder, "kafkatx-ingest-spark-kept.log").touch()
        self.ingest()
        self.assertEqual(self.logs(), ["kafkatx-ingest-spark-kept.log"])

    def test_warnings(self) -> None:
        """Warnings are lines on stderr; what others log, py4j's stack traces say, goes to Spark's output."""

        def code(tell: Callable[[Progress], None], stop: Event) -> Report:
            logging.getLogger("kafkatx.spark").warning("some data\nmay have been lost")
            logging.getLogger("py4j").error("an error in the gateway")
            (path,) = self.logs()
            self.assertIn("an error in the gateway", Path(self.folder, path, "spark.log").read_text())
            return LOADED

        self.ingest_does(code)
        self.ingest("-q")
        self.assertEqual(self.err.text(), "kafkatx: some data may have been lost\n")


class ProgressTests(IngestCase):
    def tell_commits(self) -> None:
        """An ingestion of two commits."""

        def code(tell: Callable[[Progress], None], stop: Event) -> Report:
            for progress in (
                (7, 0, 3000, 3000),
                (7, 500, 3000, 2500),
                (8, 1000, 3000, 2000),
                (9, 3000, 3000, 0),
            ):
                tell(Progress(*progress))
            return LOADED

        self.ingest_does(code)

    def test_bar(self) -> None:
        """The bar has what is done and how much there is to do."""
        reached: list[tuple[float, float | None]] = []
        self.patch(ProgressBar, "reach", lambda bar, done, total: reached.append((done, total)))
        self.tell_commits()
        self.ingest()
        self.assertEqual(reached, [(0, 3000), (500, 3000), (1000, 3000), (3000, 3000)])

    def test_lines(self) -> None:
        """Without a terminal --follow prints a line for each commit."""
        self.tell_commits()
        self.ingest("--follow")
        lines = [line for line in self.err.text().splitlines() if line.startswith("commit ")]
        self.assertEqual(
            lines, ["commit 7: 1,000 records so far, lag 2,000", "commit 8: 3,000 records so far, lag 0"]
        )

    def test_no_lines(self) -> None:
        """A terminal has the bar, a single load its end, and the quiet nothing."""
        self.tell_commits()
        self.ingest()
        self.assertNotIn("commit 7", self.err.text())
        self.use_streams()
        self.ingest("--follow", "--quiet")
        self.assertEqual(self.err.text(), "")
        self.use_streams(tty=True)
        self.ingest("--follow")
        self.assertNotIn("commit 7", self.err.text())


class BarTests(CommandCase):
    def test_more_to_do(self) -> None:
        """The bar shows the finished part of the work known so far."""
        now_s = 0.0
        with ProgressBar("into DIR", None, clock=lambda: now_s, enabled=True) as bar:
            for now_s, done, total in ((1.0, 5, 20), (2.0, 6, 30)):  # noqa: B007  # the clock reads it
                bar.reach(done, total)
                assert bar._drawn is not None
                (task,) = bar._drawn[0].tasks
                self.assertEqual((task.completed, task.total), (done, total))


class SummaryTests(CommandCase):
    def test_without_dead_letters(self) -> None:
        """They are told of only if there are any."""
        line = ingestion.summary_line(Report(1, 5, 0, 99, 1), "DIR")
        self.assertEqual(line, "5 rows, 99 bytes in 1 file, 1 commit: DIR")
