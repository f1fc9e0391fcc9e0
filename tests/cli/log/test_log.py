"""Tests of kafkatx.cli.log.log and kafkatx.cli.log.rows: what is printed, and the exit codes."""

from __future__ import annotations

import fcntl
import json
import os
import shutil
import subprocess
import sys

from twisted.trial.unittest import SynchronousTestCase

from kafkatx.cli import main
from kafkatx.types import SharedFile
from tests.cli.command_case import Terminal
from tests.log.inspect.shared import FIRST, LAST, LogCase


class CommandCase(LogCase):
    """Runs ``kafkatx log`` on a log dir; stdout and stderr in memory."""

    def setUp(self) -> None:
        """A clean log."""
        super().setUp()
        self.fill()
        self.use_streams()

    def use_streams(self, tty: bool = False) -> None:
        """Make stdout and stderr new, as terminals or not."""
        self.out, self.err = Terminal(tty), Terminal(tty)
        self.patch(sys, "stdout", self.out)
        self.patch(sys, "stderr", self.err)

    def run_log(self, *arguments: str) -> int:
        """The exit code of a command line."""
        self.use_streams()
        return main.main(["log", *arguments])


class DumpTests(CommandCase):
    def test_lines(self) -> None:
        """A line is the kind and what the row has, divided by tabs."""
        self.assertEqual(self.run_log("dump", self.file(FIRST), "--records", "--limit", "2"), 0)
        first, second = self.out.text().splitlines()
        self.assertEqual(first.split("\t")[0], "batch")
        self.assertIn("last_offset=1", first.split("\t"))
        self.assertIn("crc_ok=yes", first.split("\t"))
        expected = ["offset=0", "timestamp=1700000000000", "key=null", f'value="{"00" * 30}"']
        self.assertEqual(second.split("\t")[3:], expected)

    def test_json(self) -> None:
        """A line is an object; every kind of row can be one."""
        self.assertEqual(self.run_log("dump", self.path, "--json", "-r", "-i"), 0)
        rows = [json.loads(line) for line in self.out.text().splitlines()]
        kinds = {"batch", "epoch", "index", "offset", "producer", "property", "record", "timeindex"}
        self.assertEqual({row["kind"] for row in rows}, kinds)
        self.assertEqual(sum(row["kind"] == "record" for row in rows), 20)

    def test_offset_and_limit(self) -> None:
        """Rows from an offset on, and not more than so many."""
        self.run_log("dump", self.directory, "-o", "18", "--json")
        batches = [row for row in map(json.loads, self.out.text().splitlines()) if row["kind"] == "batch"]
        self.assertEqual([row["base_offset"] for row in batches], [18])
        self.run_log("dump", self.directory, "-l", "0")
        self.assertEqual(self.out.text(), "")


class VerifyTests(CommandCase):
    def test_sound(self) -> None:
        """A sound log prints nothing on stdout, a summary on stderr, and ends with 0."""
        self.assertEqual(self.run_log("verify", self.path), 0)
        self.assertEqual(self.out.text(), "")
        self.assertIn("1 partition, 3 segments, 10 batches, 20 records", self.err.text())
        self.assertIn(": no fault", self.err.text())

    def test_fault(self) -> None:
        """A fault is a line with file and byte, and exit code 1."""
        self.spoil(LAST, 137 + 70)
        self.assertEqual(self.run_log("verify", self.path), 1)
        (line,) = self.out.text().splitlines()
        self.assertTrue(line.startswith(f"{self.file(LAST)}:137: the checksum"), line)
        self.assertIn(": 1 fault", self.err.text())
        self.run_log("verify", self.path, "--json")
        fault = json.loads(self.out.text())
        self.assertEqual((fault["path"], fault["position"]), (self.file(LAST), 137))

    def test_in_use(self) -> None:
        """A broker that uses the dir is named; the data that it is writing is no fault."""
        self.write(LAST, self.read(LAST) + self.read(FIRST)[:20])
        with_lock = SharedFile(os.path.join(self.path, ".lock"), os.O_RDWR)
        fcntl.flock(with_lock.fileno(), fcntl.LOCK_EX)
        self.assertEqual(self.run_log("verify", self.path), 0)
        self.assertIn(f"in use by a broker (pid {os.getpid()})", self.err.text())
        self.assertIn("being written", self.err.text())
        self.assertEqual(self.run_log("repair", self.path, "--yes"), 1)
        self.assertIn("stop it before repairing", self.err.text())

    def test_no_log(self) -> None:
        """A directory that is not a log is one line and exit code 1; a missing one is wrong usage."""
        os.mkdir("empty")
        self.assertEqual(self.run_log("verify", "empty"), 1)
        self.assertEqual(len(self.err.text().splitlines()), 1)
        self.assertEqual(self.run_log("verify", "nowhere"), 2)

    def test_several_brokers(self) -> None:
        """The data directory of several brokers is checked broker by broker; a fault in one is the result."""
        for name in ("1", "2"):
            shutil.copytree(self.path, os.path.join("data", name))
        self.assertEqual(self.run_log("verify", "data"), 0)
        self.assertEqual(len(self.err.text().splitlines()), 2)
        path = os.path.join("data", "2", os.path.basename(self.directory), LAST)
        with open(path, "r+b") as file:
            file.seek(70)
            file.write(b"\xff")
        self.assertEqual(self.run_log("verify", "data"), 1)
        self.assertIn(path, self.out.text())
        self.assertEqual(self.run_log("repair", "data", "--yes"), 0)
        self.assertEqual(self.run_log("verify", "data"), 0)


class RepairTests(CommandCase):
    def test_only_with_yes(self) -> None:
        """Without --yes all is said and nothing done; with it, it is done."""
        self.spoil(LAST, 70)
        before = self.read(LAST)
        self.assertEqual(self.run_log("repair", self.path), 1)
        said = self.out.text()
        self.assertIn("the log will end at offset 16; 274 bytes go, and in them 1 whole batches", said)
        self.assertIn(f"keep the 274 bytes as {LAST}.cut-0", said)
        self.assertIn("give --yes", self.err.text())
        self.assertEqual(self.read(LAST), before)
        self.assertEqual(self.run_log("repair", self.path, "--yes"), 0)
        self.assertEqual(self.out.text(), said)
        self.assertEqual(self.read(f"{LAST}.cut-0"), before)
        self.assertEqual(self.run_log("verify", self.path), 0)
        self.assertEqual(self.run_log("repair", self.path), 0)

    def test_a_file(self) -> None:
        """A single file cannot be mended without its fellows."""
        self.assertEqual(self.run_log("repair", self.file(LAST)), 2)


class ImportTests(SynchronousTestCase):
    def test_without_twisted(self) -> None:
        """Neither dump nor verify imports Twisted: the command starts fast."""
        code = (
            "import sys, kafkatx.cli.log.log, kafkatx.cli.log.rows\n"
            "import kafkatx.log.inspect.dump, kafkatx.log.inspect.repair\n"
            "sys.exit('twisted' in sys.modules)"
        )
        self.assertEqual(subprocess.run([sys.executable, "-c", code], check=False).returncode, 0)
