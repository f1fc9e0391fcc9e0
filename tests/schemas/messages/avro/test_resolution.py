"""Tests of kafkatx.schemas.messages.avro.resolution, against values of Apache Avro for Java."""

from __future__ import annotations

import json
from datetime import date, datetime, timezone
from decimal import Decimal
from pathlib import Path
from typing import Any

from twisted.trial.unittest import SynchronousTestCase

from kafkatx.schemas.messages.avro.avro_format import AvroFormat
from kafkatx.schemas.messages.errors import BadPayload
from kafkatx.schemas.messages.reader_schema import ReaderSchema
from kafkatx.schemas.types import Schema
from tests.schemas.messages.avro.resolution_cases import cases, ours

ANSWERS = Path(__file__).with_name("apache.txt")
DECIMAL = {"type": "bytes", "logicalType": "decimal", "precision": 9, "scale": 2}


def record(*fields: Any) -> dict[str, Any]:
    """Return a record with some fields: names, types, and defaults."""
    made = [dict(zip(("name", "type", "default"), field, strict=False)) for field in fields]
    return {"type": "record", "name": "R", "fields": made}


class ResolutionTests(SynchronousTestCase):
    def read(self, writer: Any, value: Any, reader: Any) -> Any:
        """Write a value, and read it as another schema."""
        made = AvroFormat()
        schema = Schema(json.dumps(writer))
        data = made.writer(schema, {}, b"", None)[1](value)
        return made.reader(schema, {}, ReaderSchema(Schema(json.dumps(reader))))(data, 0)

    def test_apache(self) -> None:
        """Values are those of Apache Avro."""
        lines = ANSWERS.read_text(encoding="utf-8").splitlines()
        asked = cases()
        self.assertEqual([line.split("\t")[0] for line in lines], [case.name for case in asked])
        expected = [line.split("\t")[1] for line in lines]
        self.assertEqual([ours(case) for case in asked], expected)

    def test_defaults(self) -> None:
        """A default is what a writer's value would be."""
        reader = record(
            ("id", "int"),
            ("m", DECIMAL, "\1\0"),
            ("d", {"type": "int", "logicalType": "date"}, 19675),
            ("t", ["null", {"type": "long", "logicalType": "timestamp-millis"}], None),
        )
        found = self.read(record(("id", "int")), {"id": 1}, reader)
        self.assertEqual(found, {"id": 1, "m": Decimal("2.56"), "d": date(2023, 11, 14), "t": None})

    def test_own_defaults(self) -> None:
        """Each record has lists of its own as defaults."""
        reader = record(("id", "int"), ("tags", {"type": "array", "items": "string"}, ["a"]))
        schema = Schema(json.dumps(record(("id", "int"))))
        read = AvroFormat().reader(schema, {}, json.dumps(reader))
        read(b"\2", 0)["tags"].append("b")
        self.assertEqual(read(b"\2", 0), {"id": 1, "tags": ["a"]})

    def test_out_of_a_union(self) -> None:
        """A branch is promoted, and gets the annotation of the reader's type."""
        millis = {"type": "long", "logicalType": "timestamp-millis"}
        found = self.read(record(("f", ["null", "int"])), {"f": 5}, record(("f", millis)))
        self.assertEqual(found["f"], datetime(1970, 1, 1, 0, 0, 0, 5000, timezone.utc))

    def test_branches(self) -> None:
        """A value of a union stays one of its branch, also where another branch could take it."""
        for first, second, value in (("double", "long", (1 << 53) + 1), ("string", "bytes", b"\xff")):
            plain, writer, reader = (
                Schema(json.dumps(record(("f", branches), ("n", ["null", "R"]), *more)))
                for branches, *more in (
                    (["null", second], ("left_out", "int")),
                    ([first, second], ("left_out", "int")),
                    ([first, second, "null"],),
                )
            )
            data = AvroFormat().writer(plain, {}, b"", None)[1]({"f": value, "n": None, "left_out": 1})
            found = AvroFormat().reader(writer, {}, reader)(data, 0)["f"]
            self.assertEqual((found, type(found)), (value, type(value)))

    def test_bad_defaults(self) -> None:
        """A default that is no value of its type, or has no end, is none: data without it are refused."""
        endless = record(
            ("f", {"type": "record", "name": "N", "fields": [{"name": "n", "type": "N", "default": {}}]}, {})
        )
        for reader in (
            record(("f", {"type": "int", "logicalType": "date"}, 2**31 - 1)),
            record(("f", {"type": "fixed", "name": "F", "size": 2}, "\1")),
            record(("f", "float", 1e300)),
            record(("f", "bytes", "\u0100")),
            record(("f", {"type": "enum", "name": "E", "symbols": ["a"]}, "b")),
            record(("f", "int")),
            endless,
        ):
            self.assertRaises(BadPayload, self.read, record(), {}, reader)

    def test_precision(self) -> None:
        """A decimal with more digits than its precision is refused, in either schema."""
        small = {**DECIMAL, "precision": 5}
        value = {"f": b"\x7f" * 12}
        for writer, reader in ((small, small), ("bytes", small), (small, DECIMAL)):
            data = AvroFormat().writer(Schema(json.dumps(record(("f", "bytes")))), {}, b"", None)[1](value)
            read = AvroFormat().reader(
                Schema(json.dumps(record(("f", writer)))), {}, json.dumps(record(("f", reader)))
            )
            self.assertRaises(BadPayload, read, data, 0)

    def test_deep(self) -> None:
        """Types that are nested by many references are reached by their names."""
        documents = {
            f"r.N{number}": Schema(
                json.dumps({**record(("f", f"r.N{number - 1}" if number else "int")), "name": f"r.N{number}"})
            )
            for number in range(90)
        }
        schema = Schema(json.dumps(record(("f", "r.N89"))))
        value: Any = 7
        for _ in range(91):
            value = {"f": value}
        data = AvroFormat().writer(schema, documents, b"", None)[1](value)
        self.assertEqual(AvroFormat().reader(schema, documents, None)(data, 0), value)
        wider = {**documents, "r.N0": Schema(documents["r.N0"].text.replace('"int"', '"long"'))}
        self.assertEqual(AvroFormat().reader(schema, documents, ReaderSchema(schema, wider))(data, 0), value)
