"""Every command of README.md, run as a reader would: in order, in the repository, against a real broker.

How README.md marks its blocks:

*   ``sh``: commands of one terminal; each must exit with 0.
*   ``sh foreground``: a broker; it is stopped, as by Ctrl-C, when the next one starts and at the end.
*   ``python``: a program of its own.
*   ``text``: lines that the block before it prints.

Port 9092 becomes a free one, and the data go to the test's own folder. Two commands are left out:
``make test``, which runs this, and ``pip install .``, which ``tests.test_packaging`` runs.
"""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from twisted.trial.unittest import SynchronousTestCase

from tests.ports import free_port

ROOT = Path(__file__).resolve().parent.parent
_BLOCK = re.compile(r"^```(\w+)( foreground)?\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_LEFT_OUT = {"make test\n", "pip install .\n"}
_MINUTE_S = 60.0


class Block(NamedTuple):
    """One fenced block."""

    language: str
    foreground: bool
    text: str


def blocks(markdown: str) -> Iterator[Block]:
    """The fenced blocks of a page, in order."""
    for language, foreground, text in _BLOCK.findall(markdown):
        yield Block(language, bool(foreground), text)


class Broker:
    """A command that starts a broker and stays in the foreground, in a session of its own as a terminal's."""

    def __init__(
        self, command: str, environment: dict[str, str], output: Path, ready: str = "kafkatx is ready"
    ) -> None:
        """Start it and wait until it has printed *ready*: its port takes connections somewhat earlier."""
        self._output = output
        with output.open("wb") as stream:
            self._process = subprocess.Popen(
                ["bash", "-c", command],
                cwd=ROOT,
                env=environment,
                stdout=stream,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
        self._wait_for(ready)

    def _wait_for(self, text: str) -> None:
        deadline = time.monotonic() + _MINUTE_S
        while time.monotonic() < deadline and self._process.poll() is None:
            if text in self.output():
                return
            time.sleep(0.05)
        self.stop()
        raise AssertionError(f"the broker is not ready: {self.output()}")

    def output(self) -> str:
        """All that it has printed."""
        return self._output.read_text()

    def stop(self) -> int:
        """Press Ctrl-C: every process of the terminal gets SIGINT. Return the exit status."""
        if self._process.poll() is None:
            os.killpg(self._process.pid, signal.SIGINT)
        try:
            return self._process.wait(30)
        except subprocess.TimeoutExpired:
            os.killpg(self._process.pid, signal.SIGKILL)
            raise


class ReadmeTests(SynchronousTestCase):
    def setUp(self) -> None:
        """Choose a port and a folder for the broker's data."""
        self.folder = Path(self.mktemp()).resolve()
        self.folder.mkdir(parents=True)
        self.port = free_port()
        self.environment = {
            **os.environ,
            # each block has a shell of its own here: what the first one activates must hold for all
            "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
            "PORT": str(self.port),
            "DATA": str(self.folder / "data"),
            "KAFKATX_BOOTSTRAP": f"127.0.0.1:{self.port}",
        }
        self.brokers: list[Broker] = []
        self.addCleanup(lambda: [broker.stop() for broker in self.brokers])

    def test_every_command(self) -> None:
        """Each command succeeds and prints what README.md says it prints; each broker stops cleanly."""
        printed = ""
        for block in blocks((ROOT / "README.md").read_text()):
            if block.text in _LEFT_OUT:
                continue
            if block.language == "text":
                self.assertIn(block.text, printed)
            elif block.foreground:
                self.start(block.text)
            else:
                printed = self.run_block(block)
        self.stop_broker()

    def adapted(self, text: str) -> str:
        """*text* with this test's port and folder in place of README.md's."""
        up = f"kafkatx up --port {self.port} --data {self.folder}/data"
        return text.replace("kafkatx up", up).replace("9092", str(self.port))

    def run_block(self, block: Block) -> str:
        """Run one block to its end; return its standard output."""
        text = self.adapted(block.text)
        command = ["bash", "-euo", "pipefail", "-c", text]
        if block.language == "python":
            command = [sys.executable, "-c", text]
        done = subprocess.run(
            command, cwd=ROOT, env=self.environment, capture_output=True, text=True, timeout=10 * _MINUTE_S
        )
        if done.returncode:
            raise AssertionError(f"exit status {done.returncode}\n{text}{done.stdout}{done.stderr}")
        return done.stdout

    def start(self, text: str) -> None:
        """Start the broker of a block, after stopping the one before it."""
        self.stop_broker()
        output = self.folder / f"broker-{len(self.brokers)}.txt"
        self.brokers.append(Broker(self.adapted(text), self.environment, output))

    def stop_broker(self) -> None:
        """Stop the latest broker; it leaves the marker of a clean shutdown."""
        if self.brokers:
            status = self.brokers[-1].stop()
            # make itself dies of SIGINT, as its manual says, after the broker has ended.
            self.assertIn(status, (0, 130, -signal.SIGINT), self.brokers[-1].output())
            self.assertTrue((self.folder / "data/.kafka_cleanshutdown").exists(), self.brokers[-1].output())


class BlockTests(SynchronousTestCase):
    def test_readme_is_not_empty(self) -> None:
        """The blocks are found: the test above cannot pass by running nothing."""
        found = list(blocks((ROOT / "README.md").read_text()))
        self.assertEqual(len([block for block in found if block.foreground]), 2)
        self.assertGreater(len([block for block in found if block.language == "sh"]), 4)
        self.assertGreater(len([block for block in found if block.language == "python"]), 1)
