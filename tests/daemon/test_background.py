"""A daemon and the process that waits for it. With a real broker: tests.integration.test_cli_up."""

from __future__ import annotations

import os
import subprocess
import sys

from twisted.trial.unittest import SynchronousTestCase

from kafkatx.daemon.background import Outcome, Report, receive

DETACH = """
import os, sys
from kafkatx.daemon.background import Outcome, detach

def work(report):
    print("in the log", os.getsid(0) != int(sys.argv[2]), flush=True)
    {work}
    return 0

outcome = detach(sys.argv[1], work)
print(outcome.ready, outcome.text)
"""


class ReportTests(SynchronousTestCase):
    def setUp(self) -> None:
        """Make a pipe."""
        self.reading, self.writing = os.pipe()

    def test_first_counts(self) -> None:
        """The first report is received, whatever characters it has; a second one is dropped."""
        report = Report(self.writing)
        report.send(Outcome(False, "log.dirs=ü: no"))
        report.send(Outcome(True, "yes"))
        self.assertEqual(receive(self.reading), Outcome(False, "log.dirs=ü: no"))

    def test_silent_end(self) -> None:
        """A daemon that ends without a report was not ready."""
        os.close(self.writing)
        self.assertEqual(receive(self.reading), Outcome(False, ""))

    def test_nobody_waits(self) -> None:
        """A report after the first process has ended raises nothing."""
        os.close(self.reading)
        Report(self.writing).send(Outcome(True, "ready"))


class DetachTests(SynchronousTestCase):
    def check(self, work: str, expected: str) -> None:
        """The first process prints what the daemon reported; the daemon's output is in the log file."""
        log_file = self.mktemp()
        command = [sys.executable, "-c", DETACH.format(work=work), log_file, str(os.getsid(0))]
        done = subprocess.run(command, capture_output=True, text=True, timeout=30)
        self.assertEqual((done.returncode, done.stdout, done.stderr), (0, expected, ""))
        with open(log_file) as file:
            self.assertEqual(file.read(), "in the log True\n")
        self.assertEqual(os.stat(log_file).st_mode & 0o777, 0o600)

    def test_ready(self) -> None:
        """The daemon has a session of its own, and reports that it is ready."""
        self.check("report.send(Outcome(True, 'ready'))", "True ready\n")

    def test_killed(self) -> None:
        """A daemon that is killed is noticed."""
        self.check("os.kill(os.getpid(), 9)", "False \n")
