"""Rings of samples."""

from __future__ import annotations

from math import isnan

from twisted.trial.unittest import SynchronousTestCase

from kafkatx.broker.history.ring_buffer import Ring
from kafkatx.broker.history.window import Grain


class RingTests(SynchronousTestCase):
    def setUp(self) -> None:
        """Make a ring of four slots."""
        self.ring = Ring(Grain(1000, 4), 3)

    def values(self, first: int, end: int, name: str = "a") -> list[float | None]:
        """Return values; None for empty slots."""
        found = self.ring.read(name, first, 1, end - first, False)
        return [None if isnan(value) else value for value in found]

    def test_oldest_go(self) -> None:
        """The newest values are kept."""
        for slot in range(100, 106):
            self.ring.put(slot, {"a": slot})
        self.assertEqual(self.values(100, 107), [None, None, 102, 103, 104, 105, None])
        self.assertEqual((self.ring.first, self.ring.last), (102, 105))

    def test_gaps(self) -> None:
        """Slots in which nothing was sampled are empty, after a long time all."""
        self.ring.put(100, {"a": 1})
        self.ring.put(103, {"a": 2})
        self.assertEqual(self.values(100, 104), [1, None, None, 2])
        self.ring.put(10**9, {"a": 3})
        self.assertEqual(self.values(10**9 - 3, 10**9 + 1), [None, None, None, 3])

    def test_set_back(self) -> None:
        """A clock that was set back drops what is later, and keeps what is earlier."""
        for slot in range(100, 104):
            self.ring.put(slot, {"a": slot})
        self.ring.put(101, {"a": 7})
        self.assertEqual(self.values(100, 104), [100, 7, None, None])
        self.ring.put(5, {"a": 8})
        self.assertEqual(self.values(2, 6), [None, None, None, 8])
        self.ring.put(6, {"a": 9})
        self.assertEqual(self.values(3, 7), [None, None, 8, 9])

    def test_most(self) -> None:
        """A series too many takes the place of the one that ended first."""
        self.ring.put(1, {"a": 1, "b": 1, "c": 1})
        self.ring.put(2, {"a": 2, "c": 2})
        self.ring.put(3, {"d": 3})
        self.assertEqual(sorted(self.ring.columns), ["a", "c", "d"])
        self.assertEqual(self.values(1, 4, "b"), [None, None, None])

    def test_wider(self) -> None:
        """A longer time has the mean or the peak of what is known, across the end of the ring as well."""
        for slot, value in ((101, 1.0), (103, 3.0), (104, 8.0)):
            self.ring.put(slot, {"a": value})
        for peak, expected in ((False, [1, 5.5]), (True, [1, 8])):
            self.assertEqual(list(self.ring.read("a", 101, 2, 2, peak)), expected)
        self.assertEqual(list(self.ring.read("a", 98, 4, 2, False)), [1, 5.5])
        self.assertEqual([isnan(value) for value in self.ring.read("a", 96, 3, 2, False)], [True, False])

    def test_far(self) -> None:
        """A wide window costs no more than the ring has."""
        self.ring.put(100, {"a": 1.0})
        self.assertEqual(list(self.ring.read("a", 0, 2**60, 1, False)), [1])
        self.assertTrue(isnan(self.ring.read("a", 2**60, 2**60, 1, False)[0]))
