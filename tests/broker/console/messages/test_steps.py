"""The counts of searches; the steps themselves are tested with searches."""

from __future__ import annotations

from twisted.trial.unittest import SynchronousTestCase

from kafkatx.broker.console.messages.steps import Tally
from kafkatx.views.requests import StepResult


class TallyTests(SynchronousTestCase):
    def test_add(self) -> None:
        """Counts of steps are added; the first reason of a failed filter stays."""
        tally = Tally()
        tally.add(StepResult(5, scanned=3, matched=1, scanned_bytes=10))
        tally.add(StepResult(9, scanned=4, matched=2, scanned_bytes=20, faults=1, first_fault="a"))
        tally.add(StepResult(9, faults=1, first_fault="b"))
        shown = tally.shown()
        self.assertEqual((shown["scannedRecords"], shown["scannedBytes"], shown["matched"]), (7, "30", 3))
        self.assertEqual((shown["filterFaults"], shown["firstFilterFault"]), (2, "a"))
