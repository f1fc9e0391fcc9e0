"""Child processes of tests of the local tree."""

from __future__ import annotations

import signal
import sys
from contextlib import suppress
from typing import Any

from twisted.internet.defer import Deferred, DeferredQueue
from twisted.internet.error import ProcessExitedAlready
from twisted.internet.protocol import ProcessProtocol
from twisted.python.failure import Failure
from twisted.trial.unittest import TestCase

import kafkatx

ROOT = kafkatx.__path__[0].rpartition("/")[0]


def say(line: str) -> None:
    """Print a line, in a child process."""
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


class Child(ProcessProtocol):
    """A module of this folder as a process, and the lines that it prints.

    :ivar lines: each line of its standard output.
    :ivar ended: fires when it has ended.
    """

    def __init__(self, case: TestCase, reactor: Any, module: str, *arguments: str) -> None:
        self.lines: DeferredQueue[str] = DeferredQueue()
        self.ended: Deferred[None] = Deferred()
        self._text = b""
        command = [sys.executable, "-m", f"tests.metadata.tree.local.{module}", *arguments]
        self.process = reactor.spawnProcess(
            self, sys.executable, command, env=None, path=ROOT, childFDs={0: "w", 1: "r", 2: 2}
        )
        self.pid: int = self.process.pid
        case.addCleanup(self.end)

    def send(self, number: signal.Signals) -> None:
        """Send a signal."""
        self.process.signalProcess(int(number))

    def end(self) -> Deferred[None]:
        """Kill it, and wait for its end."""
        with suppress(ProcessExitedAlready):
            self.send(signal.SIGKILL)
        return self.ended

    def outReceived(self, data: bytes) -> None:
        """Take output."""
        *lines, self._text = (self._text + data).split(b"\n")
        for line in lines:
            self.lines.put(line.decode())

    def processEnded(self, reason: Failure) -> None:
        """Tell the end."""
        self.ended.callback(None)
