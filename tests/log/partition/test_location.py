"""Tests of kafkatx.log.partition.location: failures reach the listener, until the log is abandoned."""

from __future__ import annotations

import errno

from twisted.internet.defer import execute
from twisted.logger import LogLevel, capturedLogs
from twisted.trial.unittest import SynchronousTestCase

from kafkatx.log.files import Files
from kafkatx.log.partition.location import LogLocation
from kafkatx.testing.contracts.partition_log import TP

ERROR = OSError(errno.EIO, "broken")


def fail() -> None:
    """Fail as a broken disk does."""
    raise ERROR


class LocationTests(SynchronousTestCase):
    def setUp(self) -> None:
        """Make a location that keeps what it was told."""
        self.told: list[tuple[OSError, str]] = []
        self.location = LogLocation(TP, "/a/t-0", Files(), execute, self.listen)

    def listen(self, error: OSError, doing: str) -> None:
        """Keep a failure."""
        self.told.append((error, doing))

    def test_reporting(self) -> None:
        """An OSError of the block is reported with what was done, and propagates; others are not."""
        with self.assertRaises(OSError), self.location.reporting("cutting"):
            fail()
        with self.assertRaises(ValueError), self.location.reporting("cutting"):
            raise ValueError
        self.assertEqual(self.told, [(ERROR, f"cutting {TP}")])

    def test_run(self) -> None:
        """A failure in the worker is logged and reported; a bug is logged with its traceback."""
        with capturedLogs() as events:
            self.location.run(fail, "flushing")
        self.assertEqual([event["log_level"] for event in events], [LogLevel.warn])
        self.assertEqual(self.told, [(ERROR, f"flushing {TP}")])
        self.location.run(lambda: [][0], "flushing")
        self.assertEqual(len(self.flushLoggedErrors(IndexError)), 1)
        self.assertEqual(len(self.told), 1)

    def test_abandon(self) -> None:
        """Nothing is told of a log that was deleted."""
        self.location.abandon()
        with capturedLogs() as events:
            self.location.report(ERROR, "flushing")
            self.location.run(fail, "flushing")
        self.assertEqual((self.told, events), ([], []))

    def test_move(self) -> None:
        """After a move the other log dir is told, and its worker works."""
        told: list[str] = []
        self.location.move_to("/b/t-0", execute, lambda error, doing: told.append(doing))
        self.location.report(ERROR, "flushing")
        self.assertEqual((self.location.directory, told, self.told), ("/b/t-0", [f"flushing {TP}"], []))
