"""``python -m kafkatx.demo`` as ``make demo`` calls it, and what it counts."""

from __future__ import annotations

import gzip
import os
import subprocess
import sys
from datetime import datetime, timezone
from pathlib import Path

from twisted.trial.unittest import SynchronousTestCase

from kafkatx.demo.facts import Facts, count_facts, line_time
from tests.integration.access_log import ROOT, small_log
from tests.integration.spark import shared_spark

TIMEOUT_S = 300.0


class DemoCase(SynchronousTestCase):
    """Runs the demonstration in a folder of its own."""

    def setUp(self) -> None:
        """A folder for the test's files."""
        self.folder = Path(self.mktemp()).resolve()
        self.folder.mkdir(parents=True)

    def run_demo(
        self, *arguments: str, data: bytes = b"", **environment: str
    ) -> subprocess.CompletedProcess[str]:
        """Run it as a user does, without a terminal."""
        return subprocess.run(
            [sys.executable, "-m", "kafkatx.demo", *arguments],
            input=data.decode(errors="surrogateescape"),
            errors="surrogateescape",
            capture_output=True,
            timeout=TIMEOUT_S,
            cwd=ROOT,
            env={**os.environ, "PYTHONPATH": str(ROOT), "PYTHONIOENCODING": "utf-8", **environment},
        )

    def file(self, data: bytes) -> str:
        """A file with these bytes."""
        path = self.folder / "input"
        path.write_bytes(data)
        return str(path)


class DemoTests(DemoCase):
    def test_access_log(self) -> None:
        """A log goes through to Parquet though a broker is killed, and its facts are printed and drawn.

        Nothing else is printed: no noise of Spark's.
        """
        data, facts = small_log()
        parquet = str(self.folder / "parquet")
        done = self.run_demo(self.file(data), "--to", parquet)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        squeezed = " ".join(done.stdout.replace("│", " ").split())
        client, lines = facts.busiest_clients[0]
        hour, most = facts.busiest_hour
        for expected in (
            "cluster 3 brokers at 127.0.0.1:",
            "a leader, after 100 lines (kill -9); the next were acknowledged",
            "produced 200 lines of",
            "consumed 200 lines by group 'readers': every one, and each once",
            f"the table, in Parquet: {parquet}",
            f"its plot: {parquet}/_lines-per-hour.png",
            "ingested 200 rows with PySpark into Parquet in",
            f"rows 200 distinct keys {facts.clients} {client}: {lines}",
            "lines with a time 200",
            f"busiest hour (UTC) {hour:%Y-%m-%d %H:00}, {most} lines",
            f"{hour:%Y-%m-%d %H:00} {most} ████",
        ):
            self.assertIn(expected, squeezed)
        self.assertNotIn("/console/#", done.stdout, "the cluster has ended")
        self.assertEqual(shared_spark().read.parquet(parquet).count(), 200)

    def test_mistakes(self) -> None:
        """A user's mistake ends it with 1 and one line, before anything is started."""
        packed = self.file(gzip.compress(b"line\n"))
        java_home = os.environ.get("JAVA_HOME", "")
        for arguments, home, said in (
            (["no/such.log"], java_home, "cannot read no/such.log: no such file or directory"),
            ([packed], java_home, "is compressed, and only plain text is read: unpack it with gunzip"),
            (["-", "--to", str(self.folder)], java_home, "is not empty"),
            (["-"], "/no/such/jdk", "PySpark needs Java 17 or newer"),
        ):
            done = self.run_demo(*arguments, JAVA_HOME=home)
            self.assertEqual((done.returncode, done.stdout), (1, ""), said)
            self.assertIn(said, done.stderr)
            self.assertEqual(done.stderr.count("\n"), 1, done.stderr)


class FactsTests(SynchronousTestCase):
    def facts(self, *lines: tuple[bytes | None, bytes]) -> Facts:
        """The facts of lines with keys."""
        table = shared_spark().createDataFrame(list(lines), "key binary, value binary")
        return count_facts(table)

    def test_nothing(self) -> None:
        """A table without rows counts as noughts."""
        self.assertEqual(self.facts(), Facts(0, 0, 0, 0))

    def test_counts(self) -> None:
        """Rows, keys and bytes are counted; a row without key is a row, but no key."""
        facts = self.facts((b"a", b"12345"), (b"b", b""), (b"b", b"\xff\xfe"), (None, b"6"))
        self.assertEqual(facts, Facts(4, 2, 8, 0, ((b"b", 2), (b"a", 1))))

    def test_times(self) -> None:
        """Times of all forms are found and told in UTC; what only looks like one is none."""
        expected = datetime(2015, 5, 17, 10, 5, 3, tzinfo=timezone.utc)
        cases = (
            (b'1.2.3.4 - - [17/May/2015:10:05:03 +0000] "GET /"', expected),
            (b"1.2.3.4 - - [17/May/2015:12:05:03 +0200] x", expected),
            (b"at 2015-05-17T10:05:03Z it", expected),
            (b"2015-05-17 10:05:03 no zone is UTC", expected),
            (b"2015-05-17T05:05:03-05:00", expected),
            (b"2015-05-17 12:05:03 +0200 git's iso", expected),
            (b"2015-05-17T10:05:03.000Z", expected),
            (b"Date: Sun May 17 12:05:03 2015 +0200", expected),
            (b"2015-05-17 10:05", expected.replace(second=0)),
            (b"2015-13-45T10:05:03Z", None),
            (b"[99/May/2015:10:05:03 +0000]", None),
            (b"no time at all", None),
            (b"\xff\xfe\x00", None),
        )
        table = shared_spark().createDataFrame([(line,) for line, _ in cases], "value binary")
        rows = table.select("value", line_time(table.value.cast("string")).cast("long").alias("s")).collect()
        found = {bytes(row.value): row.s for row in rows}
        self.assertEqual(found, {line: moment and int(moment.timestamp()) for line, moment in cases})
