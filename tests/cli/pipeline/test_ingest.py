"""Tests of kafkatx.cli.pipeline.ingest and ingesting: Spark and the ingestion itself are not there."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Event
from typing import Any

import kafkatx.spark.ingest as ingest_package
from kafkatx.errors import SettingError
from kafkatx.spark import session
from kafkatx.spark.ingest import (
    IngestOptions,
    PartitionReport,
    Progress,
    Report,
    checks,
)
from kafkatx.spark.options.options import Subscribe, SubscribePattern
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
        self.patch(checks, "connect", lambda client: FakeCluster({"t": [(0, 5)]}))
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
        """Replace the ingestion by *code*."""

        def ingest(spark: Any, options: IngestOptions, on_progress: Any, stop: Event) -> Report:
            self.options.append(options)
            return code(on_progress, stop)

        self.patch(ingest_package, "ingest", ingest)

    def ingest(self, *arguments: str, code: int = 0) -> str:
        """Return the output of the command, which must end with *code*."""
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
        self.patch(checks, "connect", lambda client: FakeCluster({"t": [(0, 5)], "u": [(0, 5)]}))
        text = (
            "-t u -b h:1 --timeout 5 --format avro --compression none --partition-by date,country --follow "
            "--decode json --time-column at --commit-every 2.5 --max-records 9 --start latest --headers "
            "--isolation read_committed --skip-lost --master local[1] --spark-conf spark.x=y=z"
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
        client = options.client
        self.assertEqual((client.bootstrap, client.timeout_s, client.isolation_level), ("h:1", 5.0, 1))
        self.assertEqual(self.sparks, [("local[1]", {"spark.x": "y=z"})])

    def test_pattern(self) -> None:
        """Topics may be told by a pattern."""
        self.assertEqual(self.run_command("ingest", "--pattern", "^t", "--to", "DIR"), 0)
        self.assertEqual(self.options[0].selection, SubscribePattern("^t"))

    def test_usage(self) -> None:
        """A wrong command line is exit code 2, before Spark is started."""
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
        """Other mistakes are exit code 1 and one line, also before Spark is started."""
        for arguments, reason in (
            (["--decode", "jsn"], "did you mean json"),
            (["--decode", "avro", "--decoder-setting", "avro.schema=@"], "avro.schema"),
            (["--decode", "avro", "--registry", "ftp://x"], "schema.registry.url"),
            (["--decode", "protobuf", "--decoder-setting", "x=1"], "x: decoder protobuf"),
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
