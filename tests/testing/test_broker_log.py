"""The log lines that are kept of an embedded broker."""

from __future__ import annotations

from twisted.logger import Logger, LogLevel
from twisted.trial.unittest import SynchronousTestCase

from kafkatx.testing.broker_log import MAX_LINES, BrokerLog, ThreadLogObserver


class BrokerLogTests(SynchronousTestCase):
    def setUp(self) -> None:
        """Make a log of three lines."""
        self.log = BrokerLog()
        self.log.append("one\ntwo\n")
        self.log.append("three")

    def test_since(self) -> None:
        """The text starts behind the lines that were there at a count."""
        self.assertEqual((self.log.count, self.log.text()), (3, "one\ntwo\nthree\n"))
        self.assertEqual((self.log.text(2), self.log.text(3)), ("three\n", ""))

    def test_tail(self) -> None:
        """The tail has the last lines, or all there are."""
        self.assertEqual((self.log.tail(2), self.log.tail(9)), ("two\nthree\n", "one\ntwo\nthree\n"))

    def test_bounded(self) -> None:
        """Old lines are dropped, and counts still mean the same."""
        for number in range(MAX_LINES):
            self.log.append(str(number))
        self.assertEqual(len(self.log.text().splitlines()), MAX_LINES)
        self.assertEqual(self.log.text().partition("\n")[0], "0")
        self.assertEqual(self.log.text(MAX_LINES + 2), f"{MAX_LINES - 1}\n")

    def test_keep_all(self) -> None:
        """A log that is to keep everything drops nothing."""
        self.log.keep_all()
        for number in range(MAX_LINES):
            self.log.append(str(number))
        self.assertEqual(len(self.log.text().splitlines()), MAX_LINES + 3)


class ThreadLogObserverTests(SynchronousTestCase):
    def kept(self, namespace: str, level: LogLevel = LogLevel.info, in_thread: bool = False) -> bool:
        """Return True if an event is kept."""
        log = BrokerLog()
        observer = ThreadLogObserver(log, lambda: in_thread)
        Logger(namespace, observer=observer).emit(level, "hello {name}", name="you")
        self.assertIn(log.text().rpartition("hello ")[2], ("you\n", ""))
        return "hello" in log.text()

    def test_whose(self) -> None:
        """Events of the broker's thread are kept, and events of its packages from any thread; no others."""
        for namespace, in_thread, kept in (
            ("twisted.internet", True, True),
            ("kafkatx.log.store", False, True),
            ("kafkatx.client.producer", False, False),
            ("kafkatx.networkclient", False, False),
            ("twisted.internet", False, False),
        ):
            self.assertIs(self.kept(namespace, in_thread=in_thread), kept, namespace)

    def test_levels(self) -> None:
        """Debug events, one for each request, are not kept."""
        self.assertFalse(self.kept("kafkatx.broker", LogLevel.debug))
        self.assertTrue(self.kept("kafkatx.broker", LogLevel.error))
