"""The programs in ``docs/examples`` do what the pages say."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

from twisted.trial.unittest import SynchronousTestCase

from tests.ports import free_port
from tests.test_readme import ROOT, Broker

EXAMPLES = ROOT / "docs/examples"


class ExampleTests(SynchronousTestCase):
    def setUp(self) -> None:
        """Make a folder for the example's data."""
        self.folder = Path(self.mktemp()).resolve()
        self.folder.mkdir(parents=True)

    def run_python(self, *arguments: str) -> str:
        """Run this environment's Python in the test's folder; return what it printed."""
        environment = {**os.environ, "PYTHONPATH": str(ROOT)}
        done = subprocess.run(
            [sys.executable, *arguments],
            cwd=self.folder,
            env=environment,
            capture_output=True,
            text=True,
            timeout=120,
        )
        if done.returncode:
            raise AssertionError(done.stdout + done.stderr)
        return done.stdout

    def test_embedded_broker(self) -> None:
        """A program starts a broker in its own process and talks to it with kafka-python."""
        self.assertEqual(self.run_python(str(EXAMPLES / "embedded_broker.py")), "one\ntwo\nthree\n")

    def test_pytest_fixture(self) -> None:
        """pytest finds the fixture without any conftest, by the entry point of the distribution."""
        printed = self.run_python(
            "-m", "pytest", "-q", "-p", "no:cacheprovider", str(EXAMPLES / "test_fixture.py")
        )
        self.assertIn("1 passed", printed)

    def test_application(self) -> None:
        """A .tac file with a broker inside starts, serves and stops with its application."""
        port = free_port()
        text = (EXAMPLES / "application.tac").read_text()
        text = text.replace("9092", str(port)).replace('"data"', f'"{self.folder}/data"')
        (self.folder / "application.tac").write_text(text)
        twistd = f"exec '{sys.executable}' -c 'from twisted.scripts.twistd import run; run()'"
        command = f"{twistd} --pidfile= -ny '{self.folder}/application.tac'"
        environment = {**os.environ, "PYTHONPATH": str(ROOT)}
        ready = f"clients may connect to 127.0.0.1:{port}"
        broker = Broker(command, environment, self.folder / "output.txt", ready)
        self.addCleanup(broker.stop)
        self.assertIn(broker.stop(), (0, -signal.SIGINT))
        self.assertTrue((self.folder / "data/.kafka_cleanshutdown").exists(), broker.output())
