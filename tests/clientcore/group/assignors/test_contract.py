"""The contract of assignors, for the built-in ones; and what it is to find."""

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
        """The one that there is."""
        return RANGE


class RoundRobinTests(AssignorContract, SynchronousTestCase):
    """``roundrobin``."""

    def make_assignor(self) -> Any:
        """The one that there is."""
        return ROUND_ROBIN


class StickyTests(AssignorContract, SynchronousTestCase):
    """``sticky``."""

    def make_assignor(self) -> Any:
        """The one that there is."""
        return STICKY


class CooperativeStickyTests(AssignorContract, SynchronousTestCase):
    """``cooperative-sticky``."""

    def make_assignor(self) -> Any:
        """The one that there is."""
        return COOPERATIVE_STICKY


class HastyTests(AssignorContract, SynchronousTestCase):
    """One that hands partitions over in one step fails the contract."""

    def make_assignor(self) -> Any:
        """Ranges, said to be cooperative."""
        return Assignor("hasty", ranges, cooperative=True)

    def test_comes_and_goes(self) -> None:
        """A partition that a member still owns goes to another one."""
        error = self.assertRaises(KafkaTXError, super().test_comes_and_goes)
        self.assertIn("still owns it", str(error))
