"""Tests of kafkatx.schemas.messages.protobuf.message_values."""

from __future__ import annotations

from datetime import datetime, timezone
from typing import Any

from twisted.trial.unittest import SynchronousTestCase

from kafkatx.schemas.messages.errors import BadPayload
from kafkatx.schemas.messages.protobuf.message_classes import MessageClasses
from kafkatx.schemas.messages.protobuf.message_values import as_dict, fields_of
from kafkatx.schemas.types import Schema, SchemaType

TEXT = """syntax = "proto3";
import "google/protobuf/timestamp.proto";
import "google/protobuf/wrappers.proto";
import "google/protobuf/struct.proto";
message A {
  int64 id = 1;
  optional string name = 2;
  E kind = 3;
  map<int32, B> parts = 4;
  repeated B list = 5;
  bytes raw = 6;
  google.protobuf.Timestamp at = 7;
  google.protobuf.Int32Value wrapped = 8;
  google.protobuf.Struct free = 9;
  B one = 10;
  A deeper = 11;
}
message B { double x = 1; }
enum E { ZERO = 0; ONE = 1; }
"""


class FieldsTests(SynchronousTestCase):
    def setUp(self) -> None:
        """Make the class."""
        self.kind: Any = MessageClasses(Schema(TEXT, SchemaType.PROTOBUF), {}).at((0,))

    def test_set(self) -> None:
        """Each kind of field has its value."""
        message = self.kind(id=1 << 60, name="", kind=1, raw=b"\xff", list=[{"x": 0.5}], one={})
        message.parts[3].x = 1.5
        message.at.seconds, message.at.nanos = 1431857103, 5000
        message.wrapped.value = 0
        message.free["a"] = 1
        found = fields_of(message)
        self.assertEqual(found.pop("free"), '{"a": 1.0}')
        self.assertEqual(
            found,
            {
                "id": 1 << 60,
                "name": "",
                "kind": "ONE",
                "parts": {"3": {"x": 1.5}},
                "raw": b"\xff",
                "list": [{"x": 0.5}],
                "wrapped": 0,
                "one": {"x": 0.0},
                "deeper": None,
                "at": datetime(2015, 5, 17, 10, 5, 3, 5, timezone.utc),
            },
        )

    def test_unset(self) -> None:
        """Fields with presence are None, others have their defaults; unknown enum values are numbers."""
        found = fields_of(self.kind(kind=7))
        self.assertEqual((found["name"], found["at"], found["one"], found["id"]), (None, None, None, 0))
        self.assertEqual((found["kind"], found["parts"], found["list"]), ("7", {}, []))

    def test_extremes(self) -> None:
        """A time beyond Python's is None; a message that is nested too deeply is an error."""
        message = self.kind()
        message.at.seconds = 1 << 50
        self.assertIsNone(fields_of(message)["at"])
        inner = message
        for _ in range(150):
            inner = inner.deeper
            inner.id = 1
        self.assertRaises(ValueError, fields_of, message)


class JsonTests(SynchronousTestCase):
    def test_no_json(self) -> None:
        """An Any of an unknown type and a time beyond the year 9999 are faults of their message."""
        text = (
            'syntax = "proto3"; import "google/protobuf/any.proto"; import "google/protobuf/timestamp.proto";'
        )
        text += "message A { google.protobuf.Any any = 1; google.protobuf.Timestamp at = 2; }"
        kind: Any = MessageClasses(Schema(text, SchemaType.PROTOBUF), {}).at((0,))
        unknown, late = kind(any={"type_url": "xy", "value": b"1"}), kind()
        late.at.seconds = 1 << 50
        self.assertIn("a message A without JSON", str(self.assertRaises(BadPayload, as_dict, unknown)))
        self.assertRaises(BadPayload, as_dict, late)
        self.assertRaises(BadPayload, fields_of, unknown)
