"""The checks find what they should."""

from __future__ import annotations

from twisted.trial.unittest import SynchronousTestCase

from tests.copiers import checks
from tests.copiers.checks import Count, Seen
from tests.copiers.values import ABORT, COMMIT, Value


def seen(*numbers: int, transaction: str = "t", count: int = 1, fate: str = COMMIT) -> list[Seen]:
    """Return records with these numbers at offsets 100, 101 and so on."""
    return [(100 + at, Value(number, transaction, count, fate)) for at, number in enumerate(numbers)]


class CopiedTests(SynchronousTestCase):
    def check(self, target: list[Seen]) -> tuple[Count, list[str]]:
        """Check copies of 0, 3 and 6."""
        count, lines = Count(), list[str]()
        checks.copied(seen(0, 3, 6), target, "out-0", count, lines)
        return count, lines

    def test_good(self) -> None:
        """Each record once and in order is good."""
        self.assertEqual(self.check(seen(0, 3, 6)), (Count(), []))

    def test_lost(self) -> None:
        """A lost record is told with its offset in the input."""
        self.assertEqual(self.check(seen(0, 6)), (Count(lost=1), ["out-0: lost 3, at 101 in the input"]))

    def test_doubled(self) -> None:
        """A doubled record is told with its offsets, once as doubled and not as out of order."""
        count, lines = self.check(seen(0, 3, 0, 6))
        self.assertEqual(count, Count(doubled=1))
        self.assertEqual(lines, ["out-0: doubled 0, at [100, 102]; at 100 in the input"])

    def test_strange(self) -> None:
        """A record that was not in the input is told: it was aborted there."""
        count, lines = self.check(seen(0, 3, 6, 9))
        self.assertEqual((count, lines), (Count(strange=1), ["out-0: 9 at [103] is not in the input"]))

    def test_order(self) -> None:
        """Records in another order are told."""
        count, lines = self.check(seen(0, 6, 3))
        self.assertEqual(count, Count(disordered=1))
        self.assertEqual(lines, ["out-0: the records at 101 and 102 are in the wrong order"])


class TransactionsTests(SynchronousTestCase):
    def test_torn(self) -> None:
        """A part of a transaction is found, also over several partitions; so is an aborted one."""
        whole = {("out", 0): seen(0, count=2), ("out", 1): seen(1, count=2)}
        self.assertEqual(checks.torn(whole), [])
        (fault,) = checks.torn({("out", 0): whole["out", 0]})
        self.assertEqual(fault, "transaction t is torn: 1 of 2: out-0 at 100")
        (fault,) = checks.torn({("out", 0): seen(0, fate=ABORT)})
        self.assertEqual(fault, "transaction t was aborted, and seen: out-0 at 100")

    def test_missing(self) -> None:
        """A transaction that was acknowledged and is not there is found."""
        there = {("in", 0): seen(0)}
        self.assertEqual(checks.missing({"t"}, there), [])
        self.assertEqual(checks.missing({"u"}, there), ["transaction u was committed, and is lost"])

    def test_same(self) -> None:
        """A reader that has seen more, less, or the same twice is found."""
        final = seen(0, 3)
        self.assertEqual(checks.same(final, final, "out-0"), [])
        self.assertIn("is not there", checks.same(seen(0, 3, 6), final, "out-0")[0])
        self.assertIn("was not seen", checks.same(seen(0), final, "out-0")[0])
        self.assertIn("seen twice", checks.same([*final, final[0]], final, "out-0")[0])
