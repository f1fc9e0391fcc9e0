"""Columns become Arrow batches of exactly the types that Spark expects."""

from __future__ import annotations

from datetime import datetime, timezone
from typing import Any

import pyarrow as pa
from pyspark.sql.pandas.types import to_arrow_schema
from twisted.trial.unittest import SynchronousTestCase

from kafkatx.blocking import Columns
from kafkatx.spark.arrow.columns import Constants, arrow_schema, pieces, record_batch
from kafkatx.spark.source.data_source import spark_schema


def columns_of(*values: bytes | None, timestamp_ms: int = 1_500, timestamp_type: int = 0) -> Columns:
    """One row per value, with offsets from 10, the value as key, and a header on the first."""
    rows = len(values)
    columns = Columns.empty()
    columns.offsets.extend(range(10, 10 + rows))
    columns.timestamps.extend([timestamp_ms] * rows)
    columns.timestamp_types.extend([timestamp_type] * rows)
    columns.keys.extend(values)
    columns.values.extend(values)
    columns.headers.extend([[("a", b"1"), ("a", None)], *([] for _ in range(rows - 1))])
    return columns


class SchemaTests(SynchronousTestCase):
    def test_as_spark_derives_it(self) -> None:
        """Spark compares the first batch's schema with its own: they are equal, with headers and without."""
        for include_headers in (False, True):
            expected = to_arrow_schema(spark_schema(include_headers), timezone="UTC")
            self.assertTrue(expected.equals(arrow_schema(include_headers)))


class ConstantsTests(SynchronousTestCase):
    def test_every_length(self) -> None:
        """A constant column has as many rows as requested, more than before or fewer."""
        constants = Constants("t", 3)
        for rows in (2, 50, 0, 7):
            self.assertEqual(constants.topic(rows).to_pylist(), ["t"] * rows)
            self.assertEqual(constants.partition(rows).to_pylist(), [3] * rows)
            for kind in (0, 1, 3):
                self.assertEqual(constants.timestamp_type(kind, rows).to_pylist(), [kind] * rows)


class RecordBatchTests(SynchronousTestCase):
    def rows(self, columns: Columns, include_headers: bool = False) -> list[dict[str, Any]]:
        """The rows of the batch that is made of columns; its schema is checked."""
        schema = arrow_schema(include_headers)
        batch = record_batch("t", 3, columns, schema)
        self.assertTrue(batch.schema.equals(schema))
        batch.validate(full=True)
        rows: list[dict[str, Any]] = batch.to_pylist()
        return rows

    def test_every_column(self) -> None:
        """Each field arrives in its column; null and empty stay apart."""
        rows = self.rows(columns_of(b"v", None, b"", timestamp_type=1), include_headers=True)
        self.assertEqual([row["key"] for row in rows], [b"v", None, b""])
        self.assertEqual([row["value"] for row in rows], [b"v", None, b""])
        self.assertEqual([row["offset"] for row in rows], [10, 11, 12])
        self.assertEqual(
            {(row["topic"], row["partition"], row["timestampType"]) for row in rows}, {("t", 3, 1)}
        )
        self.assertEqual(rows[0]["timestamp"], datetime(1970, 1, 1, 0, 0, 1, 500_000, tzinfo=timezone.utc))

    def test_headers(self) -> None:
        """Headers keep order, doubles and nulls; a record without any has null, as in Spark's source."""
        rows = self.rows(columns_of(b"v", b"w"), include_headers=True)
        self.assertEqual(rows[0]["headers"], [{"key": "a", "value": b"1"}, {"key": "a", "value": None}])
        self.assertIsNone(rows[1]["headers"])

    def test_without_headers(self) -> None:
        """Headers are left out where they were not asked for."""
        self.assertNotIn("headers", self.rows(columns_of(b"v"))[0])

    def test_no_timestamp(self) -> None:
        """-1, which stands for none, is 1 ms before 1970, as in Spark's source."""
        row = self.rows(columns_of(b"v", timestamp_ms=-1, timestamp_type=-1))[0]
        self.assertEqual(row["timestamp"], datetime(1969, 12, 31, 23, 59, 59, 999_000, tzinfo=timezone.utc))
        self.assertEqual(row["timestampType"], -1)

    def test_no_64_bits(self) -> None:
        """A base and a difference that together exceed 64 bits are null, too."""
        self.assertIsNone(self.rows(columns_of(b"v", timestamp_ms=1 << 63))[0]["timestamp"])

    def test_timestamp_out_of_range(self) -> None:
        """A time that Spark cannot hold, nanoseconds taken for milliseconds say, is null; others stay."""
        columns = columns_of(b"v", b"w", b"x")
        columns.timestamps[1:] = [1_700_000_000_000_000_000, -(1 << 63)]
        rows = self.rows(columns)
        self.assertEqual(rows[0]["timestamp"], datetime(1970, 1, 1, 0, 0, 1, 500_000, tzinfo=timezone.utc))
        self.assertEqual([rows[1]["timestamp"], rows[2]["timestamp"]], [None, None])


class PiecesTests(SynchronousTestCase):
    def batch(self, rows: int, size: int) -> Any:
        """A batch of rows with values of *size* bytes."""
        return pa.record_batch({"value": [b"x" * size] * rows})

    def test_small(self) -> None:
        """A batch that fits stays one, the same object."""
        batch = self.batch(10, 10)
        self.assertEqual([piece is batch for piece in pieces(batch)], [True])

    def test_by_rows(self) -> None:
        """No piece has more rows than allowed, and none is lost."""
        found = list(pieces(self.batch(10, 1), max_rows=4))
        self.assertEqual([piece.num_rows for piece in found], [4, 4, 2])

    def test_by_bytes(self) -> None:
        """A batch above the byte limit is cut in proportion."""
        batch = self.batch(100, 1000)
        found = list(pieces(batch, max_bytes=30_000))
        self.assertTrue(all(piece.nbytes <= 31_000 for piece in found))
        self.assertTrue(pa.Table.from_batches(found).equals(pa.Table.from_batches([batch])))

    def test_huge_row(self) -> None:
        """A row larger than the limit is a piece of its own."""
        self.assertEqual([piece.num_rows for piece in pieces(self.batch(3, 1000), max_bytes=10)], [1, 1, 1])
