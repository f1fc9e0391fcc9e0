"""Tests of kafkatx.decoders.avro."""

from __future__ import annotations

import io
import json
import sys
from collections.abc import Iterable, Mapping
from datetime import date, datetime, time, timezone
from decimal import Decimal
from pathlib import Path
from typing import Any
from uuid import UUID

import fastavro
from twisted.trial.unittest import SynchronousTestCase

from kafkatx.decoders.avro import AvroDecoder
from kafkatx.errors import SettingError
from kafkatx.testing.contracts.configurable import ConfigurableContract
from kafkatx.testing.contracts.decoder import RowDecoderContract

ORDER = {
    "type": "record",
    "name": "Order",
    "fields": [
        {"name": "id", "type": "long"},
        {"name": "note", "type": ["null", "string"]},
        {"name": "paid", "type": "boolean"},
    ],
}


def written(schema: Any, value: Any) -> bytes:
    """An object in Avro's binary encoding."""
    stream = io.BytesIO()
    fastavro.schemaless_writer(stream, fastavro.parse_schema(schema), value)
    return stream.getvalue()


def decoder(schema: Any, **settings: str) -> AvroDecoder:
    """A decoder of what is written with a schema."""
    made = AvroDecoder()
    more = {name.replace("_", "."): value for name, value in settings.items()}
    made.configure({"avro.schema": json.dumps(schema), **more})
    return made


def registered(number: int, message: bytes) -> bytes:
    """A message as Confluent's serializers make it."""
    return b"\0" + number.to_bytes(4, "big") + message


class AvroDecoderTests(RowDecoderContract, ConfigurableContract, SynchronousTestCase):
    def make_configurable(self) -> AvroDecoder:
        """One without its schema yet."""
        return AvroDecoder()

    def settings(self) -> Mapping[str, str]:
        """The schema."""
        return {"avro.schema": json.dumps(ORDER)}

    def make_decoder(self) -> AvroDecoder:
        """One of orders."""
        return decoder(ORDER)

    def samples(self) -> Iterable[tuple[bytes, tuple[Any, ...]]]:
        """Orders with and without a note."""
        for row in ((5, "grün", True), (-1, None, False)):
            yield written(ORDER, dict(zip(("id", "note", "paid"), row, strict=True))), row

    def malformed(self) -> Iterable[bytes]:
        """Messages that are too short or too long, or have a branch that there is not."""
        order = written(ORDER, {"id": 5, "note": "x", "paid": True})
        return (b"", order[:-1], order + b"\0", b"\x0a\x7f", registered(7, order))


class TypeTests(SynchronousTestCase):
    def column(self, schema: Any) -> str:
        """The type of a field."""
        ((name, word),) = decoder(
            {"type": "record", "name": "R", "fields": [{"name": "f", "type": schema}]}
        ).columns
        self.assertEqual(name, "f")
        return word

    def test_simple(self) -> None:
        """Each primitive and logical type has its column's."""
        for schema, word in (
            ("int", "int"),
            ("long", "bigint"),
            ("float", "float"),
            ("double", "double"),
            ("bytes", "binary"),
            ("string", "string"),
            ("null", "string"),
            (["null", "long"], "bigint"),
            (["string", "long"], "string"),
            ({"type": "enum", "name": "E", "symbols": ["A"]}, "string"),
            ({"type": "fixed", "name": "F", "size": 4}, "binary"),
            ({"type": "int", "logicalType": "date"}, "date"),
            ({"type": "long", "logicalType": "timestamp-micros"}, "timestamp"),
            ({"type": "long", "logicalType": "local-timestamp-millis"}, "timestamp"),
            ({"type": "long", "logicalType": "timestamp-nanos"}, "bigint"),
            ({"type": "int", "logicalType": "time-millis"}, "string"),
            ({"type": "bytes", "logicalType": "decimal", "precision": 9, "scale": 2}, "string"),
            ({"type": "string", "logicalType": "uuid"}, "string"),
            ({"type": "int", "logicalType": "somebody's"}, "int"),
        ):
            self.assertEqual(self.column(schema), word, schema)

    def test_nested(self) -> None:
        """Arrays, maps and records, also such that are named in one place and used in another."""
        point = {"type": "record", "name": "Point", "fields": [{"name": "x", "type": "double"}]}
        self.assertEqual(self.column({"type": "array", "items": point}), "array<struct<`x`:double>>")
        self.assertEqual(
            self.column({"type": "map", "values": ["null", "int"]}), "array<struct<key:string,value:int>>"
        )
        both = {
            "type": "record",
            "name": "Line",
            "fields": [{"name": "a", "type": point}, {"name": "b", "type": ["null", "Point"]}],
        }
        self.assertEqual(dict(decoder(both).columns), {"a": "struct<`x`:double>", "b": "struct<`x`:double>"})

    def test_no_record(self) -> None:
        """Another schema than a record's is the column ``value``."""
        for schema, value, word in (("string", "grün", "string"), ({"type": "long"}, 7, "bigint")):
            made = decoder(schema)
            self.assertEqual(made.columns, (("value", word),))
            self.assertEqual(made.decode("t", written(schema, value)), (value,))

    def test_values(self) -> None:
        """Logical types give Python's objects, which a table's columns take."""
        for schema, value in (
            ({"type": "int", "logicalType": "date"}, date(2015, 5, 19)),
            (
                {"type": "long", "logicalType": "timestamp-millis"},
                datetime(2015, 5, 19, tzinfo=timezone.utc),
            ),
            ({"type": "int", "logicalType": "time-millis"}, time(19, 5)),
            ({"type": "bytes", "logicalType": "decimal", "precision": 9, "scale": 2}, Decimal("1.50")),
            ({"type": "string", "logicalType": "uuid"}, UUID(int=5)),
            ({"type": "map", "values": "int"}, {"a": 1}),
        ):
            self.assertEqual(decoder(schema).decode("t", written(schema, value)), (value,))


