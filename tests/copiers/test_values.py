"""Values of records."""

from __future__ import annotations

from twisted.trial.unittest import SynchronousTestCase

from tests.copiers.values import ABORT, COMMIT, Plan, Value


class ValueTests(SynchronousTestCase):
    def test_round_trip(self) -> None:
        """A value is decoded as it was encoded; other bytes are none."""
        value = Value(17, "a-b", 20, COMMIT)
        self.assertEqual(Value.decode(value.encode()), value)
        self.assertRaises(ValueError, Value.decode, b"17")

    def test_plan(self) -> None:
        """Each transaction has an id of its own and its count; each third is to be aborted."""
        plan = Plan(3)
        made = [plan.next([4, 5]) for _ in range(6)]
        self.assertEqual([values[0].fate for values in made], [COMMIT, COMMIT, ABORT] * 2)
        self.assertEqual(len({value.transaction for values in made for value in values}), 6)
        self.assertEqual([(value.number, value.count) for value in made[0]], [(4, 2), (5, 2)])
