"""The process of one broker as its supervisor sees it: order, report, end."""

from __future__ import annotations

import signal
from typing import Any

from twisted.internet.error import ProcessDone, ProcessExitedAlready, ProcessTerminated
from twisted.python.failure import Failure
from twisted.trial.unittest import SynchronousTestCase

from kafkatx.supervisor import child as module
from kafkatx.supervisor.child import Child, how_ended, spawn
from kafkatx.supervisor.status import Order, Report

ORDER = Order("2", None, [("a", "b")], "info", "text", None, True)


class FakeTransport:
    """A process."""

    pid = 7

    def __init__(self) -> None:
        self.written = b""
        self.signals: list[int] = []
        self.over = False

    def write(self, data: bytes) -> None:
        """Keep what is written to standard input."""
        self.written += data

    def signalProcess(self, number: int) -> None:
        """Keep a signal."""
        if self.over:
            raise ProcessExitedAlready
        self.signals.append(number)


class ChildTests(SynchronousTestCase):
    def setUp(self) -> None:
        """Make a child."""
        self.reports: list[Report] = []
        self.ends: list[str] = []
        self.child = Child(ORDER, self.reports.append, self.ends.append)
        self.process: Any = FakeTransport()
        self.child.makeConnection(self.process)

    def test_order(self) -> None:
        """The process gets its order."""
        self.assertEqual((self.process.written, self.child.pid), (ORDER.line(), 7))

    def test_report(self) -> None:
        """A report may come in pieces."""
        line = Report(None, "a:1").line()
        self.child.childDataReceived(3, line[:5])
        self.assertEqual(self.reports, [])
        self.child.childDataReceived(3, line[5:])
        self.assertEqual(self.reports, [Report(None, "a:1")])

    def test_no_report(self) -> None:
        """Anything else is dropped, and does not heap up."""
        self.child.childDataReceived(3, b"nonsense\n")
        self.patch(module, "MAX_LINE_BYTES", 10)
        self.child.childDataReceived(3, b"x" * 11)
        self.assertEqual((self.reports, self.child._text), ([], b""))

    def test_signal(self) -> None:
        """A signal reaches a living process, and is no error for another."""
        self.child.signal(signal.SIGTERM)
        self.process.over = True
        self.child.signal(signal.SIGTERM)
        self.assertEqual(self.process.signals, [15])

    def test_end(self) -> None:
        """The end is told in words."""
        self.child.processEnded(Failure(ProcessTerminated(signal=9)))
        self.assertEqual(self.ends, ["signal 9 (SIGKILL)"])
        self.assertEqual(how_ended(Failure(ProcessTerminated(1))), "status 1")
        self.assertEqual(how_ended(Failure(ProcessDone(0))), "status 0")

    def test_environment(self) -> None:
        """A broker's process does not tell systemd that it is ready: the supervisor does."""
        made: list[tuple[Any, ...]] = []

        class Reactor:
            def spawnProcess(self, *arguments: Any, **options: Any) -> None:
                made.append(arguments)

        spawn(Reactor(), self.child, {"NOTIFY_SOCKET": "/x", "HOME": "/y"})
        self.assertEqual(made[0][3], {"HOME": "/y"})
