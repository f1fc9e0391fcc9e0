"""Tests of kafkatx.schemas.messages.avro.json_values against fastavro's own JSON encoding."""

from __future__ import annotations

import io
import json
from datetime import date, datetime, timezone
from decimal import Decimal
from typing import Any

import fastavro
from twisted.trial.unittest import SynchronousTestCase

from kafkatx.schemas.messages.avro.avro_format import AvroFormat
from kafkatx.schemas.messages.avro.json_values import AvroJson, to_json
from kafkatx.schemas.messages.errors import BadValue
from kafkatx.schemas.types import Schema

SCHEMA = {
    "type": "record",
    "name": "R",
    "namespace": "a",
    "fields": [
        {"name": "s", "type": ["null", "string"], "default": None},
        {"name": "n", "type": ["null", "long", "double", "string"]},
        {"name": "b", "type": "bytes"},
        {"name": "e", "type": ["null", {"type": "enum", "name": "E", "symbols": ["X", "Y"]}]},
        {
            "name": "r",
            "type": ["null", {"type": "record", "name": "I", "fields": [{"name": "x", "type": "int"}]}],
        },
        {"name": "i", "type": ["string", "I"]},
        {"name": "l", "type": {"type": "array", "items": ["null", {"type": "map", "values": "bytes"}]}},
        {"name": "f", "type": {"type": "fixed", "name": "F", "size": 2}},
    ],
}
VALUES: list[dict[str, Any]] = [
    {
        "s": "a",
        "n": 1,
        "b": b"\xff\0",
        "e": "Y",
        "r": {"x": 1},
        "i": {"x": 2},
        "f": b"ab",
        "l": [None, {"k": b"\x80"}],
    },
    {"s": None, "n": "text", "b": b"", "e": None, "r": None, "i": "t", "l": [], "f": b"\xff\xfe"},
    {"s": "null", "n": 1.5, "b": b"x", "e": "X", "r": {"x": -1}, "i": "t", "l": [{}], "f": b"zz"},
]


class AvroJsonTests(SynchronousTestCase):
    def setUp(self) -> None:
        """Make a converter and a format."""
        self.schema = Schema(json.dumps(SCHEMA))
        self.convert = AvroJson(self.schema, {}).value
        self.format = AvroFormat()
        self.write = self.format.writer(self.schema, {}, b"", None)[1]

    def test_avro_encoding(self) -> None:
        """Avro's own JSON encoding has the values that were written."""
        for value in VALUES:
            stream = io.StringIO()
            fastavro.json_writer(stream, fastavro.parse_schema(dict(SCHEMA)), [value])
            self.assertEqual(self.write(self.convert(json.loads(stream.getvalue()))), self.write(value))

    def test_plain(self) -> None:
        """Plain JSON has them, too; it is also what is printed."""
        read = self.format.reader(self.schema, {}, None)
        for value in VALUES:
            data = self.write(value)
            self.assertEqual(self.write(self.convert(json.loads(to_json(read(data, 0))))), data)

    def test_wrong(self) -> None:
        """JSON that fits no branch, or has other fields, is refused; so is what is nested too deeply."""
        for change in ({"n": True}, {"e": "Z"}, {"r": {"y": 1}}, {"strange": 1}, {"i": 5}, {"b": "\u1234"}):
            value = json.loads(to_json({**VALUES[0], **change}))
            self.assertRaises(BadValue, self.convert, value)
        node = Schema('{"type": "record", "name": "N", "fields": [{"name": "next", "type": ["null", "N"]}]}')
        deep: Any = None
        for _ in range(300):
            deep = {"next": deep}
        self.assertRaises(BadValue, AvroJson(node, {}).value, deep)

    def test_union(self) -> None:
        """A union of records at the top is converted, too."""
        union = Schema(json.dumps(["null", SCHEMA["fields"][4]["type"][1]]))  # type: ignore[index]
        convert = AvroJson(union, {}).value
        write = self.format.writer(union, {}, b"", None)[1]
        self.assertEqual(write(convert({"I": {"x": 1}})), b"\2\2")
        self.assertEqual(write(convert({"x": 1})), b"\2\2")
        self.assertEqual(write(convert(None)), b"\0")

    def test_to_json(self) -> None:
        """Values that JSON lacks are printed as text."""
        at = datetime(2015, 5, 19, tzinfo=timezone.utc)
        self.assertEqual(
            json.loads(
                to_json({"a": at, "b": date(2015, 5, 19), "c": Decimal("1.50"), "d": b"\xff", "e": {1}})
            ),
            {"a": "2015-05-19T00:00:00+00:00", "b": "2015-05-19", "c": "1.50", "d": "ÿ", "e": "{1}"},
        )
