"""The file of the samples."""

from __future__ import annotations

import os
from pathlib import Path

from twisted.internet.defer import execute
from twisted.internet.task import Clock
from twisted.logger import Logger, capturedLogs, formatEvent
from twisted.trial.unittest import SynchronousTestCase

from kafkatx.broker.history.history import History
from kafkatx.broker.sampling.history_file import HistoryFile
from kafkatx.net.limited_log import LimitedLog
from tests.broker.history.test_codec import filled, same


class HistoryFileTests(SynchronousTestCase):
    def setUp(self) -> None:
        """Make a folder for the file."""
        self.folder = Path(self.mktemp())
        self.folder.mkdir()
        self.path = self.folder / "kafkatx-history"
        self.file = HistoryFile(str(self.path), execute, LimitedLog(Logger(), Clock()))

    def read(self) -> History:
        """Read the file."""
        return self.successResultOf(self.file.read())

    def test_written(self) -> None:
        """The samples are there again; the file is for its owner alone, and no other is left."""
        history = filled(30)
        for _ in range(2):
            self.successResultOf(self.file.write(history))
        self.assertTrue(same(self.read(), history))
        self.assertEqual(os.listdir(self.folder), ["kafkatx-history"])
        self.assertEqual(self.path.stat().st_mode & 0o777, 0o600)

    def test_missing(self) -> None:
        """Without a file the samples begin, without a word."""
        with capturedLogs() as events:
            self.assertEqual(self.read().names(), [])
        self.assertEqual(list(events), [])

    def test_damaged(self) -> None:
        """A damaged file is told once in the log, and replaced."""
        self.path.write_bytes(b"x" * 100)
        with capturedLogs() as events:
            self.assertEqual(self.read().names(), [])
        (line,) = map(formatEvent, events)
        self.assertIn(f"begin anew: {self.path} cannot be used: it is no file of samples", line)
        self.successResultOf(self.file.write(filled(3)))
        self.assertTrue(self.read().names())

    def test_failing(self) -> None:
        """A write that fails leaves the old file, and is told."""
        self.successResultOf(self.file.write(filled(3)))
        before = self.path.read_bytes()
        (self.folder / "kafkatx-history.new").mkdir()
        with capturedLogs() as events:
            self.successResultOf(self.file.write(filled(30)))
        self.assertIn("cannot be written", formatEvent(events[0]))
        self.assertEqual(self.path.read_bytes(), before)
