"""Tests of kafkatx.schemas.messages.json_schema."""

from __future__ import annotations

import json
from typing import Any

import attrs
from twisted.trial.unittest import SynchronousTestCase

from kafkatx.schemas.messages.errors import BadPayload, BadValue
from kafkatx.schemas.messages.json_schema import JsonSchemaFormat
from kafkatx.schemas.types import InvalidSchema, Schema, SchemaType

USER = """{"title": "User", "type": "object", "required": ["id"], "properties": {
  "id": {"type": "integer"}, "name": {"type": "string", "pattern": "^[a-z]*$"}}}"""


@attrs.frozen
class User:
    """A value that is no dict; its class tells its schema."""

    id: int
    name: str = "a"

    __schema__ = json.loads(USER)


class JsonSchemaTests(SynchronousTestCase):
    def setUp(self) -> None:
        """Make a format."""
        self.format = JsonSchemaFormat()

    def write(self, value: Any, text: str = USER, **dependencies: str) -> bytes:
        """Write a value."""
        return self.format.writer(self.schema(text), self.schemas(dependencies), b"P", None)[1](value)

    def read(self, data: bytes, text: str = USER, target: Any = None, **dependencies: str) -> Any:
        """Read a value."""
        return self.format.reader(self.schema(text), self.schemas(dependencies), target)(b"P" + data, 1)

    def schema(self, text: str) -> Schema:
        """Return a schema."""
        return Schema(text, SchemaType.JSON)

    def schemas(self, texts: dict[str, str]) -> dict[str, Schema]:
        """Return schemas."""
        return {name: self.schema(text) for name, text in texts.items()}

    def test_round_trip(self) -> None:
        """A value is written as JSON behind the prefix, and read back."""
        for value in ({"id": 1}, {"id": 1, "name": "b"}, {"id": 1, "other": [1.5, {"x": None}]}):
            written = self.write(value)
            self.assertEqual(written[:1], b"P")
            self.assertEqual(json.loads(written[1:]), value)
            self.assertEqual(self.read(written[1:]), value)
        self.assertEqual(self.write({"id": 1, "o": "ä"}), b'P{"id":1,"o":"\xc3\xa4"}')

    def test_object(self) -> None:
        """An object is written as its fields, also inside of other values."""
        self.assertEqual(self.write(User(1)), b'P{"id":1,"name":"a"}')
        self.assertEqual(self.write({"id": 2, "u": User(1)}), b'P{"id":2,"u":{"id":1,"name":"a"}}')
        self.assertEqual(self.format.schema_of(User), (self.schema(json.dumps(User.__schema__)), "User"))

    def test_bad_values(self) -> None:
        """Values that do not match are refused, and the message says where."""
        for value in ({}, {"id": "x"}, {"id": 1, "name": "A"}, [], 7, object(), {"id": 1, "n": float("nan")}):
            self.assertRaises(BadValue, self.write, value)
        with self.assertRaises(BadValue) as caught:
            self.write({"id": 1, "name": "A"})
        self.assertIn("$.name", str(caught.exception))

    def test_bad_payloads(self) -> None:
        """Payloads that are no JSON, or do not match, are refused; deep ones, too."""
        for data in (b"", b"{", b"\xff", b"[]", b'{"id": "x"}', b"[" * 200_000):
            self.assertRaises(BadPayload, self.read, data)

    def test_unchecked(self) -> None:
        """Without the check any JSON passes."""
        self.format.checked = False
        self.assertEqual(self.read(b"[]"), [])
        self.assertEqual(self.write({"id": "x"}), b'P{"id":"x"}')

    def test_target(self) -> None:
        """A reader's schema is checked in place of the writer's."""
        self.assertEqual(self.read(b"[]", target='{"type": "array"}'), [])
        self.assertRaises(BadPayload, self.read, b'{"id": 1}', target='{"type": "array"}')

    def test_references(self) -> None:
        """A schema may refer to others by their names; nothing is fetched from elsewhere."""
        outer = '{"type": "object", "properties": {"by": {"$ref": "user.json"}}}'
        references = {"user.json": USER}
        self.assertEqual(self.write({"by": {"id": 1}}, outer, **references), b'P{"by":{"id":1}}')
        self.assertRaises(BadValue, self.write, {"by": {}}, outer, **references)
        for where in ("missing.json", "http://127.0.0.1:9/x.json"):
            text = json.dumps({"properties": {"by": {"$ref": where}}})
            with self.assertRaises(BadValue) as caught:
                self.write({"by": {"id": 1}}, text)
            self.assertIn(where, str(caught.exception))

    def test_relative_references(self) -> None:
        """A reference is relative to the $id around it, and found by its name or by the URL that it means."""
        person = {"type": "object", "properties": {"a": {"$ref": "addr.json"}}}
        address = {"properties": {"zip": {"$ref": "zip.json"}}}
        within = "https://x.test/p/"
        for own, other, name in (
            ({"$id": f"{within}person.json"}, {}, "addr.json"),
            ({"$id": f"{within}person.json"}, {"$id": f"{within}addr.json"}, "addr.json"),
            ({"$id": f"{within}person.json"}, {"$id": "https://y.test/q/a.json"}, "addr.json"),
            ({"$id": f"{within}person.json"}, {}, f"{within}addr.json"),
            ({}, {}, "addr.json"),
            ({"$schema": "http://json-schema.org/draft-04/schema#", "id": within}, {}, "addr.json"),
        ):
            text = json.dumps({**own, **person})
            others = {"zip.json": '{"type": "integer"}', name: json.dumps({**other, **address})}
            self.assertEqual(self.read(b'{"a":{"zip":5}}', text, **others), {"a": {"zip": 5}})
            error = self.assertRaises(BadPayload, self.read, b'{"a":{"zip":"x"}}', text, **others)
            self.assertIn("integer", str(error))

    def test_missing_reference(self) -> None:
        """A reference that no name means is an error."""
        text = '{"$id": "https://x.test/p/a.json", "$ref": "https://y.test/b.json"}'
        error = self.assertRaises(BadPayload, self.read, b"5", text, **{"b.json": '{"type": "integer"}'})
        self.assertIn("not registered", str(error))

    def test_beyond_doubles(self) -> None:
        """A number that is beyond a double is refused, and others keep their digits."""
        self.assertRaises(BadPayload, self.read, b"1e999", '{"type": "number"}')
        self.assertEqual(self.read(b"1e10", '{"type": "number"}'), 1e10)
        found = self.read(b"0.12345678901234567890", '{"type": "number"}')
        self.assertEqual((found, found.text), (0.12345678901234568, "0.12345678901234567890"))

    def test_invalid(self) -> None:
        """Texts that are no schemas are refused."""
        for text in ("", "{", "[]", "7", '{"type": "recor"}'):
            self.assertRaises(InvalidSchema, self.format.reader, self.schema(text), {}, None)
