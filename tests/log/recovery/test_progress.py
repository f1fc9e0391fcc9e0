"""Telling how far the opening of a log dir has come."""

from __future__ import annotations

from twisted.internet.task import Clock
from twisted.logger import capturedLogs, formatEvent
from twisted.trial.unittest import SynchronousTestCase

from kafkatx.log.recovery.progress import LOOK_EVERY_BYTES, SAY_EVERY_S, Progress
from kafkatx.types import TopicPartition


class ProgressTests(SynchronousTestCase):
    def setUp(self) -> None:
        """Make a progress of two logs."""
        self.clock = Clock()
        self.progress = Progress("/logs", 2, self.clock.seconds)

    def test_long(self) -> None:
        """A long read is logged every few seconds."""
        with capturedLogs() as events:
            for _ in range(4):
                self.clock.advance(SAY_EVERY_S / 2)
                self.progress.read(LOOK_EVERY_BYTES)
        said = [formatEvent(event) for event in events]
        expected = "/logs: 0 of 2 logs are open, {} MiB were checked"
        self.assertEqual(said, [expected.format(32), expected.format(64)])

    def test_partition(self) -> None:
        """A long recovery of one partition is logged while it goes on, and when it is done."""
        with capturedLogs() as events:
            self.progress.opening(TopicPartition("t", 0))
            self.progress.read(LOOK_EVERY_BYTES)
            self.progress.opened()
            self.progress.opening(TopicPartition("t", 1))
            self.clock.advance(SAY_EVERY_S)
            self.progress.read(2 * LOOK_EVERY_BYTES)
            self.progress.opened()
        self.assertEqual(
            [formatEvent(event) for event in events],
            [
                "/logs: 1 of 2 logs are open, 48 MiB were checked; the next is t-1, 32 MiB of it so far",
                "/logs: the log of t-1 is open after 5.0 s, 32 MiB of it were checked",
            ],
        )

    def test_many(self) -> None:
        """Many small logs are logged, too, but not the last one."""
        with capturedLogs() as events:
            for _ in range(2):
                self.clock.advance(SAY_EVERY_S)
                self.progress.opened()
        self.assertEqual(len(events), 1)

    def test_finished(self) -> None:
        """The end of a long recovery is logged with its duration."""
        self.progress.read(LOOK_EVERY_BYTES)
        self.clock.advance(SAY_EVERY_S)
        with capturedLogs() as events:
            self.progress.finished()
        self.assertEqual(
            [formatEvent(event) for event in events],
            [f"/logs: all 2 logs are open after {SAY_EVERY_S} s, {LOOK_EVERY_BYTES >> 20} MiB were checked"],
        )

    def test_short(self) -> None:
        """A short recovery is not logged."""
        with capturedLogs() as events:
            self.progress.read(LOOK_EVERY_BYTES * 100)
            self.progress.opened()
            self.progress.finished()
        self.assertEqual(events, [])
