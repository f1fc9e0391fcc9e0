"""Telling how far the opening of a log dir has come."""

from __future__ import annotations

from twisted.internet.task import Clock
from twisted.logger import capturedLogs, formatEvent
from twisted.trial.unittest import SynchronousTestCase

from kafkatx.log.recovery.progress import LOOK_EVERY_BYTES, SAY_EVERY_S, Progress


class ProgressTests(SynchronousTestCase):
    def setUp(self) -> None:
        """Two logs are to be opened."""
        self.clock = Clock()
        self.progress = Progress("/logs", 2, self.clock.seconds)

    def test_long(self) -> None:
        """Reading that takes long is told of, every few seconds."""
        with capturedLogs() as events:
            for _ in range(4):
                self.clock.advance(SAY_EVERY_S / 2)
                self.progress.read(LOOK_EVERY_BYTES)
        said = [formatEvent(event) for event in events]
        expected = "/logs: 0 of 2 logs are open, {} MiB were checked"
        self.assertEqual(said, [expected.format(32), expected.format(64)])

    def test_many(self) -> None:
        """So are many small logs, but not the last: that the broker is ready comes next."""
        with capturedLogs() as events:
            for _ in range(2):
                self.clock.advance(SAY_EVERY_S)
                self.progress.opened()
        self.assertEqual(len(events), 1)

    def test_short(self) -> None:
        """What is done soon is not told of."""
        with capturedLogs() as events:
            self.progress.read(LOOK_EVERY_BYTES * 100)
            self.progress.opened()
        self.assertEqual(events, [])
