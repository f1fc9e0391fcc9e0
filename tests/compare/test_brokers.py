"""The table of the benchmark of several brokers."""

from __future__ import annotations

from twisted.trial.unittest import SynchronousTestCase

from benchmarks.brokers import BASE, MANY, Measured, table


class TableTests(SynchronousTestCase):
    def test_ratios(self) -> None:
        """Figures are medians with their range; a ratio is that of one round."""
        rounds = [
            {
                BASE: {"produce": Measured(100, one, 0.5, 0.1)},
                MANY: {"produce": Measured(170, many, 0.9, 0.1)},
            }
            for one, many in ((10.0, 17.0), (20.0, 40.0), (10.0, 16.0))
        ]
        lines = table(rounds).splitlines()
        self.assertEqual(lines[2], "| produce | one | 10.0 (10.0-20.0) | 100 (100-100) |  | 50% | 10% |")
        self.assertEqual(
            lines[3], "| produce | many | 17.0 (16.0-40.0) | 170 (170-170) | 1.70 (1.60-2.00) | 90% | 10% |"
        )
