"""The reasons of Avro's comparison: their kinds and places (``tests.schemas.verdicts`` has the verdicts)."""

from __future__ import annotations

import avro.errors
import avro.schema
from avro.compatibility import ReaderWriterCompatibilityChecker, SchemaCompatibilityType
from hypothesis import given, settings
from twisted.trial.unittest import SynchronousTestCase

from kafkatx.schemas.json_text import JSON, dump
from kafkatx.schemas.types import InvalidSchema
from tests.schemas.avro.documents import ENGINE, array, enum, field, fixed, mapping, parsed, record
from tests.schemas.avro.random_documents import types

REASONS: list[tuple[JSON, JSON, list[str]]] = [
    ("int", "long", ["TYPE_MISMATCH at /: the reader's type int cannot read the writer's type long"]),
    (array("int"), array("null"), ["TYPE_MISMATCH at /items: "]),
    (mapping("int"), mapping("null"), ["TYPE_MISMATCH at /values: "]),
    (["int"], ["int", "null", "long"], ["MISSING_UNION_BRANCH at /1: ", "MISSING_UNION_BRANCH at /2: "]),
    ("int", ["int", "null"], ["TYPE_MISMATCH at /1: "]),
    (
        ["int"],
        record(),
        ["MISSING_UNION_BRANCH at /: the reader's union has no branch for the writer's type r"],
    ),
    (fixed(1), fixed(2), ["FIXED_SIZE_MISMATCH at /size: the reader's size is 1, the writer's 2"]),
    (
        enum("a"),
        enum("c", "a", "b"),
        ["MISSING_ENUM_SYMBOLS at /symbols: the reader's enum has no default, and not the writer's b, c"],
    ),
    (
        record(name="n.r"),
        record(name="n.s"),
        ["NAME_MISMATCH at /name: the reader's type has the name n.r, the writer's n.s"],
    ),
    (
        record(field("a", "int"), field("b", "int")),
        record(field("b", "null")),
        ["READER_FIELD_MISSING_DEFAULT_VALUE at /fields/0: ", "TYPE_MISMATCH at /fields/1/type: "],
    ),
    (
        record(field("a", "int", aliases=["b", "c"])),
        record(field("b", "int"), field("c", "int")),
        ["AMBIGUOUS_ALIASES at /fields/0: the reader's field a may be any of the writer's fields b, c"],
    ),
]


class ComparisonTests(SynchronousTestCase):
    def test_reasons(self) -> None:
        """Each difference gives a reason of its kind, at its place in the reader's schema."""
        for reader, writer, expected in REASONS:
            found = list(ENGINE.incompatibilities(parsed(reader), parsed(writer)))
            self.assertEqual(
                [one[: len(start)] for one, start in zip(found, expected, strict=True)], expected
            )

    def test_recursive(self) -> None:
        """A record within itself is compared once, and its difference found."""
        old = record(field("value", "long"), field("next", ["null", "r"]))
        new = record(field("value", "int"), field("next", ["null", "r"]))
        self.assertEqual(list(ENGINE.incompatibilities(parsed(old), parsed(new))), [])
        reasons = ENGINE.incompatibilities(parsed(new), parsed(old))
        self.assertEqual(len(reasons), 1)
        self.assertIn("/fields/0/type", reasons[0])

    @settings(max_examples=300, deadline=None)
    @given(types(), types())
    def test_as_the_avro_library(self, one: JSON, other: JSON) -> None:
        """The checker of Apache Avro for Python has the same verdict on any two schemas."""
        try:
            reader, writer = parsed(one), parsed(other)
            their_reader, their_writer = (avro.schema.parse(dump(document)) for document in (one, other))
        except (InvalidSchema, avro.errors.AvroException):
            return
        result = ReaderWriterCompatibilityChecker().get_compatibility(their_reader, their_writer)
        ours = not ENGINE.incompatibilities(reader, writer)
        self.assertEqual(ours, result.compatibility is SchemaCompatibilityType.compatible)

    def test_many_reasons(self) -> None:
        """A comparison tells a bounded number of reasons."""
        reader = parsed(record(*(field(f"f{number}", "int") for number in range(500))))
        self.assertEqual(len(ENGINE.incompatibilities(reader, parsed(record()))), 100)
