"""Recursion by generators: results, depth, the bound."""

from __future__ import annotations

from twisted.trial.unittest import SynchronousTestCase

from kafkatx.schemas.recursion import TooManySteps, Walk, run


def count(number: int) -> Walk[int]:
    """Return *number*, by as many calls."""
    return 0 if number == 0 else 1 + (yield count(number - 1))


def fibonacci(number: int) -> Walk[int]:
    return number if number < 2 else (yield fibonacci(number - 1)) + (yield fibonacci(number - 2))


def failing() -> Walk[int]:
    yield count(2)
    raise LookupError


class RecursionTests(SynchronousTestCase):
    def test_result(self) -> None:
        """A call gets the results of its calls."""
        self.assertEqual(run(fibonacci(12)), 144)

    def test_depth(self) -> None:
        """Calls nest deeper than Python's stack."""
        self.assertEqual(run(count(100_000)), 100_000)

    def test_bound(self) -> None:
        """The calls that are allowed are made, and not one more."""
        self.assertEqual(run(count(50), most_steps=50), 50)
        self.assertRaises(TooManySteps, run, count(51), most_steps=50)

    def test_error(self) -> None:
        """An error inside a call ends the run."""
        self.assertRaises(LookupError, run, failing())
