"""Tests of kafkatx.spark.ingest.decoder.schema_columns."""

from __future__ import annotations

import json
from typing import Any

from twisted.trial.unittest import SynchronousTestCase

from kafkatx.errors import SettingError
from kafkatx.schemas.messages.protobuf.protobuf_format import ProtobufFormat
from kafkatx.schemas.messages.reader_schema import ReaderSchema
from kafkatx.schemas.types import Schema, SchemaType
from kafkatx.spark.ingest.decoder.schema_columns import evolved, schema_columns
from kafkatx.spark.ingest.table.columns import parse_ddl, to_ddl
from tests.schemas.messages.avro.test_avro_format import NODE, USER
from tests.schemas.messages.orders import classes


class SchemaColumnsTests(SynchronousTestCase):
    def columns(self, schema: Schema) -> str:
        """Return the columns as DDL."""
        return to_ddl(schema_columns(ReaderSchema(schema)))

    def json(self, contents: Any) -> str:
        """Return the columns of a JSON Schema."""
        return self.columns(Schema(json.dumps(contents), SchemaType.JSON))

    def test_avro(self) -> None:
        """Fields of a record are columns; a schema that contains itself has none."""
        self.assertEqual(self.columns(Schema(USER)), "id bigint, name string, age int")
        self.assertEqual(self.columns(Schema('"long"')), "value bigint")
        self.assertRaises(SettingError, schema_columns, ReaderSchema(Schema(NODE)))

    def test_json(self) -> None:
        """Properties are columns; what has no simple type is text."""
        found = self.json(
            {
                "properties": {
                    "a": {"type": "integer"},
                    "b": {"type": ["null", "number"]},
                    "c": {"oneOf": [{"type": "null"}, {"type": "string", "format": "date"}]},
                    "d": {"type": "array", "items": {"type": "boolean"}},
                    "e f": {"type": "object", "properties": {"x": {"type": "string"}}},
                    "g": {"type": "object"},
                    "h": {"$ref": "other.json"},
                    "i": {"anyOf": [{"type": "string"}, {"type": "integer"}]},
                    "j": True,
                }
            }
        )
        self.assertEqual(
            found,
            "a bigint, b double, c date, d array<boolean>, `e f` struct<x:string>, g string, h string, "
            "i string, j string",
        )
        self.assertEqual(self.json({"type": "integer"}), "value bigint")
        self.assertEqual(self.json(True), "value string")

    def test_json_deep(self) -> None:
        """A schema that is nested deeply ends in text."""
        contents: Any = {"type": "integer"}
        for _ in range(100):
            contents = {"type": "object", "properties": {"x": contents}}
        self.assertIn("x:string", self.json(contents))

    def test_protobuf(self) -> None:
        """Fields of a message are columns."""
        found = ProtobufFormat().schema_of(classes()[0])
        assert found is not None
        self.assertEqual(
            self.columns(found[0]), "id bigint, item string, lines array<struct<name:string,raw:binary>>"
        )


class EvolvedTests(SynchronousTestCase):
    def evolved(self, known: str, declared: str) -> str:
        """Return evolved columns as DDL."""
        return to_ddl(evolved(parse_ddl(known), parse_ddl(declared)))

    def test_evolution(self) -> None:
        """New columns come last, types become wider and never narrower, and what is gone stays."""
        for known, declared, expected in (
            ("a int", "b string, a int", "a int, b string"),
            ("a int, b string", "b string", "a int, b string"),
            ("a int", "a bigint", "a bigint"),
            ("a bigint", "a int", "a bigint"),
            ("a float", "a double", "a double"),
            ("a struct<x:int>", "a struct<y:string,x:bigint>", "a struct<x:bigint,y:string>"),
            ("a array<struct<x:int>>", "a array<struct<x:double>>", "a array<struct<x:double>>"),
        ):
            self.assertEqual(self.evolved(known, declared), expected)

    def test_refused(self) -> None:
        """Changes with which old files cannot be read are refused."""
        for known, declared in (
            ("a int", "a string"),
            ("a bigint", "a double"),
            ("a string", "a array<string>"),
            ("a struct<x:int>", "a struct<x:string>"),
        ):
            self.assertRaises(SettingError, self.evolved, known, declared)
