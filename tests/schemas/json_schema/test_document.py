"""References: found by pointer, anchor, id and name, or refused."""

from __future__ import annotations

from twisted.trial.unittest import SynchronousTestCase

from kafkatx.schemas.json_text import JSON
from kafkatx.schemas.types import InvalidSchema
from tests.schemas.json_schema.documents import ENGINE, parsed, reasons

TEXT: JSON = {"type": "string"}

SAME_AS_TEXT: list[JSON] = [
    {"$ref": "#/definitions/a", "definitions": {"a": TEXT}},
    {"$ref": "#/definitions/a%20b~1c", "definitions": {"a b/c": TEXT}},
    {"$ref": "#/x/0/y", "x": [{"y": TEXT}]},
    {"$ref": "#a", "definitions": {"n": {"$anchor": "a", "type": "string"}}},
    {"$ref": "#a", "definitions": {"n": {"$id": "#a", "type": "string"}}},
    {
        "$id": "http://h/d/root.json",
        "$ref": "item.json",
        "definitions": {"n": {"$id": "item.json", "type": "string"}},
    },
    {
        "$id": "http://h/d/root.json",
        "$ref": "http://h/d/root.json#/definitions/a",
        "definitions": {"a": TEXT},
    },
    {"$ref": "#/definitions/a", "definitions": {"a": {"$ref": "#/definitions/b"}, "b": TEXT}},
    {
        "$ref": "#/definitions/a",
        "definitions": {"a": {"$id": "http://h/sub", "$ref": "#/definitions/b", "definitions": {"b": TEXT}}},
    },
    {
        "$schema": "https://json-schema.org/draft/2019-09/schema",
        "$ref": "#/$defs/a",
        "title": "t",
        "$defs": {"a": TEXT},
    },
    {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$dynamicRef": "#a",
        "$defs": {"n": {"$dynamicAnchor": "a", "type": "string"}},
    },
]


class DocumentTests(SynchronousTestCase):
    def test_found(self) -> None:
        """A reference is as good as the schema that it leads to."""
        for document in SAME_AS_TEXT:
            self.assertEqual(list(reasons(document, TEXT)), [], document)
            self.assertEqual(list(reasons(TEXT, document)), [], document)
            self.assertEqual(len(reasons({"type": "number"}, document)), 1, document)

    def test_dependencies(self) -> None:
        """A referenced schema is found by its name, by its id, and through others."""
        middle: JSON = {"$id": "http://h/middle", "$ref": "far.json#/definitions/t"}
        far: JSON = {"definitions": {"t": TEXT}}
        roots: list[JSON] = [
            {"$ref": "near.json"},
            {"$ref": "http://h/middle"},
            {"$id": "http://h/x/y", "$ref": "near.json"},
        ]
        for root in roots:
            schema = parsed(root, {"far.json": far, "http://h/far.json": far, "near.json": middle})
            self.assertEqual(list(ENGINE.incompatibilities(parsed(TEXT), schema)), [])
            self.assertEqual(len(ENGINE.incompatibilities(parsed({"type": "null"}), schema)), 1)

    def test_siblings(self) -> None:
        """Beside a reference keywords count since 2019, and do not before."""
        for draft, count in (("draft/2020-12/schema", 1), ("draft-07/schema#", 0)):
            document: JSON = {
                "$schema": f"http://json-schema.org/{draft}",
                "$ref": "#/$defs/a",
                "maxLength": 3,
                "$defs": {"a": TEXT},
            }
            self.assertEqual(len(reasons(TEXT, document)), count)

    def test_missing(self) -> None:
        """A reference to nothing, to no schema, or into a circle is refused with its place."""
        refused: list[tuple[JSON, str]] = [
            ({"items": {"$ref": "#/definitions/a"}}, 'at /items: there is no schema "#/definitions/a"'),
            ({"$ref": "other.json"}, 'there is no schema "other.json"; is a reference to it missing'),
            ({"$ref": "#missing"}, "there is no schema"),
            ({"$ref": "#/x/1", "x": [{}]}, "/x/1 is missing"),
            ({"$ref": "#/title", "title": "t"}, 'is no schema, but "t"'),
            ({"$ref": "#"}, "lead to no schema"),
            ({"$ref": "#/a", "a": {"$ref": "#/b"}, "b": {"$ref": "#/a"}}, "lead to no schema"),
            ({"$ref": "http://[x#a"}, "no URL"),
            ({"items": {"$id": "http://[x#a"}}, "no URL"),
            ({"$ref": "#/a", "a": {"type": 1}}, "/type: it must be"),
        ]
        for document, reason in refused:
            error = self.assertRaises(InvalidSchema, parsed, document)
            self.assertIn(reason, str(error))

    def test_chain(self) -> None:
        """References that refer on are followed up to the limit, in whatever order they stand."""
        for many, order in ((90, 1), (90, -1), (110, 1), (110, -1)):
            links: list[tuple[str, JSON]] = [
                (f"n{one}", {"$ref": f"#/$defs/n{one + 1}"}) for one in range(many)
            ]
            defined: JSON = {**dict(links[::order]), f"n{many}": TEXT}
            document: JSON = {"$defs": defined, "items": {"$ref": "#/$defs/n0"}}
            if many < 100:
                self.assertEqual(list(reasons(document, document)), [])
            else:
                self.assertRaises(InvalidSchema, parsed, document)

    def test_long_url(self) -> None:
        """A URL that each part would repeat is refused if it is very long."""
        error = self.assertRaises(InvalidSchema, parsed, {"$id": f"http://h/{'x' * 1000}"})
        self.assertIn("too long", str(error))

    def test_meta_schema(self) -> None:
        """A reference to a meta-schema leads to a schema of any value."""
        self.assertEqual(list(reasons(TEXT, {"$ref": "http://json-schema.org/draft-07/schema#"})), [])

    def test_depth(self) -> None:
        """Schemas are nested up to the limit, and no deeper, at places that a reference leads to as well."""
        deep: JSON = True
        for _ in range(64):
            deep = {"items": deep}
        parsed(deep)
        deeper_ones: list[JSON] = [{"not": deep}, {"$ref": "#/x", "x": {"not": deep}}]
        for deeper in deeper_ones:
            self.assertIn("nested too deep", str(self.assertRaises(InvalidSchema, parsed, deeper)))
