"""Tests of kafkatx.schemas.json_numbers."""

from __future__ import annotations

import json
import pickle

from hypothesis import given
from hypothesis import strategies as st
from twisted.trial.unittest import SynchronousTestCase

from kafkatx.schemas.json_numbers import LongNumber, load


class LoadTests(SynchronousTestCase):
    @given(st.floats(allow_nan=False, allow_infinity=False))
    def test_doubles(self, value: float) -> None:
        """A double as it is usually written is a plain one."""
        found = load(json.dumps(value))
        self.assertEqual((found, type(found)), (value, float))

    def test_long(self) -> None:
        """A number with more digits than a double keeps its text."""
        for text in ("0.1234567890123456789", "9007199254740993.0", "1.00000000000000000001e5"):
            found = load(text)
            self.assertEqual((type(found), found, found.text), (LongNumber, float(text), text))
            again = pickle.loads(pickle.dumps(found))
            self.assertEqual((again, again.text), (found, text))

    def test_short(self) -> None:
        """A number that is written otherwise than Python writes it is a plain one."""
        for text in ("1.10", "1e2", "100000000000000000000.0", "1.5000000000000000000000", "0e999", "-0.0"):
            self.assertIs(type(load(text)), float)

    def test_beyond(self) -> None:
        """A number that no double is near is refused."""
        for text in ("1e999", "-1e999", "1e-999", "9" * 400 + ".5"):
            self.assertRaises(ValueError, load, f'{{"a": [{text}]}}')

    def test_whole(self) -> None:
        """A long number that is whole tells the exact number."""
        self.assertEqual(LongNumber("9007199254740993.0").whole, 9007199254740993)
        self.assertIsNone(LongNumber("0.1234567890123456789").whole)
        self.assertIsNone(LongNumber("1e1000000").whole)