class HeaderTests(SynchronousTestCase):
    order = written(ORDER, {"id": 5, "note": None, "paid": True})

    def test_known(self) -> None:
        """With avro.schema.id each message has a header with this id."""
        made = decoder(ORDER, avro_schema_id="258")
        self.assertEqual(made.decode("t", registered(258, self.order)), (5, None, True))

    def test_other_schema(self) -> None:
        """A message of another schema is refused with both ids."""
        made = decoder(ORDER, avro_schema_id="258")
        error = self.assertRaises(ValueError, made.decode, "t", registered(259, self.order))
        self.assertIn("schema 259", str(error))
        self.assertIn("258", str(error))

    def test_missing(self) -> None:
        """A message without the header is refused where it is to be there."""
        made = decoder(ORDER, avro_schema_id="258")
        for message in (self.order, b"\0\0\0", b""):
            error = self.assertRaises(ValueError, made.decode, "t", message)
            self.assertIn("no schema registry header", str(error))

    def test_unexpected(self) -> None:
        """An unexpected header is recognised, and the error says what to set."""
        error = self.assertRaises(ValueError, decoder(ORDER).decode, "t", registered(7, self.order))
        self.assertIn("set schema.registry.url", str(error))
        self.assertIn("avro.schema.id=7", str(error))


class SettingTests(SynchronousTestCase):
    def refused(self, settings: dict[str, str]) -> str:
        """The message of the error that these settings make."""
        return str(self.assertRaises(SettingError, AvroDecoder().configure, settings))

    def test_file(self) -> None:
        """A schema may stand in a file."""
        path = self.mktemp()
        Path(path).write_text(json.dumps(ORDER))
        made = AvroDecoder()
        made.configure({"avro.schema": path})
        self.assertEqual(made.columns, (("id", "bigint"), ("note", "string"), ("paid", "boolean")))

    def test_wrong(self) -> None:
        """A missing, unknown, unreadable or malformed setting is reported in one line."""
        for settings, text in (
            ({}, "needs avro.schema"),
            ({"avro.schema": '"long"', "avro.shcema": "x"}, "avro.shcema"),
            ({"avro.schema": "/no/such/file"}, "no such file"),
            ({"avro.schema": "{"}, "no Avro schema"),
            ({"avro.schema": '{"type": "record"}'}, "no Avro schema"),
            ({"avro.schema": '"longer"'}, "no Avro schema"),
            ({"avro.schema": '"long"', "avro.schema.id": "x"}, "avro.schema.id=x"),
            ({"avro.schema": '"long"', "avro.schema.id": str(1 << 32)}, "avro.schema.id="),
        ):
            self.assertIn(text, self.refused(settings))

    def test_none(self) -> None:
        """Without settings, as a consumer makes it, it decodes nothing, and says why."""
        error = self.assertRaises(ValueError, AvroDecoder().decode, "t", b"x")
        self.assertIn("needs avro.schema", str(error))

    def test_endless(self) -> None:
        """Schemas are refused that contain themselves, or lists whose items have no bytes."""
        node = {"type": "record", "name": "N", "fields": [{"name": "next", "type": ["null", "N"]}]}
        self.assertIn("contains itself", self.refused({"avro.schema": json.dumps(node)}))
        empty = {"type": "record", "name": "Empty", "fields": [{"name": "n", "type": "null"}]}
        for items in ("null", empty, {"type": "fixed", "name": "F", "size": 0}):
            schema = json.dumps({"type": "array", "items": items})
            self.assertIn("no bytes", self.refused({"avro.schema": schema}))

    def test_not_installed(self) -> None:
        """Without fastavro the error says what to install."""
        self.addCleanup(sys.modules.__setitem__, "fastavro", sys.modules["fastavro"])
        sys.modules["fastavro"] = None  # type: ignore[assignment]  # so an import of it fails
        self.assertIn("pip install 'kafkatx[avro]'", self.refused({"avro.schema": '"long"'}))
