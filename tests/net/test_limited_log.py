"""The rate limit on log lines that clients can cause: excess lines are counted, not written."""

from __future__ import annotations

from collections.abc import Sequence

from twisted.internet.task import Clock
from twisted.logger import LogEvent, Logger, LogLevel, capturedLogs, formatEvent
from twisted.trial.unittest import SynchronousTestCase

from kafkatx.net.limited_log import MOST_LINES, WINDOW_S, LimitedLog
from tests.net.fakes import ConnectionTestCase, PullTransport


def lines(events: Sequence[LogEvent]) -> list[str]:
    """Return the formatted lines."""
    return [formatEvent(event) for event in events]


class LimitedLogTests(SynchronousTestCase):
    def setUp(self) -> None:
        """Make a log."""
        self.clock = Clock()
        self.log = LimitedLog(Logger(), self.clock)

    def test_few_lines(self) -> None:
        """A few lines are written as they come, and no timer is left."""
        with capturedLogs() as events:
            for number in range(MOST_LINES):
                self.log.warn("{number} came", number=number)
        self.assertEqual(lines(events), [f"{number} came" for number in range(MOST_LINES)])
        self.assertEqual(self.clock.getDelayedCalls(), [])

    def test_many_lines(self) -> None:
        """The first of many lines are written; the number left out is logged when the window ends."""
        with capturedLogs() as events:
            for number in range(1000):
                self.log.warn("{number} came", number=number)
            self.assertEqual(len(events), MOST_LINES)
            self.clock.advance(WINDOW_S)
        self.assertEqual(
            lines(events)[-1], "990 more lines like this one were left out within 60 s: {number} came"
        )
        self.assertEqual(events[-1]["log_level"], LogLevel.warn)

    def test_next_window(self) -> None:
        """Lines are written again after the window, whether or not some were left out."""
        for many in (MOST_LINES, 1000):
            for _ in range(many):
                self.log.warn("again")
            self.clock.advance(WINDOW_S)
            with capturedLogs() as events:
                self.log.warn("again")
            self.assertEqual(lines(events), ["again"])
            self.clock.advance(WINDOW_S)

    def test_kinds(self) -> None:
        """One kind of line does not suppress another kind."""
        for _ in range(1000):
            self.log.warn("one")
        with capturedLogs() as events:
            self.log.warn("another")
        self.assertEqual(lines(events), ["another"])

    def test_failures(self) -> None:
        """Failures are logged with their traceback, and are limited too."""
        for _ in range(1000):
            try:
                raise ZeroDivisionError
            except ZeroDivisionError:
                self.log.failure("a bug")
        self.assertEqual(len(self.flushLoggedErrors(ZeroDivisionError)), MOST_LINES)


class DescriptorTests(ConnectionTestCase):
    def test_refused_before_files_run_out(self) -> None:
        """A connection that would leave no files for the logs is closed at once, with few log lines."""

        class Socket(PullTransport):
            def fileno(self) -> int:
                """Return the number of open files."""
                return descriptor

        self.factory.max_descriptors = 1000
        with capturedLogs() as events:
            for descriptor in (999, *[1000] * 50):
                transport = Socket()
                connection = self.factory.buildProtocol(transport.getPeer())
                assert connection is not None
                connection.makeConnection(transport)
                self.assertEqual(transport.disconnected, descriptor == 1000)
        self.assertEqual(len(events), MOST_LINES)
        self.assertIn("ulimit -n", lines(events)[0])

    def test_violations(self) -> None:
        """Invalid frames cause a limited number of log lines."""
        with capturedLogs() as events:
            for _ in range(100):
                connection, transport = self.connect()
                connection.dataReceived(b"\xff\xff\xff\xff")
                self.assertTrue(transport.disconnecting)
        self.assertEqual(len(events), MOST_LINES)
