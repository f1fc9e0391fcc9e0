"""Budgets of bytes."""

from __future__ import annotations

from twisted.trial.unittest import SynchronousTestCase

from kafkatx.web.budget import Budget


class BudgetTests(SynchronousTestCase):
    def test_most(self) -> None:
        """No more is held than the budget has; a sole holder may exceed it."""
        budget = Budget(100)
        self.assertEqual((budget.take(60), budget.take(41), budget.take(40)), (True, False, True))
        budget.give_back(100)
        self.assertEqual((budget.held, budget.take(200)), (0, True))

    def test_keys(self) -> None:
        """One key gets half of it, and has it again after it has given something back."""
        budget = Budget(100)
        self.assertEqual(
            (budget.take(40, "a"), budget.take(11, "a"), budget.take(50, "b")), (True, False, True)
        )
        budget.give_back(40, "a")
        self.assertTrue(budget.take(50, "a"))
