"""Content models in the words of the drafts."""

from __future__ import annotations

from twisted.trial.unittest import SynchronousTestCase

from kafkatx.schemas.json_schema.contents import all_items, cover_of_item, cover_of_property, tuple_items
from kafkatx.schemas.json_schema.patterns import Patterns
from kafkatx.schemas.json_schema.shapes import Kind
from kafkatx.schemas.json_text import JSON, Object
from tests.schemas.json_schema.test_shapes import shape

TEXT: Object = {"type": "string"}


class ContentsTests(SynchronousTestCase):
    def test_objects(self) -> None:
        """The cover of a property is a pattern's, the additional one, or the one that is not evaluated."""
        patterns: JSON = {"patternProperties": {"^n": {"type": "number"}}, "additionalProperties": False}
        expected: list[tuple[JSON, Kind]] = [
            ({"properties": {}}, Kind.ANY),
            ({"additionalProperties": True}, Kind.ANY),
            ({"additionalProperties": {}}, Kind.ANY),
            ({"additionalProperties": False}, Kind.NEVER),
            ({"additionalProperties": TEXT}, Kind.STRING),
            ({"unevaluatedProperties": False}, Kind.NEVER),
            ({"unevaluatedProperties": TEXT}, Kind.STRING),
            ({"additionalProperties": False, "unevaluatedProperties": TEXT}, Kind.NEVER),
            (patterns, Kind.NUMBER),
        ]
        for schema, kind in expected:
            cover = cover_of_property(shape(schema), "n", Patterns())
            assert cover is not None
            self.assertIs(cover.kind, kind, schema)
        self.assertIsNone(cover_of_property(shape({"patternProperties": {"(a+)+": {}}}), "n", Patterns()))

    def test_arrays(self) -> None:
        """The cover of an item stands in other keywords since 2020-12."""
        expected: list[tuple[JSON, Kind]] = [
            ({"items": [TEXT]}, Kind.ANY),
            ({"items": [TEXT], "additionalItems": False}, Kind.NEVER),
            ({"prefixItems": [TEXT], "items": False}, Kind.NEVER),
            ({"prefixItems": [TEXT], "items": TEXT}, Kind.STRING),
            ({"prefixItems": [TEXT], "unevaluatedItems": TEXT}, Kind.STRING),
        ]
        for schema, kind in expected:
            self.assertIs(cover_of_item(shape(schema)).kind, kind, schema)
            self.assertEqual(tuple_items(shape(schema)), [TEXT])
            self.assertIsNone(all_items(shape(schema)))
        every = all_items(shape({"items": TEXT}))
        assert every is not None
        self.assertIs(every.kind, Kind.STRING)
