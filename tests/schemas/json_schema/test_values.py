"""Limits and lists of values: the changes that make them narrower."""

from __future__ import annotations

from twisted.trial.unittest import SynchronousTestCase

from kafkatx.schemas.json_text import Object
from tests.schemas.json_schema.documents import names

LIMITS = [
    ("maxLength", "MAX_LENGTH", {"type": "string"}),
    ("maximum", "MAXIMUM", {"type": "number"}),
    ("exclusiveMaximum", "EXCLUSIVE_MAXIMUM", {"type": "number"}),
    ("maxProperties", "MAX_PROPERTIES", {"type": "object"}),
    ("maxItems", "MAX_ITEMS", {"type": "array"}),
    ("maxContains", "MAX_CONTAINS", {"type": "array"}),
]


class ValuesTests(SynchronousTestCase):
    def test_limits(self) -> None:
        """An upper limit may grow or go, a lower one shrink or go; the opposite is named."""
        for keyword, name, bare in LIMITS:
            for word, low, high, change in (("ax", 1, 2, "DECREASED"), ("in", 2, 1, "INCREASED")):
                limit, full = keyword.replace("ax", word), name.replace("AX", word.upper())
                narrow: Object = {**bare, limit: low}
                wide: Object = {**bare, limit: high}
                self.assertEqual(names(narrow, wide), [])
                self.assertEqual(names(narrow, {**bare}), [])
                self.assertEqual(names(wide, narrow), [f"{full}_{change}"])
                self.assertEqual(names({**bare}, narrow), [f"{full}_ADDED"])

    def test_draft_4(self) -> None:
        """The flags of draft 4 make a limit exclusive."""
        self.assertEqual(
            names({"maximum": 5}, {"maximum": 5, "exclusiveMaximum": True}), ["EXCLUSIVE_MAXIMUM_ADDED"]
        )
        self.assertEqual(names({"maximum": 5, "exclusiveMaximum": True}, {"exclusiveMaximum": 5}), [])

    def test_steps(self) -> None:
        """Steps are compared as exact numbers, small and large."""
        for old, new, found in [
            (0.3, 0.1, []),
            (1e300, 1e-300, []),
            (0.1, 0.3, ["MULTIPLE_OF_EXPANDED"]),
            (0.2, 0.3, ["MULTIPLE_OF_CHANGED"]),
        ]:
            self.assertEqual(names({"multipleOf": old}, {"multipleOf": new}), found)
        self.assertEqual(
            names({"type": "number"}, {"type": "number", "multipleOf": 2}), ["MULTIPLE_OF_ADDED"]
        )

    def test_values(self) -> None:
        """The new list has all old values; 1 and true are not equal; order does not matter."""
        self.assertEqual(names({"enum": [1, "a"]}, {"enum": ["a", None, 1]}), [])
        self.assertEqual(names({"enum": [1]}, {"enum": [True]}), ["ENUM_ARRAY_CHANGED"])
        self.assertEqual(names({"enum": [1, 2]}, {"enum": [1]}), ["ENUM_ARRAY_NARROWED"])
        self.assertEqual(names({"const": {"a": 1, "b": 2}}, {"const": {"b": 2, "a": 1}}), [])
        self.assertEqual(names({"const": 1}, {"const": 2}), ["ENUM_ARRAY_CHANGED"])

    def test_others(self) -> None:
        """Patterns, equal items and conditions."""
        self.assertEqual(names({"type": "string"}, {"type": "string", "pattern": "a"}), ["PATTERN_ADDED"])
        self.assertEqual(
            names({"type": "array"}, {"type": "array", "uniqueItems": True}), ["UNIQUE_ITEMS_ADDED"]
        )
        self.assertEqual(
            names({"type": "array", "uniqueItems": True}, {"type": "array", "uniqueItems": False}), []
        )
        self.assertEqual(names({"if": True, "then": False}, {"then": False, "if": True}), [])
        self.assertEqual(
            names({"if": True, "then": True}, {"if": True, "then": False}), ["CONDITION_CHANGED"]
        )
