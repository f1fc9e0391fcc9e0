"""The contract of assignors for the built-in ones, and an assignor that breaks it."""

from __future__ import annotations

from typing import Any

from twisted.trial.unittest import SynchronousTestCase

from kafkatx.clientcore.group.assignors import COOPERATIVE_STICKY, RANGE, ROUND_ROBIN, STICKY, Assignor
from kafkatx.clientcore.group.assignors.range_roundrobin import ranges
from kafkatx.errors import KafkaTXError
from kafkatx.testing.contracts.assignor import AssignorContract


class RangeTests(AssignorContract, SynchronousTestCase):
    """``range``."""

    def make_assignor(self) -> Any:
        """Return the built-in assignor."""
        return RANGE


class RoundRobinTests(AssignorContract, SynchronousTestCase):
    """``roundrobin``."""

    def make_assignor(self) -> Any:
        """Return the built-in assignor."""
        return ROUND_ROBIN


class StickyTests(AssignorContract, SynchronousTestCase):
    """``sticky``."""

    def make_assignor(self) -> Any:
        """Return the built-in assignor."""
        return STICKY


class CooperativeStickyTests(AssignorContract, SynchronousTestCase):
    """``cooperative-sticky``."""

    def make_assignor(self) -> Any:
        """Return the built-in assignor."""
        return COOPERATIVE_STICKY


class HastyTests(AssignorContract, SynchronousTestCase):
    """An assignor that moves owned partitions in one step fails the contract."""

    def make_assignor(self) -> Any:
        """Return the range assignor, declared as cooperative."""
        return Assignor("hasty", ranges, cooperative=True)

    def test_comes_and_goes(self) -> None:
        """The contract's test finds an owned partition that goes to another member."""
        error = self.assertRaises(KafkaTXError, super().test_comes_and_goes)
        self.assertIn("still owns it", str(error))
