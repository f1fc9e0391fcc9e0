"""Tests of kafkatx.cli.pipeline.ingest and ingesting: Spark and the ingestion itself are not there."""

from __future__ import annotations

import json
import logging
import os
import signal
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Event
from typing import Any

from py4j.protocol import Py4JError

import kafkatx.spark.ingest as ingest_package
from kafkatx.cli.output.progress import ProgressBar
from kafkatx.cli.pipeline import ingestion
from kafkatx.errors import SettingError
from kafkatx.spark import session
from kafkatx.spark.ingest import (
    ConflictingCommit,
    IngestError,
    IngestOptions,
    PartitionReport,
    Progress,
    Report,
)
from kafkatx.spark.options.options import Subscribe, SubscribePattern
from kafkatx.spark.source import plan
from tests.cli.command_case import CommandCase
from tests.spark.fakes import FakeCluster

LOADED = Report(
    2, 1500, 3, 123_456, 7, [PartitionReport("t", 0, 0, 1000, 0), PartitionReport("t", 1, 5, 508, 2)]
)
ARGUMENTS = ("ingest", "-t", "t", "--to", "DIR")


class IngestCase(CommandCase):
    """Runs ``kafkatx ingest``; what it calls is here."""

    def setUp(self) -> None:
        """A topic, a Spark that does nothing, and an ingestion that reports at once."""
        super().setUp()
        self.options: list[IngestOptions] = []
        self.sparks: list[tuple[str, dict[str, str]]] = []
        self.folder = self.mktemp()
        os.makedirs(self.folder)
        self.patch(tempfile, "tempdir", self.folder)
        self.patch(plan, "connect", lambda client: FakeCluster({"t": [(0, 5)]}))
        self.patch(session, "spark_session", self.spark_session)
        self.patch(session, "check_java", lambda environment: None)
        self.ingest_does(lambda tell, stop: LOADED)

    @contextmanager
    def spark_session(
        self, log_path: str, master: str, name: str, conf: dict[str, str], scratch: str
    ) -> Iterator[Any]:
        """A session that knows its version."""
        self.assertEqual(os.path.dirname(log_path), scratch)
        self.sparks.append((master, conf))
        Path(log_path).write_text("what Spark says")

        class Session:
            version = "4.3.0"

        yield Session()

    def ingest_does(self, code: Callable[[Callable[[Progress], None], Event], Report]) -> None:
        """Let the ingestion be this."""

        def ingest(spark: Any, options: IngestOptions, on_progress: Any, stop: Event) -> Report:
            self.options.append(options)
            return code(on_progress, stop)

        self.patch(ingest_package, "ingest", ingest)

    def ingest(self, *arguments: str, code: int = 0) -> str:
        """What the command prints; it must end with *code*."""
        self.assertEqual(self.run_command(*ARGUMENTS, *arguments), code, self.err.text())
        return self.out.text()

    def logs(self) -> list[str]:
        """The files that are left of Spark's output."""
        return os.listdir(self.folder)


