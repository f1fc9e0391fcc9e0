"""Tests of kafkatx.spark.sink.schemas.derived, against fastavro."""

from __future__ import annotations

import io
import json
from datetime import date, datetime, timezone
from decimal import Decimal
from typing import Any

import fastavro
from pyspark.sql.types import (
    ArrayType,
    DataType,
    DecimalType,
    IntegerType,
    MapType,
    StringType,
    StructType,
    VariantType,
    YearMonthIntervalType,
)
from twisted.trial.unittest import SynchronousTestCase

from kafkatx.errors import SettingError
from kafkatx.spark.sink.schemas.derived import avro_schema, record_name

NOON = datetime(2026, 1, 2, 12, 30, 0, 123456)
VALUES: dict[str, Any] = {
    "boolean": True,
    "byte": 1,
    "short": 2,
    "integer": 3,
    "long": 1 << 40,
    "float": 0.5,
    "double": 0.25,
    "string": "a",
    "binary": b"b",
    "date": date(2026, 1, 2),
    "timestamp": NOON.replace(tzinfo=timezone.utc),
    "timestamp_ntz": NOON,
}


class AvroSchemaTests(SynchronousTestCase):
    def round_trip(self, dtype: DataType, value: Any) -> Any:
        """Write and read a value with the schema of its type."""
        schema = json.loads(avro_schema(dtype, "r"))
        stream = io.BytesIO()
        fastavro.schemaless_writer(stream, fastavro.parse_schema(schema), value)
        return fastavro.schemaless_reader(io.BytesIO(stream.getvalue()), schema, None)

    def test_every_type(self) -> None:
        """Values of each type, alone, in arrays, maps and records, are read as they were; so is null."""
        struct = StructType()
        for name in VALUES:
            struct = struct.add(name, name)
        struct = struct.add("amount", DecimalType(12, 3))
        values = {**VALUES, "amount": Decimal("12.345")}
        self.assertEqual(self.round_trip(struct, values), values)
        nothing = dict.fromkeys(values)
        self.assertEqual(self.round_trip(struct, nothing), nothing)
        nested = (
            StructType().add("all", ArrayType(struct)).add("by", MapType(struct["integer"].dataType, struct))
        )
        self.assertRaises(SettingError, avro_schema, nested, "r")  # a map's keys are text
        nested = StructType().add("all", ArrayType(struct)).add("one", struct, nullable=False)
        self.assertEqual(
            self.round_trip(nested, {"all": [values, None], "one": values}),
            {"all": [values, None], "one": values},
        )
        counts = MapType(StringType(), IntegerType())
        self.assertEqual(self.round_trip(counts, {"a": 1, "b": None}), {"a": 1, "b": None})

    def test_nullable(self) -> None:
        """Each field has null as its default, so that later and older schemas may do without it."""
        struct = StructType().add("a", "integer").add("b", "integer", nullable=False)
        fields = [{"name": name, "type": ["null", "int"], "default": None} for name in ("a", "b")]
        expected = {"type": "record", "name": "r", "fields": fields}
        self.assertEqual(json.loads(avro_schema(struct, "r")), expected)

    def test_refused(self) -> None:
        """Types and names that Avro lacks are named."""
        for dtype in (YearMonthIntervalType(), VariantType()):
            error = self.assertRaises(SettingError, avro_schema, StructType().add("x", dtype), "r")
            self.assertIn(f"r_x: the type {dtype.simpleString()} has no equivalent in Avro", str(error))
        error = self.assertRaises(SettingError, avro_schema, StructType().add("a b", "integer"), "r")
        self.assertIn("'a b'", str(error))

    def test_record_name(self) -> None:
        """Topics may have names that records may not."""
        names = [record_name(topic) for topic in ("orders", "a.b-c", "2024")]
        self.assertEqual(names, ["orders", "a_b_c", "_2024"])
