"""Tests of kafkatx.cli.output.progress."""

from __future__ import annotations

import sys

from twisted.trial.unittest import SynchronousTestCase

from kafkatx.cli.output import progress
from tests.cli.command_case import Terminal


class ProgressBarTests(SynchronousTestCase):
    def setUp(self) -> None:
        """A clock, and stderr in memory."""
        self.now = 0.0
        self.err = Terminal(tty=True)
        self.patch(sys, "stderr", self.err)

    def bar(self, enabled: bool | None = None) -> progress.ProgressBar:
        """A bar of 100 steps."""
        return progress.ProgressBar("work", 100, clock=lambda: self.now, enabled=enabled)

    def test_short_work(self) -> None:
        """Work that is done at once shows nothing."""
        with self.bar() as bar:
            bar.advance(100)
        self.assertEqual(self.err.text(), "")

    def test_long_work(self) -> None:
        """Work that lasts shows how far it is."""
        with self.bar() as bar:
            for _ in range(4):
                self.now += 0.3
                bar.advance(25)
            self.assertIn("work", self.err.text())
            self.assertIn("75/100", self.err.text())

    def test_not_a_terminal(self) -> None:
        """Nothing is drawn if stderr is not a terminal."""
        self.err.tty = False
        with self.bar() as bar:
            self.now = 10
            bar.advance(50)
        self.assertEqual(self.err.text(), "")
