"""Power cuts in small: a few of the rounds that ``make faults`` makes in thousands."""

from __future__ import annotations

from twisted.trial.unittest import SynchronousTestCase

from tests.broker.power import run_rounds

ROUNDS = 60


class PowerCutTests(SynchronousTestCase):
    """The disk has what was promised, whenever the power goes."""

    def test_rounds(self) -> None:
        """What was acknowledged after a flush is there; without one, what is left is a prefix."""
        run_rounds(self, range(ROUNDS))
