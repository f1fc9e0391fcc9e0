"""JSON of schemas: bounds, numbers, one text for equal values."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from twisted.trial.unittest import SynchronousTestCase

from kafkatx.schemas.json_text import JSON, dump, dump_sorted, load, quote
from kafkatx.schemas.limits import MAX_JSON_DEPTH
from kafkatx.schemas.types import InvalidSchema

VALUES: st.SearchStrategy[JSON] = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=12,
)


class JsonTextTests(SynchronousTestCase):
    def reason(self, text: str) -> str:
        """Return why a text is refused."""
        return str(self.assertRaises(InvalidSchema, load, text, "the text"))

    @given(VALUES)
    def test_round_trip(self, value: JSON) -> None:
        """A value is the same after it was written and read, with sorted keys or not."""
        self.assertEqual(load(dump(value)), value)
        self.assertEqual(load(dump_sorted(value)), value)

    def test_sorted(self) -> None:
        """Equal objects have one text, whatever the order of their keys."""
        self.assertEqual(dump_sorted({"b": 1, "a": {"d": 2, "c": 3}}), '{"a":{"c":3,"d":2},"b":1}')
        self.assertEqual(dump({"b": 1, "a": "ü"}), '{"b":1,"a":"ü"}')

    def test_depth(self) -> None:
        """Nesting up to the limit is read; one level more, and very many, are refused."""
        load("[" * MAX_JSON_DEPTH + "]" * MAX_JSON_DEPTH)
        for depth in (MAX_JSON_DEPTH + 1, 10_000, 400_000):
            self.assertIn("nested too deep", self.reason("[" * depth + "]" * depth))
            self.assertIn("the text is n", self.reason('{"a":' * depth))

    def test_numbers(self) -> None:
        """Numbers that JSON has not, or that no double can hold, are refused."""
        for text in ("NaN", "Infinity", "-Infinity", "1e999", "9" * 301, "9" * 900_000):
            self.assertIn("number", self.reason(f"[{text}]"))
        self.assertEqual(load("9" * 300), 10**300 - 1)

    def test_half_a_character(self) -> None:
        """Half a surrogate pair stays escaped, so that the text can be encoded."""
        text = dump(load('"\\ud800"'))
        self.assertEqual(text.encode(), b'"\\ud800"')

    def test_quote(self) -> None:
        """A quotation in a message is short."""
        self.assertLess(len(quote("x" * 10_000)), 100)
