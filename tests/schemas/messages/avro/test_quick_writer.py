"""Tests of kafkatx.schemas.messages.avro.quick_writer against fastavro."""

from __future__ import annotations

import io
import json
from datetime import datetime, timedelta, timezone
from typing import Any

import fastavro
from hypothesis import given
from hypothesis import strategies as st
from twisted.trial.unittest import SynchronousTestCase

from kafkatx.schemas.messages.avro.quick_writer import quick_writer

SCHEMA: dict[str, Any] = {
    "type": "record",
    "name": "R",
    "fields": [
        {"name": "a", "type": "string"},
        {"name": "b", "type": ["null", "long"]},
        {"name": "c", "type": {"type": "long", "logicalType": "timestamp-millis"}},
        {"name": "d", "type": {"type": "array", "items": "int"}},
        {"name": "e", "type": {"type": "map", "values": ["bytes", "null"]}},
        {"name": "f", "type": {"type": "enum", "name": "E", "symbols": ["X", "Y"]}},
        {
            "name": "g",
            "type": ["null", {"type": "record", "name": "I", "fields": [{"name": "x", "type": "double"}]}],
        },
        {"name": "h", "type": "I"},
        {"name": "i", "type": "boolean"},
        {"name": "j", "type": "float"},
        {"name": "k", "type": "null"},
    ],
}
wholes = st.integers(-(1 << 64), 1 << 64) | st.integers(-5000, 5000)
zones: Any = st.sampled_from([timezone.utc, timezone(timedelta(hours=-3)), None])
times = st.datetimes(datetime(1900, 1, 1), datetime(2200, 1, 1), timezones=zones)
inner = st.fixed_dictionaries({"x": st.floats(allow_nan=False) | wholes})
values = st.fixed_dictionaries(
    {
        "a": st.text() | wholes,
        "b": st.none() | wholes | st.booleans() | st.floats(),
        "c": times | wholes,
        "d": st.lists(st.integers(-(1 << 31), (1 << 31) - 1) | wholes, max_size=3),
        "e": st.dictionaries(st.text(), st.none() | st.binary(), max_size=3),
        "f": st.sampled_from(["X", "Y", "Z"]),
        "g": st.none() | inner,
        "h": inner,
        "i": st.booleans() | wholes,
        "j": st.floats(-1e30, 1e30) | wholes,
        "k": st.none() | wholes,
    },
    optional={"more": st.none()},
)


class QuickWriterTests(SynchronousTestCase):
    def setUp(self) -> None:
        """Make the writer."""
        parsed: Any = fastavro.parse_schema(json.loads(json.dumps(SCHEMA)))
        self.parsed = parsed
        writer = quick_writer(parsed, parsed["__named_schemas"], b"P")
        assert writer is not None
        self.write = writer

    @given(values)
    def test_as_fastavro(self, value: dict[str, Any]) -> None:
        """It raises, or writes the bytes that fastavro writes."""
        try:
            found = self.write(value)
        except Exception:
            return
        stream = io.BytesIO()
        stream.write(b"P")
        fastavro.schemaless_writer(stream, self.parsed, value)
        self.assertEqual(found, stream.getvalue())

    def test_usual(self) -> None:
        """It takes the usual values."""
        value = {
            "a": "ä" * 5000,
            "b": -5000,
            "c": datetime(1969, 1, 1, 1, 1, 1, 999_999, timezone.utc),
            "d": [1, -1],
            "e": {"k": b"v", "n": None},
            "f": "Y",
            "g": {"x": 0.5},
            "h": {"x": -1.0},
            "i": True,
            "j": 1.5,
            "k": None,
        }
        stream = io.BytesIO()
        fastavro.schemaless_writer(stream, self.parsed, value)
        self.assertEqual(self.write(value), b"P" + stream.getvalue())

    def test_left_out(self) -> None:
        """Schemas with other unions and logical types, or that contain themselves, are left to fastavro."""
        node = '{"type": "record", "name": "N", "fields": [{"name": "next", "type": ["null", "N"]}]}'
        for text in (
            '["int", "string"]',
            '["null", "int", "string"]',
            '["null", "float"]',
            '{"type": "bytes", "logicalType": "decimal", "precision": 4}',
            '{"type": "fixed", "name": "F", "size": 2}',
            node,
        ):
            named: dict[str, Any] = {}
            parsed: Any = fastavro.parse_schema(json.loads(text), named)
            self.assertIsNone(quick_writer(parsed, named, b""), text)
