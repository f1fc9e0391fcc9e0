"""Shapes: how the keywords of a schema are grouped."""

from __future__ import annotations

from twisted.trial.unittest import SynchronousTestCase

from kafkatx.schemas.json_schema.document import Document
from kafkatx.schemas.json_schema.shapes import Criterion, Kind, Shape, Shapes
from kafkatx.schemas.json_text import JSON


def shape(schema: JSON) -> Shape:
    """Return the shape of a schema."""
    return Shapes(Document(schema, {})).root


class ShapesTests(SynchronousTestCase):
    def test_kinds(self) -> None:
        """A schema has the kind of its type, of its keywords, or of its combination."""
        expected: list[tuple[JSON, Kind]] = [
            (True, Kind.ANY),
            (False, Kind.NEVER),
            ({}, Kind.ANY),
            ({"title": "t", "default": 1}, Kind.ANY),
            ({"type": "string"}, Kind.STRING),
            ({"type": "integer"}, Kind.NUMBER),
            ({"maxLength": 1}, Kind.STRING),
            ({"properties": {}}, Kind.OBJECT),
            ({"items": {}}, Kind.ARRAY),
            ({"minimum": 1}, Kind.NUMBER),
            ({"const": 1}, Kind.CONST),
            ({"enum": [1]}, Kind.ENUM),
            ({"not": {}}, Kind.NOT),
            ({"if": {}}, Kind.CONDITION),
            ({"type": ["string", "null"]}, Kind.COMBINED),
            ({"anyOf": [{}]}, Kind.COMBINED),
            ({"maxLength": 1, "maximum": 1}, Kind.COMBINED),
            ({"type": "string", "enum": ["a"]}, Kind.COMBINED),
        ]
        for schema, kind in expected:
            self.assertIs(shape(schema).kind, kind, schema)

    def test_criteria(self) -> None:
        """A list of types is a choice; several groups are all to be met."""
        self.assertIs(shape({"type": ["string", "null"]}).criterion, Criterion.ANY)
        both = shape({"type": "string", "oneOf": [{}, True]})
        self.assertIs(both.criterion, Criterion.ALL)
        self.assertEqual([one.kind for one in both.distinct_members()], [Kind.STRING, Kind.COMBINED])

    def test_distinct(self) -> None:
        """Equal members count once, whatever the order of their keys."""
        schema: JSON = {
            "anyOf": [{"type": "string", "maxLength": 1}, {"maxLength": 1, "type": "string"}, True, True]
        }
        self.assertEqual(len(shape(schema).distinct_members()), 2)
        self.assertEqual(len(shape({"type": ["integer", "number"]}).distinct_members()), 2)

    def test_once(self) -> None:
        """A shape is made once, and a circle of references does not matter."""
        root = shape({"properties": {"a": {"$ref": "#"}}})
        self.assertIs(root.part(root.schemas("properties")["a"]), root)
