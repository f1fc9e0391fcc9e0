"""Faults and amounts as people see them."""

from __future__ import annotations

from twisted.trial.unittest import SynchronousTestCase

from kafkatx.log.inspect.faults import Amount, Fault, Remedy, Tally


class FaultTests(SynchronousTestCase):
    def test_text(self) -> None:
        """A fault names its file, the position if it has one, and the problem."""
        self.assertEqual(str(Fault("a.log", 7, "bad", Remedy.CUT)), "a.log:7: bad")
        self.assertEqual(str(Fault("a.log", None, "bad", Remedy.CUT)), "a.log: bad")
        self.assertEqual(str(Fault("a.log", 0, "bad", Remedy.CUT)), "a.log:0: bad")


class AmountTests(SynchronousTestCase):
    def test_add(self) -> None:
        """Amounts add up, each kind by itself."""
        amount = Amount(1, 2, 3)
        amount.add(Amount(10, 20, 30))
        self.assertEqual(amount, Amount(11, 22, 33))

    def test_text(self) -> None:
        """Large numbers have commas."""
        self.assertEqual(str(Amount(1, 2000, 3)), "1 batches, 2,000 records, 3 bytes")

    def test_tallies_are_apart(self) -> None:
        """Each tally has amounts of its own."""
        Tally().sound.add(Amount(1, 1, 1))
        self.assertEqual(Tally().sound, Amount(0, 0, 0))
