"""Tests of tests.measured: what was measured decides in one place only."""

from __future__ import annotations

from twisted.trial.unittest import SynchronousTestCase

from tests import measured


class CheckBelowTests(SynchronousTestCase):
    def test_decides(self) -> None:
        """In ``make attack`` a figure at its limit fails the test, one below it passes."""
        self.patch(measured, "DECIDES", True)
        measured.check_below(self, 1.9, 2.0, "seconds")
        self.assertRaises(self.failureException, measured.check_below, self, 2.0, 2.0, "seconds")

    def test_told(self) -> None:
        """Elsewhere it passes, whatever was measured."""
        self.patch(measured, "DECIDES", False)
        measured.check_below(self, 3.0, 2.0, "seconds")
