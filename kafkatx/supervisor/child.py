"""The process of one broker, as the supervisor sees it."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Any

from twisted.internet.error import ProcessDone, ProcessExitedAlready, ProcessTerminated
from twisted.internet.protocol import ProcessProtocol
from twisted.logger import Logger
from twisted.python.failure import Failure

from kafkatx.supervisor.status import MAX_LINE_BYTES, Order, Report

STATUS = 3
MODULE = "kafkatx.supervisor.broker_process"

_log = Logger()


class Child(ProcessProtocol):
    """One process, from its start to its end.

    :param reported: called with its report, at most once.
    :param ended: called with the reason of its end, for a person, once.
    :ivar pid: its id.
    """

    def __init__(
        self, order: Order, reported: Callable[[Report], None], ended: Callable[[str], None]
    ) -> None:
        self.pid = 0
        self._order = order
        self._reported = reported
        self._ended = ended
        self._text = b""

    def connectionMade(self) -> None:
        """Tell the process what to run. Its standard input stays open."""
        transport: Any = self.transport
        self.pid = transport.pid
        transport.write(self._order.line())

    def childDataReceived(self, childFD: int, data: bytes) -> None:
        """Take its report."""
        self._text += data
        line, newline, rest = self._text.partition(b"\n")
        if len(self._text) > MAX_LINE_BYTES:
            self._text = b""
        elif newline:
            self._text = rest
            try:
                report = Report.read(line)
            except ValueError as error:
                _log.error("broker {name}: {error}", name=self._order.name, error=error)
            else:
                self._reported(report)

    def processEnded(self, reason: Failure) -> None:
        """Tell how it ended."""
        self._ended(how_ended(reason))

    def signal(self, number: signal.Signals) -> None:
        """Send a signal, unless the process has ended."""
        transport: Any = self.transport
        if transport is not None:
            with suppress(ProcessExitedAlready):
                transport.signalProcess(int(number))


def spawn(reactor: Any, child: Child, environment: Mapping[str, str] = os.environ) -> None:
    """Start a broker's process. It has this one's standard output and standard error.

    :raises OSError: the system starts no more processes.
    """
    own = {name: value for name, value in environment.items() if name != "NOTIFY_SOCKET"}
    files = {0: "w", 1: 1, 2: 2, STATUS: "r"}
    reactor.spawnProcess(child, sys.executable, [sys.executable, "-m", MODULE], own, None, childFDs=files)


def how_ended(reason: Failure) -> str:
    """Return how a process ended, for a person."""
    error = reason.value
    if isinstance(error, ProcessDone):
        return "status 0"
    if isinstance(error, ProcessTerminated):
        if error.signal is not None:
            return f"signal {error.signal} ({signal.Signals(error.signal).name})"
        return f"status {error.exitCode}"
    return str(error)
