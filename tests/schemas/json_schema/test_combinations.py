"""Combinations: the largest match of members."""

from __future__ import annotations

import itertools

from hypothesis import given
from hypothesis import strategies as st
from twisted.trial.unittest import SynchronousTestCase

from kafkatx.schemas.json_schema.combinations import largest_match


def slow_match(fits: list[list[int]]) -> int:
    """Try all ways of giving each member on the left a partner, or none."""
    choices = [[None, *one] for one in fits]
    return max(
        len(pairs)
        for way in itertools.product(*choices)
        if len(pairs := [one for one in way if one is not None]) == len(set(pairs))
    )


class CombinationsTests(SynchronousTestCase):
    @given(st.lists(st.lists(st.integers(0, 4), unique=True, max_size=4), max_size=5))
    def test_match(self, fits: list[list[int]]) -> None:
        """The match is as large as the best of all ways."""
        self.assertEqual(largest_match(fits), slow_match(fits))

    def test_long_path(self) -> None:
        """A match that moves each partner by one needs no deep stack."""
        many = 3000
        fits = [[number, number + 1] for number in range(many)]
        fits.append([0])
        self.assertEqual(largest_match(fits), many + 1)
