"""Messages with schemas of a registry; the writers are those of clients."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from twisted.trial.unittest import SynchronousTestCase

from kafkatx.schemas import framing
from kafkatx.schemas.messages.formats import new_format
from kafkatx.schemas.types import Schema, SchemaType
from kafkatx.views.filter.operators import UNDECODED
from kafkatx.views.formats import registered
from kafkatx.views.formats.registered import RegisteredFormat, SchemaMissed, Schemas

AVRO = json.dumps(
    {
        "type": "record",
        "name": "Order",
        "fields": [{"name": "id", "type": "long"}, {"name": "who", "type": "string"}],
    }
)
JSON = json.dumps({"type": "object", "properties": {"id": {"type": "integer"}}, "required": ["id"]})
PROTO = 'syntax = "proto3"; message Order { int32 id = 1; string who = 2; }'
TEXTS = {SchemaType.AVRO: AVRO, SchemaType.JSON: JSON, SchemaType.PROTOBUF: PROTO}
GUID = "0e2f2a7a-1111-4222-8333-444455556666"


def described(kind: SchemaType, number: int | None = 7, **more: object) -> dict[str, object]:
    """Return the description of a schema."""
    return {"type": kind.value, "schema": TEXTS[kind], "dependencies": {}, "id": number, **more}


def message(kind: SchemaType, value: Any, number: int = 7) -> bytes:
    """Return a message as clients write it."""
    _, write = new_format(kind).writer(Schema(TEXTS[kind], kind), {}, framing.prefix(number), None)
    return write(value)


SLOW = [HealthCheck.too_slow]


class RegisteredCase(SynchronousTestCase):
    def setUp(self) -> None:
        """Make schemas of each language, by ids 1 to 3."""
        self.schemas = Schemas()
        self.schemas.take({f"id:{n}": described(kind, n) for n, kind in enumerate(TEXTS, 1)})

    def format(self, name: str = "auto") -> RegisteredFormat:
        """Make a format of values."""
        return RegisteredFormat(name, self.schemas, framing.VALUE_HEADER)


class ReadTests(RegisteredCase):
    def test_languages(self) -> None:
        """A message of each language is read by its own format and by auto."""
        for number, (kind, name) in enumerate(
            ((SchemaType.AVRO, "avro"), (SchemaType.JSON, "json-schema"), (SchemaType.PROTOBUF, "protobuf")),
            1,
        ):
            value = {"id": 5} if kind is SchemaType.JSON else {"id": 5, "who": "é"}
            data = message(kind, value, number)
            for asked in (name, "auto"):
                found = self.format(asked).decode(data, [])
                self.assertEqual((found.format, found.value, found.fault), (name, value, ""))
                assert found.schema is not None
                self.assertEqual((found.schema.id, found.schema.type), (number, kind.value))

    def test_header(self) -> None:
        """The schema may be in a header; the payload is then bare."""
        self.schemas.take({f"guid:{GUID}": described(SchemaType.AVRO, None, guid=GUID)})
        data = message(SchemaType.AVRO, {"id": 5, "who": "a"})[framing.PREFIX_SIZE :]
        headers: list[tuple[str, bytes | None]] = [(framing.VALUE_HEADER, framing.header_value(GUID))]
        found = self.format().decode(data, headers)
        self.assertEqual((found.format, found.value), ("avro", {"id": 5, "who": "a"}))
        assert found.schema is not None
        self.assertEqual(found.schema.guid, GUID)

    def test_header_indexes(self) -> None:
        """Message indexes of a header that name no message, or are missing, are a fault of the message."""
        self.schemas.take({f"guid:{GUID}": described(SchemaType.PROTOBUF, None, guid=GUID)})
        for indexes in (b"\2\x0e", b"\2", b""):
            header = framing.header_value(GUID) + indexes
            found = self.format("protobuf").decode(b"\0", [(framing.VALUE_HEADER, header)])
            self.assertNotEqual(found.fault, "")

    def test_without_schema(self) -> None:
        """A message without schema is recognized by auto, and a fault of the formats with one."""
        self.assertEqual(self.format().decode(b'{"a": 1}', []).format, "json")
        found = self.format("avro").decode(b'{"a": 1}', [])
        self.assertIn("no prefix with a schema id", found.fault)
        self.assertIs(found.value, UNDECODED)

    def test_other_language(self) -> None:
        """A message of another language than asked for is a fault."""
        found = self.format("protobuf").decode(message(SchemaType.AVRO, {"id": 1, "who": ""}, 1), [])
        self.assertIn("type AVRO", found.fault)

    def test_damaged(self) -> None:
        """A message that does not match its schema is shown as bytes, with the schema and the fault."""
        for number in (1, 2, 3):
            data = framing.prefix(number) + b"\xff\xff\xff"
            found = self.format().decode(data, [])
            self.assertEqual((found.format, found.text), ("hex", data.hex()))
            self.assertIn(f"schema {number}", found.fault)
            self.assertIs(found.value, UNDECODED)

    @settings(max_examples=50, deadline=None, suppress_health_check=SLOW)
    @given(st.binary(max_size=30), st.integers(1, 3))
    def test_any_payload(self, payload: bytes, number: int) -> None:
        """No payload is an error."""
        schemas = Schemas()
        schemas.take({f"id:{n}": described(kind, n) for n, kind in enumerate(TEXTS, 1)})
        RegisteredFormat("auto", schemas, "").decode(framing.prefix(number) + payload, [])


class MissingTests(RegisteredCase):
    def test_missing(self) -> None:
        """A schema that is not known is named, and its messages are read once it is given."""
        data = message(SchemaType.AVRO, {"id": 5, "who": "a"}, 9)
        self.assertRaises(SchemaMissed, self.format().decode, data, [])
        self.assertEqual(list(self.schemas.missing), ["id:9"])
        self.schemas.take({"id:9": described(SchemaType.AVRO, 9)})
        self.assertEqual(self.schemas.missing, {})
        self.assertEqual(self.format().decode(data, []).format, "avro")

    def test_unknown(self) -> None:
        """A schema that the registry lacks is a fault of its messages, until it is asked again."""
        self.schemas.take({"id:9": {"error": "Schema 9 not found"}})
        data = framing.prefix(9) + b"x"
        self.assertEqual(self.format().decode(data, []).fault, "schema 9: Schema 9 not found")
        self.assertEqual(self.format("avro").decode(data, []).fault, "schema 9: Schema 9 not found")
        self.schemas.take({})
        self.assertRaises(SchemaMissed, self.format().decode, data, [])

    def test_many(self) -> None:
        """Random bytes name any number of schemas: few are asked for, and none in the last attempt."""
        for number in range(registered.MOST_MISSING + 10):
            self.assertRaises(SchemaMissed, self.format().decode, framing.prefix(100 + number), [])
        self.assertEqual(len(self.schemas.missing), registered.MOST_MISSING)
        self.schemas.asks = False
        self.assertIn("not looked up", self.format().decode(framing.prefix(100), []).fault)

    def test_kept(self) -> None:
        """The number of schemas that are kept is bounded."""
        self.patch(registered, "MOST_SCHEMAS", 4)
        self.schemas.take({"id:8": described(SchemaType.AVRO), "id:9": described(SchemaType.AVRO)})
        data = message(SchemaType.AVRO, {"id": 5, "who": "a"}, 1)
        self.assertRaises(SchemaMissed, self.format().decode, data, [])

    def test_invalid(self) -> None:
        """A schema that cannot be used is a fault."""
        self.schemas.take({"id:9": {**described(SchemaType.AVRO), "schema": "{"}})
        self.assertIn("cannot be used", self.format().decode(framing.prefix(9) + b"x", []).fault)
