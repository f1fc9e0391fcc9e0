"""``python -m kafkatx.demo.pipeline`` as ``make demo-pipeline`` calls it: everything, in small."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from twisted.trial.unittest import SynchronousTestCase

from tests.integration.access_log import ROOT

TIMEOUT_S = 400.0


class PipelineDemoCase(SynchronousTestCase):
    """Runs the demonstration in a folder of its own."""

    def setUp(self) -> None:
        """A folder for the test's files, and one for temporary files."""
        self.folder = Path(self.mktemp()).resolve()
        self.temporary = self.folder / "temporary"
        self.temporary.mkdir(parents=True)

    def run_demo(self, *arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
        """Run it as a user does, without a terminal."""
        return subprocess.run(
            [sys.executable, "-m", "kafkatx.demo.pipeline", "--window", "2", *arguments],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=TIMEOUT_S,
            cwd=ROOT,
            env={
                **os.environ,
                "PYTHONPATH": os.pathsep.join(filter(None, [str(ROOT), *sys.path])),
                "PYTHONIOENCODING": "utf-8",
                "COLUMNS": "200",
                "TMPDIR": str(self.temporary),
                **environment,
            },
        )


class PipelineDemoTests(PipelineDemoCase):
    def test_dropped_message(self) -> None:
        """A message that the mirror's filter drops is told with tier, topic and window; the status is 1."""
        done = self.run_demo("--drop", "--events", "400")
        self.assertEqual(done.returncode, 1, done.stdout + done.stderr)
        rows = [line.split("\t") for line in done.stdout.splitlines() if "\t" in line]
        wrong = [row for row in rows if row[-1] == "wrong" and row[5:7] != ["0", "0"]]
        self.assertEqual(len(wrong), 1, done.stdout + done.stderr)
        (found,) = wrong
        topic, window, tier, count, expected, missing, more, _ = found
        self.assertEqual((tier, missing, more), ("mirror:dc1-dc2", "1", "0"))
        self.assertEqual(int(count), int(expected) - 1)
        self.assertIn(
            f"{topic}: mirror:dc1-dc2 lacks 1 of the {expected} records of broker:dc1 in the window from "
            f"{window}",
            done.stderr,
        )
        self.assertIn("message 100 of front-1, on purpose", done.stdout)
        self.assertEqual(os.listdir(self.temporary), [])

    def test_mistakes(self) -> None:
        """A user's mistake ends it with 2 and one line, before anything is started."""
        for arguments, environment, said in (
            (["no/such.log"], {}, "cannot read no/such.log: no such file or directory"),
            (["--keep", str(self.folder)], {}, "file exists"),
            ([], {"JAVA_HOME": "/no/such/jdk"}, "PySpark needs Java 17 or newer"),
        ):
            done = self.run_demo(*arguments, **environment)
            self.assertEqual((done.returncode, done.stdout), (2, ""), said)
            self.assertIn(said, done.stderr)
            self.assertEqual(done.stderr.count("\n"), 1, done.stderr)
