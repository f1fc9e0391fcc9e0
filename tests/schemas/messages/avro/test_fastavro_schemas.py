"""Tests of kafkatx.schemas.messages.avro.fastavro_schemas."""

from __future__ import annotations

import json
from decimal import Decimal
from typing import Any

from twisted.trial.unittest import SynchronousTestCase

from kafkatx.schemas.messages.avro.avro_format import AvroFormat, parse
from kafkatx.schemas.messages.avro.fastavro_schemas import read_schema, written_schema
from kafkatx.schemas.messages.reader_schema import ReaderSchema
from kafkatx.schemas.types import Dependencies, Schema

SHIP = '{"type": "record", "name": "r.Ship", "fields": [{"name": "to", "type": "string"}]}'
BILL = '{"type": "record", "name": "r.Bill", "fields": [{"name": "sum", "type": "int"}]}'
REFERENCES: Dependencies = {"r.Ship": Schema(SHIP), "r.Bill": Schema(BILL)}
HALF = {"type": "record", "name": "Half", "fields": [{"name": "n", "type": "int"}]}
PAIR = {
    "type": "record",
    "name": "Pair",
    "fields": [{"name": "l", "type": HALF}, {"name": "r", "type": "Half"}],
}


class RootTests(SynchronousTestCase):
    def round_trip(self, schema: Any, value: Any, expected: Any = None) -> None:
        """Write a value, and read it as it was written, and as the same schema with another layout."""
        text = json.dumps(schema)
        data = AvroFormat().writer(Schema(text), REFERENCES, b"", None)[1](value)
        for target in (None, ReaderSchema(Schema(f"{text} "), REFERENCES)):
            read = AvroFormat().reader(Schema(text), REFERENCES, target)
            self.assertEqual(read(data, 0), value if expected is None else expected)

    def test_references(self) -> None:
        """A root may be a name of a referenced schema, or have such names in it."""
        ship, bill = {"to": "a"}, {"sum": 5}
        self.round_trip("r.Ship", ship)
        self.round_trip(["r.Ship", "r.Bill"], bill)
        self.round_trip(["r.Bill", "r.Ship"], ("r.Ship", ship), ship)
        self.round_trip(["null", "r.Bill"], None)
        self.round_trip({"type": "array", "items": "r.Ship"}, [ship])
        self.round_trip({"type": "map", "values": ["null", "r.Ship"]}, {"k": ship, "l": None})
        self.round_trip({"type": "r.Ship"}, ship)

    def test_names(self) -> None:
        """A root that is no record may use a name twice."""
        pair = {"l": {"n": 1}, "r": {"n": 2}}
        self.round_trip(["null", PAIR], pair)
        self.round_trip({"type": "array", "items": PAIR}, [pair])
        self.round_trip(["null", HALF, {**PAIR, "fields": [{"name": "l", "type": "Half"}]}], {"l": {"n": 1}})

    def test_primitive(self) -> None:
        """A root may be a primitive type, with an annotation or without."""
        self.round_trip("long", 5)
        self.round_trip(
            {"type": "bytes", "logicalType": "decimal", "precision": 4, "scale": 2}, Decimal("1.25")
        )

    def test_written_defaults(self) -> None:
        """A field that a value lacks is written as the value of its default."""
        decimal = {"type": "bytes", "logicalType": "decimal", "precision": 9, "scale": 2}
        schema = {
            "type": "record",
            "name": "R",
            "fields": [{"name": "m", "type": decimal, "default": "\1\0"}],
        }
        self.round_trip(schema, {}, {"m": Decimal("2.56")})

    def test_invalid_annotation(self) -> None:
        """An annotation that is invalid is not in what fastavro gets."""
        root = parse(Schema('{"type": "bytes", "logicalType": "decimal", "scale": 2}'), {})
        self.assertEqual([made(root).schema for made in (read_schema, written_schema)], ["bytes", "bytes"])
