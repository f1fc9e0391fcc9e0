"""Tests of kafkatx.audit.cover."""

from __future__ import annotations

from itertools import pairwise

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from twisted.trial.unittest import SynchronousTestCase

from kafkatx.audit.cover import Range, cover, holes

RANGES = st.lists(
    st.tuples(st.integers(0, 30), st.integers(1, 10)).map(lambda pair: (pair[0], sum(pair))), max_size=9
)


def best(ranges: list[Range]) -> int:
    """Return the most offsets that ranges without overlap hold, by trying all."""
    most = 0
    for chosen in range(1 << len(ranges)):
        kept = sorted(one for number, one in enumerate(ranges) if chosen >> number & 1)
        if all(one[1] <= other[0] for one, other in pairwise(kept)):
            most = max(most, sum(end - start for start, end in kept))
    return most


class CoverTests(SynchronousTestCase):
    def test_one_after_the_other(self) -> None:
        """Ranges that do not overlap are all chosen, in the order of offsets."""
        self.assertEqual(cover([(5, 9), (0, 5), (12, 20)]), [1, 0, 2])
        self.assertEqual(cover([]), [])

    def test_again(self) -> None:
        """Equal ranges count once."""
        self.assertEqual(cover([(0, 5), (5, 9), (5, 9), (0, 5)]), [0, 1])

    def test_change_of_leaders(self) -> None:
        """A leader that did not know of the last announcement announces a longer range: that one counts."""
        ranges = [(0, 100), (100, 200), (100, 250), (250, 300)]
        self.assertEqual(cover(ranges), [0, 2, 3])
        self.assertEqual(cover([(0, 100), (100, 200), (100, 250), (200, 300)]), [0, 1, 3])

    def test_records(self) -> None:
        """Among choices with as many offsets, the one with more records counts."""
        ranges = [(0, 100), (100, 200), (0, 200)]
        self.assertEqual(cover(ranges, [0, 0, 7]), [0, 1])
        self.assertEqual(cover(ranges, [0, 9, 7]), [2])
        self.assertEqual(cover([(0, 200), (100, 201)], [190, 0]), [0])

    @settings(deadline=None, max_examples=60, suppress_health_check=list(HealthCheck))
    @given(RANGES)
    def test_most(self, ranges: list[Range]) -> None:
        """No choice without overlap holds more offsets."""
        kept = [ranges[index] for index in cover(ranges)]
        self.assertEqual(sum(end - start for start, end in kept), best(ranges))
        self.assertTrue(all(one[1] <= other[0] for one, other in pairwise(kept)))


class HolesTests(SynchronousTestCase):
    def test_between(self) -> None:
        """Offsets between ranges are holes; those before and after all are not."""
        self.assertEqual(holes([(20, 30), (5, 8), (8, 12)]), [(12, 20)])
        self.assertEqual(holes([(5, 20), (6, 8), (20, 21)]), [])
