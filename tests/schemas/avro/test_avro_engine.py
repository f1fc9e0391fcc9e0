"""The engine of Avro: references, names, and input that is meant to hurt."""

from __future__ import annotations

import io

import fastavro
from hypothesis import given, settings
from hypothesis import strategies as st
from twisted.trial.unittest import SynchronousTestCase

from kafkatx.schemas.json_text import JSON, Object, dump
from kafkatx.schemas.types import InvalidSchema, Schema, SchemaType
from tests.schemas.avro.documents import ENGINE, enum, field, parsed, record
from tests.schemas.avro.random_documents import ODD_JSON, types


class AvroEngineTests(SynchronousTestCase):
    def test_name(self) -> None:
        """A record has a name for subjects, other types have none."""
        self.assertEqual(parsed(record(name="r", namespace="a.b")).name, "a.b.r")
        self.assertEqual(parsed(enum("x")).name, "")

    def test_documents(self) -> None:
        """A library that reads the documents in turn can encode with the last."""
        schema = parsed(
            record(field("f", "c.d")),
            {"a.b": enum("x", name="a.b"), "c.d": record(field("g", "a.b"), name="c.d")},
        )
        names: dict[str, Object] = {}
        for document in schema.documents:
            assert isinstance(document, dict)
            last = fastavro.parse_schema(document, named_schemas=names)
        target = io.BytesIO()
        fastavro.schemaless_writer(target, last, {"f": {"g": "x"}})
        self.assertEqual(target.getvalue(), b"\0")

    def test_references(self) -> None:
        """A missing reference, one that is not valid, and one of another type are told apart."""
        document = record(field("f", "x.y"))
        missing = self.assertRaises(InvalidSchema, parsed, document)
        self.assertIn("is a reference to it missing?", str(missing))
        broken = self.assertRaises(InvalidSchema, parsed, document, {"x.y": {"type": "recrod"}})
        self.assertIn("the referenced schema 'x.y': ", str(broken))
        dependencies = {"x.y": Schema("{}", SchemaType.JSON)}
        other = self.assertRaises(InvalidSchema, ENGINE.parse, Schema(dump(document)), dependencies)
        self.assertIn("of type JSON, not AVRO", str(other))

    def test_stored_references(self) -> None:
        """A referenced schema is a stored one: it may break rules that only new ones must keep."""
        parsed(record(field("f", "x")), {"x": record(field("g-h", "int", default="a"), name="x")})

    def test_compared_through_references(self) -> None:
        """A change in a referenced schema is found."""
        document = record(field("f", "x"))
        old = parsed(document, {"x": record(name="x")})
        new = parsed(document, {"x": record(field("g", "int"), name="x")})
        self.assertEqual(list(ENGINE.incompatibilities(old, new)), [])
        self.assertIn("/fields/0/type/fields/0", ENGINE.incompatibilities(new, old)[0])

    @settings(max_examples=300, deadline=None)
    @given(st.text() | ODD_JSON.map(dump))
    def test_odd_texts(self, text: str) -> None:
        """Any text is a schema, or refused as one."""
        try:
            ENGINE.parse(Schema(text), {})
        except InvalidSchema:
            return

    @settings(max_examples=300, deadline=None)
    @given(types(), types())
    def test_pairs(self, one: JSON, other: JSON) -> None:
        """Schemas read their own data; any two are compared; the canonical text is a fixed point."""
        try:
            schemas = [parsed(one), parsed(other)]
        except InvalidSchema:
            return
        for schema in schemas:
            self.assertEqual(list(ENGINE.incompatibilities(schema, schema)), [])
            self.assertEqual(ENGINE.parse(Schema(schema.canonical), {}).canonical, schema.canonical)
        ENGINE.incompatibilities(schemas[0], schemas[1])

    def test_chain(self) -> None:
        """Thousands of records that refer to each other by name are compared."""
        chain = [record(name="r0")]
        chain += [record(field("f", f"r{number - 1}"), name=f"r{number}") for number in range(1, 9000)]
        old = parsed([*chain])
        chain[0] = record(field("z", "int"), name="r0")
        new = parsed([*chain])
        self.assertEqual(ENGINE.incompatibilities(old, new), [])
        self.assertEqual(len(ENGINE.incompatibilities(new, old)), 100)

    def test_too_large_to_compare(self) -> None:
        """A comparison that would take very long ends with that as its reason."""
        fields = [field(f"f{number}", "int") for number in range(600)]
        aliases: list[JSON] = [f"b{number}" for number in range(30)]
        writer = parsed([record(*fields, field("z", "int"), name=f"b{number}") for number in range(30)])
        reader = parsed(
            [record(*fields, field("z", "null"), name=f"a{number}", aliases=aliases) for number in range(30)]
        )
        self.assertEqual(ENGINE.incompatibilities(reader, writer), ["the schemas are too large to compare"])
