"""Standard streams that were closed, or fail at the end. Processes: tests.integration.test_cli_streams."""

from __future__ import annotations

import json
import os
import subprocess
import sys

from twisted.trial.unittest import SynchronousTestCase

OPEN = """
import json, os, sys
for number in json.loads(sys.argv[1]):
    os.close(number)
from kafkatx.cli.process.streams import open_closed

closed = open_closed()
report = {"closed": closed, "next": os.open(os.devnull, os.O_RDONLY)}
calls = {"read": lambda: os.read(0, 1), "write": lambda: os.write(1, b"x"), "say": lambda: os.write(2, b"")}
for name, call in calls.items():
    try:
        call()
    except OSError as error:
        report[name] = error.errno
with open(sys.argv[2], "w") as file:
    json.dump(report, file)
"""

FLUSH = """
import os, sys
from kafkatx.cli.process.streams import flush

sys.stdout.write("x")
if sys.argv[1] == "full":
    os.dup2(os.open("/dev/full", os.O_WRONLY), 1)
elif sys.argv[1] == "gone":
    reading, writing = os.pipe()
    os.close(reading)
    os.dup2(writing, 1)
sys.exit(flush(int(sys.argv[2])))
"""


class OpenClosedTests(SynchronousTestCase):
    def opened(self, *closed: int) -> dict[str, object]:
        """Return what a process with these streams closed reports."""
        path = self.mktemp()
        subprocess.run(
            [sys.executable, "-c", OPEN, json.dumps(closed), path], check=True, stdin=subprocess.DEVNULL
        )
        with open(path) as file:
            report: dict[str, object] = json.load(file)
        return report

    def test_open(self) -> None:
        """Streams that are open stay as they are."""
        self.assertEqual(self.opened()["closed"], [])

    def test_closed(self) -> None:
        """Closed ones are taken, so that no file gets their numbers; reading and writing fail with EBADF."""
        report = self.opened(0, 1, 2)
        self.assertEqual(report["closed"], ["input", "output", "error"])
        self.assertEqual((report["read"], report["write"], "say" in report), (9, 9, False))
        self.assertEqual(report["next"], 3)


class FlushTests(SynchronousTestCase):
    def check(self, kind: str, code: int, expected: int) -> None:
        """The process ends with the code, and the interpreter has nothing to complain about."""
        environment = {name: value for name, value in os.environ.items() if name != "PYTHONUNBUFFERED"}
        command = [sys.executable, "-c", FLUSH, kind, str(code)]
        done = subprocess.run(command, env=environment, capture_output=True, text=True)
        self.assertEqual((done.returncode, done.stderr), (expected, ""))

    def test_fails(self) -> None:
        """Output that cannot be written makes a success a failure, and leaves other codes alone."""
        self.check("full", 0, 1)
        self.check("full", 130, 130)

    def test_reader_has_gone(self) -> None:
        """A reader that has gone wanted no more: that is a success."""
        self.check("gone", 0, 0)
