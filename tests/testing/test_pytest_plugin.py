"""The fixture that pytest has where kafkatx is installed."""

from __future__ import annotations

import os
import subprocess
import sys

from twisted.trial.unittest import SynchronousTestCase

EXAMPLE = """
import socket


def test_one(kafkatx_broker):
    host, _, port = kafkatx_broker.bootstrap.rpartition(":")
    socket.create_connection((host, int(port))).close()
    test_one.bootstrap = kafkatx_broker.bootstrap


def test_same_broker(kafkatx_broker):
    assert kafkatx_broker.bootstrap == test_one.bootstrap
"""


class FixtureTests(SynchronousTestCase):
    def test_fixture(self) -> None:
        """A test that names kafkatx_broker gets a running broker, one for the whole session."""
        directory = os.path.abspath(self.mktemp())
        os.makedirs(directory)
        with open(os.path.join(directory, "test_example.py"), "w") as file:
            file.write(EXAMPLE)
        command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider"]
        done = subprocess.run(command, cwd=directory, capture_output=True, text=True, timeout=60)
        self.assertIn("2 passed", done.stdout, done.stdout + done.stderr)
