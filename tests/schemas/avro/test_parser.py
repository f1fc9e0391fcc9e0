"""The rules of Avro that a schema must keep."""

from __future__ import annotations

from twisted.trial.unittest import SynchronousTestCase

from kafkatx.schemas.avro.avro_types import Record, Union
from kafkatx.schemas.json_text import JSON
from kafkatx.schemas.types import InvalidSchema
from tests.schemas.avro.documents import array, enum, field, fixed, mapping, parsed, record

REFUSED: list[tuple[JSON, str]] = [
    (1, "at /: a type is"),
    (None, "at /: a type is"),
    ("strnig", 'the type "strnig" is not defined'),
    ({}, 'needs "type"'),
    ({"type": ["null"]}, 'needs "type"'),
    ({"type": "array"}, 'needs "items"'),
    ({"type": "map"}, 'needs "values"'),
    (["null", ["int"]], "at /1: a union may not directly contain a union"),
    (["int", "null", "int"], 'at /2: the union has "int" twice'),
    ([record(), "r"], 'at /1: the union has "r" twice'),
    ([array("int"), array("long")], 'the union has "array" twice'),
    ({"type": "record", "name": "r"}, 'needs "fields"'),
    ({"type": "record", "fields": []}, 'needs "name"'),
    (record(name="1r"), "no name of Avro"),
    (record(name="r-s"), "no name of Avro"),
    (record(name="ü"), "no name of Avro"),
    (record(name=""), "no name of Avro"),
    (record(name="long"), "primitive"),
    (record(name="n" * 401), "at most 400 letters"),
    (record(name="n", namespace="s" * 400), "at most 400 letters"),
    (record("f"), "a field is an object"),
    (record({"type": "int"}), 'a field needs "name"'),
    (record({"name": "f"}), '"f" needs "type"'),
    (record(field("f-g", "int")), "at /fields/0: "),
    (record(field("f", "int"), field("f", "long")), "two fields"),
    (record(field("f", "int", order="up")), "order"),
    (record(field("f", "int", aliases="g")), '"aliases" is a list'),
    (record(field("f", "int", aliases=[1])), '"aliases" has texts'),
    (record(field("f", record(name="r"))), 'at /fields/0/type: the type "r" is defined twice'),
    (record(field("f", "x"), field("g", record(name="x"))), "is not defined before it is used"),
    (enum("a", "a"), "a symbol twice"),
    (enum("a b"), "no name of Avro"),
    (enum("a", default="b"), "none of its symbols"),
    ({"type": "enum", "name": "e"}, 'needs "symbols"'),
    (fixed(-1), "size"),
    ({"type": "fixed", "name": "f"}, "size"),
    ({"type": "fixed", "name": "f", "size": True}, "size"),
    ({"type": "fixed", "name": "f", "size": 2**31}, "size"),
]


class ParserTests(SynchronousTestCase):
    def test_refused(self) -> None:
        """A schema that breaks a rule is refused with the place and the reason."""
        for document, reason in REFUSED:
            self.assertIn(reason, str(self.assertRaises(InvalidSchema, parsed, document)), document)

    def test_names_of_stored_schemas(self) -> None:
        """A stored schema may have names that a new one may not."""
        self.assertEqual(parsed(record(field("f-g", "int"), name="1r"), stored=True).name, "1r")

    def test_namespaces(self) -> None:
        """A name is of the nearest namespace; one with a dot is full; others are found from within."""
        inner = record(field("again", "s"), name="s")
        other = record(name="u", namespace="x.y")
        schema = parsed(
            record(field("a", inner), field("b", other), field("c", "x.y.u"), name="n.r", namespace="ignored")
        )
        assert isinstance(schema.root, Record)
        self.assertEqual(schema.name, "n.r")
        types = {one.name: one.type for one in schema.root.fields}
        self.assertEqual(types["a"].kind, "record")
        assert isinstance(types["a"], Record)
        self.assertEqual(types["a"].name, "n.s")
        self.assertIs(types["a"].fields[0].type, types["a"])
        self.assertIs(types["b"], types["c"])
        parsed([enum("a", name="top"), record(field("f", "top"), name="n.r")])

    def test_depth(self) -> None:
        """Types are nested up to the limit, and no deeper."""
        document: JSON = "int"
        for _ in range(64):
            document = mapping(document)
        parsed(document)
        self.assertIn("too deep", str(self.assertRaises(InvalidSchema, parsed, array(document))))

    def test_odd_but_valid(self) -> None:
        """Forms that Apache Avro for Java takes: an empty union, a name as an object's type, no symbols."""
        schema = parsed([])
        assert isinstance(schema.root, Union)
        self.assertEqual(schema.root.branches, ())
        parsed([record(), array({"type": "r"})])
        parsed(enum())
        parsed(fixed(0))
        parsed({"type": "error", "name": "oops", "fields": []})
