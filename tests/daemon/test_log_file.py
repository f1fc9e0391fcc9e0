"""The log file of a broker in the background."""

from __future__ import annotations

import os
import subprocess
import sys

from twisted.trial.unittest import SynchronousTestCase

ROTATE = """
import os, sys
from kafkatx.daemon.log_file import open_log_file, reopen_log_file

path = sys.argv[1]
open_log_file(path)
print("one", flush=True)
os.rename(path, path + ".1")
reopen_log_file(path)
print("two", flush=True)
print("three", file=sys.stderr, flush=True)
os.truncate(path, 0)  # logrotate's copytruncate
print("four", flush=True)
reopen_log_file("/nowhere/at/all")
print("five", flush=True)
"""


class LogFileTests(SynchronousTestCase):
    def test_rotation(self) -> None:
        """A renamed file keeps its lines, a new one begins; one that is cut goes on at its beginning."""
        path = self.mktemp()
        subprocess.run([sys.executable, "-c", ROTATE, path], check=True, timeout=30)
        for name, text in ((path + ".1", "one\n"), (path, "four\nfive\n")):
            with open(name) as file:
                self.assertEqual(file.read(), text)
            self.assertEqual(os.stat(name).st_mode & 0o777, 0o600)
