"""Tests of kafkatx.spark.sink.schemas.plain_values."""

from __future__ import annotations

from datetime import date, datetime, timezone
from typing import Any

import pyarrow as pa
from twisted.trial.unittest import SynchronousTestCase

from kafkatx.schemas.types import SchemaType
from kafkatx.spark.sink.schemas.plain_values import values_of

INNER = pa.struct([("n", pa.int32()), ("when", pa.timestamp("us", "UTC"))])
TYPE = pa.struct(
    [
        ("id", pa.int64()),
        ("tags", pa.map_(pa.string(), pa.string())),
        ("list", pa.list_(INNER)),
        ("day", pa.date32()),
        ("by", pa.map_(pa.string(), INNER)),
    ]
)
NOON = datetime(2026, 1, 2, 12, tzinfo=timezone.utc)
FULL = {
    "id": 1,
    "tags": [("a", "b")],
    "list": [{"n": 1, "when": NOON}, {"n": None, "when": None}, None],
    "day": date(2026, 1, 2),
    "by": [("x", {"n": 2, "when": NOON}), ("y", None)],
}
EMPTY = dict.fromkeys(FULL)


class ValuesTests(SynchronousTestCase):
    def values(self, kind: SchemaType, dtype: pa.DataType = TYPE, *given: Any) -> list[Any]:
        """Convert rows."""
        return values_of(pa.array(given or (FULL, EMPTY, None), dtype), kind)

    def test_avro(self) -> None:
        """Maps are dicts at any depth; null is None, also in structs."""
        full = {**FULL, "tags": {"a": "b"}, "by": {"x": {"n": 2, "when": NOON}, "y": None}}
        self.assertEqual(self.values(SchemaType.AVRO), [full, EMPTY, None])

    def test_json(self) -> None:
        """Fields that are null are left out, and times are text."""
        noon = NOON.isoformat()
        full = {
            "id": 1,
            "tags": {"a": "b"},
            "list": [{"n": 1, "when": noon}, {}, None],
            "day": "2026-01-02",
            "by": {"x": {"n": 2, "when": noon}, "y": None},
        }
        self.assertEqual(self.values(SchemaType.JSON), [full, {}, None])

    def test_protobuf(self) -> None:
        """Fields that are null are left out."""
        self.assertEqual(self.values(SchemaType.PROTOBUF, INNER, {"n": 1, "when": None}), [{"n": 1}])

    def test_as_they_are(self) -> None:
        """Other values need no conversion."""
        for dtype, value in ((pa.string(), "a"), (pa.int32(), 1), (pa.list_(pa.int32()), [1, None])):
            self.assertEqual(self.values(SchemaType.AVRO, dtype, value, None), [value, None])
