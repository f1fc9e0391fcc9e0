"""Thousands of simulated power cuts; ``tests/broker/test_power_cut.py`` makes the first few."""

from __future__ import annotations

from twisted.trial.unittest import SynchronousTestCase

from tests.broker import test_power_cut
from tests.broker.power import run_rounds

ROUNDS = 8000


class ManyPowerCutTests(SynchronousTestCase):
    """The disk has what was promised, whenever the power goes."""

    def test_rounds(self) -> None:
        """Flushed records survive; without a flush the remaining records are a prefix."""
        run_rounds(self, range(test_power_cut.ROUNDS, ROUNDS))
