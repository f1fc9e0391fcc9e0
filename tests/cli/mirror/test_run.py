"""Tests of ``kafkatx mirror run``: options, output and exit codes; the mirror itself is replaced."""

from __future__ import annotations

import json

from click.testing import CliRunner, Result
from twisted.trial.unittest import SynchronousTestCase

from kafkatx.cli.root import kafkatx
from kafkatx.daemon import log_output
from kafkatx.errors import KafkaTXError, SettingError
from kafkatx.mirror import process
from kafkatx.mirror.core.status import Totals
from kafkatx.mirror.process import Outcome
from kafkatx.mirror.settings import MirrorSettings

TOTALS = Totals(2, 2, 0, 10, 1000, 0, 0, 0, 0)
SETTINGS = "sources=dc1\nsource.dc1.bootstrap.servers=a:1\ntarget.bootstrap.servers=b:2\n"


class RunTests(SynchronousTestCase):
    def setUp(self) -> None:
        """Write a settings file, and replace the process."""
        self.path = self.mktemp()
        with open(self.path, "w") as file:
            file.write(SETTINGS)
        self.outcome = Outcome(TOTALS, [])
        self.ran: list[tuple[MirrorSettings, bool]] = []
        self.levels: list[tuple[str, str]] = []
        self.patch(process, "run", self.run_process)
        self.patch(log_output, "begin", lambda level, form: self.levels.append((level, form)))

    def run_process(self, settings: MirrorSettings, until_end: bool) -> Outcome:
        """Keep the arguments."""
        self.ran.append((settings, until_end))
        return self.outcome

    def invoke(self, *options: str) -> Result:
        """Run the command."""
        return CliRunner().invoke(
            kafkatx, ["mirror", "run", "--config", self.path, *options], standalone_mode=False
        )

    def test_runs(self) -> None:
        """The file is read, settings of the command line go before it, and the end is told."""
        done = self.invoke("--set", "rename={topic}")
        self.assertEqual(done.return_value, 0, done.exception)
        ((settings, until_end),) = self.ran
        self.assertEqual((settings.sources[0].names.target("t"), until_end), ("t", False))
        self.assertIn("10 records (1000 bytes) copied", done.output)
        self.assertEqual(self.levels, [("info", "text")])

    def test_json(self) -> None:
        """With --json the counts are an object on standard output."""
        done = self.invoke("--json", "--exit", "--log-level", "warn", "--log-format", "json")
        self.assertTrue(self.ran[0][1])
        told = json.loads(done.output)
        self.assertEqual((told["records"], told["failed"], told["failures"]), (10, 0, []))
        self.assertEqual(self.levels, [("warn", "json")])

    def test_failed_partitions(self) -> None:
        """Failed partitions are told, and the exit code is 1."""
        self.outcome = Outcome(Totals(2, 1, 1, 10, 1000, 0, 0, 0, 0), ["t-0 is not copied: why"])
        done = self.invoke()
        self.assertEqual(done.return_value, 1)
        self.assertIn("kafkatx: t-0 is not copied: why", done.output)

    def test_no_start(self) -> None:
        """A mirror that could not start is an error."""
        self.outcome = Outcome(TOTALS, [], "no cluster")
        error = self.invoke().exception
        self.assertIsInstance(error, KafkaTXError)
        self.assertEqual(str(error), "no cluster")

    def test_wrong_settings(self) -> None:
        """Wrong settings are told before anything starts."""
        error = self.invoke("--set", "topic=x").exception
        self.assertIsInstance(error, SettingError)
        self.assertEqual(self.ran, [])
