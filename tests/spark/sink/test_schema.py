"""Tests of kafkatx.spark.sink.schema."""

from __future__ import annotations

from pyspark.sql.types import (
    ArrayType,
    BinaryType,
    DataType,
    DoubleType,
    IntegerType,
    LongType,
    StringType,
    StructField,
    StructType,
)
from twisted.trial.unittest import SynchronousTestCase

from kafkatx.errors import SettingError
from kafkatx.spark.sink.schema import SinkColumns, sink_columns

TEXT, BYTES = StringType(), BinaryType()
HEADERS = ArrayType(StructType([StructField("key", TEXT, False), StructField("value", BYTES)]), False)


def schema(**types: DataType) -> StructType:
    """A schema of these columns."""
    return StructType([StructField(name, dtype) for name, dtype in types.items()])


class SinkColumnsTests(SynchronousTestCase):
    def test_every_column(self) -> None:
        """Each column is found by its name wherever it stands; others are left alone; nullability is."""
        made = schema(
            other=DoubleType(), partition=IntegerType(), headers=HEADERS, topic=TEXT, value=BYTES, key=TEXT
        )
        expected = SinkColumns(value=4, key=5, headers=2, topic=3, partition=1)
        self.assertEqual(sink_columns(made, None), expected)

    def test_value_only(self) -> None:
        """Only the value is needed, if the option names the topic."""
        self.assertEqual(sink_columns(schema(value=TEXT), "t"), SinkColumns(0))

    def test_option_before_column(self) -> None:
        """With the option the topic column is not looked at; its type is checked nevertheless."""
        self.assertIsNone(sink_columns(schema(value=TEXT, topic=TEXT), "t").topic)
        self.assertRaises(SettingError, sink_columns, schema(value=TEXT, topic=BYTES), "t")

    def test_missing(self) -> None:
        """Without value, or without a topic, there is an error in Spark's words; names are exact."""
        error = self.assertRaises(SettingError, sink_columns, schema(key=TEXT, VALUE=TEXT), "t")
        self.assertIn("Required attribute 'value' not found", str(error))
        error = self.assertRaises(SettingError, sink_columns, schema(value=TEXT), None)
        self.assertIn("topic option required when no 'topic' attribute is present", str(error))

    def test_types(self) -> None:
        """Each column of another type is refused, with the types that it may have."""
        wrong = {
            "value": (DoubleType(), "double. value must be a(n) string or binary"),
            "key": (LongType(), "bigint. key must be a(n) string or binary"),
            "topic": (BYTES, "binary. topic must be a(n) string"),
            "partition": (LongType(), "bigint. partition must be a(n) int"),
            "headers": (
                ArrayType(BYTES),
                "array<binary>. headers must be a(n) array<struct<key:string,value:binary>>",
            ),
        }
        for name, (dtype, said) in wrong.items():
            types: dict[str, DataType] = {"value": TEXT, "topic": TEXT, name: dtype}
            error = self.assertRaises(SettingError, sink_columns, schema(**types), None)
            self.assertIn(f"{name} attribute unsupported type {said}", str(error))
