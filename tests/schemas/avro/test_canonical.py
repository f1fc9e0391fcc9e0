"""The canonical text of Avro schemas: the differences that it leaves out, and those that it keeps."""

from __future__ import annotations

import json

import fastavro
from twisted.trial.unittest import SynchronousTestCase

from kafkatx.schemas.json_text import JSON
from kafkatx.schemas.types import Schema
from tests.schemas.avro.documents import ENGINE, array, enum, field, fixed, mapping, parsed, record

SAME: list[tuple[JSON, JSON]] = [
    ("string", {"type": "string"}),
    (record(name="n.r"), record(name="r", namespace="n")),
    (record(field("f", "int")), record(field("f", {"type": "int"}))),
    (record(field("f", "int", order="ascending")), record(field("f", "int"))),
    (record(field("f", "int", aliases=[])), record(field("f", "int"))),
    (record(field("f", "int", aliases=["b", "a"])), record(field("f", "int", aliases=["a", "b"]))),
    (record(name="r", aliases=["n.x"]), record(name="r", aliases=["n.x", "n.x"])),
    ({"type": "int", "a": {"x": 1, "y": 2}, "b": 1}, {"type": "int", "b": 1, "a": {"y": 2, "x": 1}}),
    (
        record(field("a", mapping("int"), default={"q": 1, "p": 2}), field("b", "n.r"), name="n.r"),
        record(field("a", mapping("int"), default={"p": 2, "q": 1}), field("b", "r"), name="n.r"),
    ),
]

DIFFERENT: list[tuple[JSON, JSON]] = [
    (record(name="n.r"), record(name="r")),
    (record(doc="one"), record(doc="two")),
    (record(), record(aliases=["s"])),
    (record(field("f", "int")), record(field("f", "int", default=0))),
    (record(field("f", ["null", "int"])), record(field("f", ["null", "int"], default=None))),
    (record(field("f", "int")), record(field("f", "int", doc="d"))),
    (record(field("f", "int")), record(field("f", "int", order="ignore"))),
    (record(field("f", "int"), field("g", "int")), record(field("g", "int"), field("f", "int"))),
    (["null", "int"], ["int", "null"]),
    (enum("a", "b"), enum("b", "a")),
    (enum("a"), enum("a", default="a")),
    (fixed(1), fixed(2)),
    ("long", {"type": "long", "logicalType": "timestamp-millis"}),
]


class CanonicalTests(SynchronousTestCase):
    def test_same(self) -> None:
        """Schemas that differ in writing alone have one text."""
        for one, other in SAME:
            self.assertEqual(parsed(one, stored=True).canonical, parsed(other, stored=True).canonical)

    def test_different(self) -> None:
        """Documentation, defaults, aliases and orders count, as in Confluent's registry."""
        for one, other in DIFFERENT:
            self.assertNotEqual(parsed(one).canonical, parsed(other).canonical)

    def test_normalized_is_the_same_schema(self) -> None:
        """The text is itself a schema with the same text, and Avro's canonical form of both is the same."""
        for pair in (*SAME, *DIFFERENT):
            for document in pair:
                schema = parsed(document, stored=True)
                again = ENGINE.parse(Schema(schema.normalized), {}, stored=True)
                self.assertEqual(again.canonical, schema.canonical)
                forms = [
                    fastavro.schema.to_parsing_canonical_form(fastavro.parse_schema(json.loads(text)))
                    for text in (schema.schema.text, schema.normalized)
                ]
                self.assertEqual(forms[0], forms[1])

    def test_unnamed_within_a_namespace(self) -> None:
        """A type without a namespace keeps having none inside a record that has one."""
        schema = parsed(record(field("f", record(name="s", namespace="")), name="n.r"))
        self.assertEqual(ENGINE.parse(Schema(schema.normalized), {}).canonical, schema.canonical)
        self.assertIn('"namespace":""', schema.normalized)

    def test_references(self) -> None:
        """A type of a referenced schema is written by its name, and its text is not part of this one."""
        schema = parsed(record(field("f", array("x.y"))), {"x.y": record(name="x.y")})
        self.assertEqual(
            schema.canonical,
            '{"type":"record","name":"r","fields":[{"name":"f","type":{"type":"array","items":"x.y"}}]}',
        )
