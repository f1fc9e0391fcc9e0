"""Numbers on the command line."""

from __future__ import annotations

from click import BadParameter
from twisted.trial.unittest import SynchronousTestCase

from kafkatx.cli.options.numbers import FiniteRange


class FiniteRangeTests(SynchronousTestCase):
    def test_finite(self) -> None:
        """A number within the bounds is one."""
        self.assertEqual(FiniteRange(min=0)("1.5"), 1.5)

    def test_refused(self) -> None:
        """Numbers beyond the bounds, infinite ones, and what is no number are refused."""
        for text in ("nan", "inf", "-inf", "1e999", "-1", "x"):
            with self.assertRaises(BadParameter):
                FiniteRange(min=0)(text)
