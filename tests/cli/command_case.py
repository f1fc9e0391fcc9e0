"""Commands run in this process, with their streams in memory, against a cluster in memory."""

from __future__ import annotations

import io
import sys
from typing import Any

from twisted.trial.unittest import SynchronousTestCase

from kafkatx.cli import main
from kafkatx.cli.cluster import cluster, logdirs, offsets, records, status, topics
from kafkatx.cli.messages import consume, produce
from tests.blocking.fakes import FakeCluster, Log


class Terminal(io.TextIOWrapper):
    """A text stream over bytes that can pretend to be a terminal."""

    def __init__(self, tty: bool = False) -> None:
        super().__init__(io.BytesIO(), encoding="utf-8", write_through=True)
        self.tty = tty

    def isatty(self) -> bool:
        """Return the value given at its creation."""
        return self.tty

    def text(self) -> str:
        """All that was written."""
        buffer: Any = self.buffer
        return str(buffer.getvalue().decode())


class CommandCase(SynchronousTestCase):
    """Runs commands against a cluster in memory."""

    def setUp(self) -> None:
        """Two topics, and stdout and stderr in memory."""
        self.fake = FakeCluster({"t": [Log(), Log()], "__internal": [Log()]})
        for module in (topics, produce, consume, cluster, offsets, records, logdirs, status):
            self.patch(module, "connect", lambda bootstrap, timeout: self.fake.client())
        self.use_streams()

    def use_streams(self, tty: bool = False) -> None:
        """Make stdout and stderr new, as terminals or not."""
        self.out, self.err = Terminal(tty), Terminal(tty)
        self.patch(sys, "stdout", self.out)
        self.patch(sys, "stderr", self.err)

    def run_command(self, *arguments: str) -> int:
        """The exit code of a command line."""
        return main.main(arguments)