class OptionTests(IngestCase):
    def test_defaults(self) -> None:
        """A topic and a directory are enough."""
        self.ingest()
        (options,) = self.options
        self.assertEqual((options.selection, options.to), (Subscribe(("t",)), "DIR"))
        self.assertEqual(options, IngestOptions(options.client, options.selection, "DIR"))
        self.assertEqual(options.client.bootstrap, "127.0.0.1:9092")
        self.assertEqual(self.sparks, [("local[*]", {})])

    def test_all(self) -> None:
        """Each option reaches the ingestion or Spark."""
        self.patch(plan, "connect", lambda client: FakeCluster({"t": [(0, 5)], "u": [(0, 5)]}))
        text = (
            "-t u -b h:1 --timeout 5 --format avro --compression none --partition-by date,country --follow "
            "--decode json --time-column at --commit-every 2.5 --max-records 9 --start latest --headers "
            "--skip-lost --master local[1] --spark-conf spark.x=y=z"
        )
        self.ingest(*text.split(), "--schema", "at TIMESTAMP, country STRING")
        (options,) = self.options
        self.assertEqual(
            options,
            IngestOptions(
                options.client,
                Subscribe(("t", "u")),
                "DIR",
                format="avro",
                compression="none",
                partition_by=("date", "country"),
                follow=True,
                decode="json",
                decoder_settings={"schema": "at TIMESTAMP, country STRING"},
                time_column="at",
                commit_every_s=2.5,
                max_records=9,
                starting="latest",
                include_headers=True,
                fail_on_data_loss=False,
            ),
        )
        self.assertEqual((options.client.bootstrap, options.client.timeout_s), ("h:1", 5.0))
        self.assertEqual(self.sparks, [("local[1]", {"spark.x": "y=z"})])

    def test_pattern(self) -> None:
        """Topics may be told by a pattern."""
        self.assertEqual(self.run_command("ingest", "--pattern", "^t", "--to", "DIR"), 0)
        self.assertEqual(self.options[0].selection, SubscribePattern("^t"))

    def test_usage(self) -> None:
        """What cannot be meant is exit code 2, before Spark is started."""
        for arguments, reason in (
            (["--to", "D"], "give --topic"),
            (["-t", "t"], "--to"),
            (["-t", "t", "--to", "D", "--pattern", "t"], "give --topic"),
            (["--pattern", "(", "--to", "D"], "not a regular expression"),
            (["-t", "t", "--to", "D", "--format", "orc"], "orc"),
            (["-t", "t", "--to", "D", "--max-records", "0"], "max-records"),
            (["-t", "t", "--to", "D", "--decoder-setting", "x"], "NAME=VALUE"),
            (["-t", "t", "--to", "D", "--spark-conf", "x"], "NAME=VALUE"),
        ):
            self.use_streams()
            self.assertEqual(self.run_command("ingest", *arguments), 2, arguments)
            self.assertIn(reason, self.err.text())
        self.assertEqual(self.sparks, [])

    def test_mistakes(self) -> None:
        """What turns out to be wrong is exit code 1 and one line, before Spark is started, too."""
        for arguments, reason in (
            (["--decode", "jsn"], "did you mean json"),
            (["--decode", "avro"], "needs avro.schema"),
            (["--decode", "json", "--schema", "a NONSENSE"], "there is no type 'nonsense'"),
            (["--schema", "a INT"], "choose a decoder"),
            (["--partition-by", "date,date"], "named twice"),
            (["-t", "nope"], "nope"),
        ):
            self.use_streams()
            self.ingest(*arguments, code=1)
            self.assertIn(reason, self.err.text())
            self.assertEqual(len(self.err.text().splitlines()), 1)
        self.assertEqual((self.sparks, self.logs()), ([], []))

    def test_not_installed(self) -> None:
        """Without PySpark or Java a line says what to install."""

        def missing(*arguments: Any) -> None:
            raise SettingError("this needs pyspark, which is not installed: pip install 'kafkatx[spark]'")

        for name in ("check_pyspark", "check_java"):
            self.use_streams()
            patched = self.patch(session, name, missing)
            self.ingest(code=1)
            self.assertEqual(
                self.err.text(),
                "kafkatx: this needs pyspark, which is not installed: pip install 'kafkatx[spark]'\n",
            )
            patched.restore()


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
        """If there is nothing to do it is said so, and that is no error."""
        self.ingest_does(lambda tell, stop: Report(partitions=[PartitionReport("t", 0, 5, 5, 0)]))
        self.assertEqual(self.ingest(), "t\t0\t5\t5\t0\n")
        self.assertIn("nothing new: DIR has all records\n", self.err.text())


class StopTests(IngestCase):
    def stopped_by(self, number: int, times: int = 1) -> None:
        """Let a signal come while the ingestion runs."""

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
        """What was to be loaded at once may not all be there: exit code 130."""
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
        """What is said if the ingestion fails; one line, and exit code 1."""

        def code(tell: Callable[[Progress], None], stop: Event) -> Report:
            raise error

        self.use_streams()
        self.ingest_does(code)
        self.assertEqual(self.ingest("-q", code=1), "")
        self.assertEqual(self.err.text().count("\n"), 1)
        return self.err.text()

    def test_log_is_kept(self) -> None:
        """If Spark has to do with it the message names the file with its output."""
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
        """What a killed command has left of Spark goes with the next start; a log that was kept stays."""
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
        """Where nobody sees a bar, what follows a topic tells of each commit."""
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
        """What is drawn is what is done of what there is to do by now."""
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
        self.assertEqual(line, "5 rows, 99 bytes in 1 files, 1 commits: DIR")
