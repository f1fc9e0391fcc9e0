"""Tests of kafkatx.schemas.messages.avro.avro_format, against the library ``avro``."""

from __future__ import annotations

import dataclasses
import io
import json
from typing import Any

import avro.io
import avro.schema
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from twisted.trial.unittest import SynchronousTestCase

from kafkatx.schemas.messages.avro.avro_format import AvroFormat, parse
from kafkatx.schemas.messages.errors import BadPayload, BadValue
from kafkatx.schemas.types import InvalidSchema, Schema

USER = """{"type": "record", "name": "User", "namespace": "acme", "fields": [
  {"name": "id", "type": "long"},
  {"name": "name", "type": "string"},
  {"name": "age", "type": ["null", "int"], "default": null}]}"""
NODE = '{"type": "record", "name": "N", "fields": [{"name": "next", "type": ["null", "N"]}]}'

users = st.fixed_dictionaries(
    {
        "id": st.integers(-(1 << 63), (1 << 63) - 1),
        "name": st.text(),
        "age": st.none() | st.integers(-(1 << 31), (1 << 31) - 1),
    }
)


@dataclasses.dataclass
class User:
    """A value that is no dict; its class tells its schema."""

    id: int
    name: str
    age: int | None = None

    __schema__ = USER


class AvroTests(SynchronousTestCase):
    def setUp(self) -> None:
        """Make a format."""
        self.format = AvroFormat()

    def write(self, value: Any, text: str = USER, prefix: bytes = b"") -> bytes:
        """Write a value."""
        return self.format.writer(Schema(text), {}, prefix, None)[1](value)

    def read(self, data: bytes, text: str = USER, target: Any = None, start: int = 0) -> Any:
        """Read a value."""
        return self.format.reader(Schema(text), {}, target)(data, start)

    @settings(suppress_health_check=[HealthCheck.too_slow])
    @given(users)
    def test_as_avro(self, user: dict[str, Any]) -> None:
        """The bytes are those of the library avro, and are read back."""
        stream = io.BytesIO()
        avro.io.DatumWriter(avro.schema.parse(USER)).write(user, avro.io.BinaryEncoder(stream))
        written = self.write(user)
        self.assertEqual(written, stream.getvalue())
        self.assertEqual(self.read(written), user)

    def test_prefix(self) -> None:
        """A message begins with the prefix, and is read behind it; also as a memoryview."""
        message = self.write({"id": 1, "name": "a"}, prefix=b"\0\0\0\0\7")
        self.assertEqual(message, b"\0\0\0\0\7\2\2a\0")
        self.assertEqual(self.read(message, start=5)["name"], "a")
        self.assertEqual(self.read(memoryview(message), start=5)["name"], "a")  # type: ignore[arg-type]

    def test_object(self) -> None:
        """An object with the record's fields is written as the record."""
        self.assertEqual(self.write(User(1, "a", 5)), self.write({"id": 1, "name": "a", "age": 5}))

    def test_schema_of(self) -> None:
        """A text, a schema, and a class with a schema tell it, with the record's full name."""
        for given_schema in (USER, Schema(USER), User):
            self.assertEqual(self.format.schema_of(given_schema), (Schema(USER), "acme.User"))
        self.assertIsNone(self.format.schema_of(dict))
        self.assertEqual(self.format.schema_of('"string"'), (Schema('"string"'), "string"))

    def test_bad_value(self) -> None:
        """A value that does not match raises an error that says why."""
        for value in ({"id": 1}, {"id": "one", "name": "a"}, {"id": 1 << 70, "name": "a"}, 7, object()):
            self.assertRaises(BadValue, self.write, value)

    def test_damaged(self) -> None:
        """A payload that is cut off, or longer than its value, raises an error."""
        whole = self.write({"id": 300, "name": "abc", "age": 7})
        for data in (*(whole[:size] for size in range(len(whole))), whole + b"x"):
            self.assertRaises(BadPayload, self.read, data)

    def test_evolution(self) -> None:
        """A reader's schema widens numbers, adds defaults and drops fields."""
        newer = json.loads(USER)
        newer["fields"] = [
            {"name": "id", "type": "double"},
            {"name": "country", "type": "string", "default": "nl"},
        ]
        data = self.write({"id": 5, "name": "a"})
        self.assertEqual(self.read(data, target=json.dumps(newer)), {"id": 5.0, "country": "nl"})

    def test_references(self) -> None:
        """A schema may use the records of others."""
        outer = '{"type": "record", "name": "Order", "fields": [{"name": "by", "type": "acme.User"}]}'
        dependencies = {"acme.User": Schema(USER)}
        _, write = self.format.writer(Schema(outer), dependencies, b"", None)
        value = {"by": {"id": 1, "name": "a", "age": None}}
        self.assertEqual(self.format.reader(Schema(outer), dependencies, None)(write(value), 0), value)
        self.assertRaises(InvalidSchema, parse, Schema(outer), {})

    def test_invalid(self) -> None:
        """Texts that are no schemas are refused."""
        for text in ("", "{", '{"type": "recor"}', '"unknown"', "7"):
            self.assertRaises(InvalidSchema, parse, Schema(text), {})

    def test_deep_data(self) -> None:
        """Data of a schema that contains itself, 100,000 levels deep, are an error, not the end of the
        process."""
        self.assertRaises(BadPayload, self.read, b"\2" * 100_000 + b"\0", NODE)
        deep: Any = None
        for _ in range(100_000):
            deep = {"next": deep}
        self.assertRaises(BadValue, self.write, deep, NODE)
        while deep is not None:  # an interpreter that frees it in one go would recurse
            deep = deep["next"]
