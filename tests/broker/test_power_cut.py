"""Power cuts: a few of the rounds that ``make faults`` runs in thousands."""

from __future__ import annotations

from twisted.trial.unittest import SynchronousTestCase

from tests.broker.power import run_rounds

ROUNDS = 60


class PowerCutTests(SynchronousTestCase):
    """Guarantees of a broker at a power cut at any moment."""

    def test_rounds(self) -> None:
        """Records acknowledged after a flush survive; without a flush a prefix survives."""
        run_rounds(self, range(ROUNDS))
