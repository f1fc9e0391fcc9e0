"""Files of rows, read back by other readers."""

from __future__ import annotations

import io
import json
from datetime import date, datetime, timezone
from typing import Any

import fastavro
import pyarrow as pa
import pyarrow.parquet as parquet
from fastavro.read import LOGICAL_READERS
from twisted.trial.unittest import SynchronousTestCase

from kafkatx.errors import SettingError
from kafkatx.spark.ingest.table.columns import Column, arrow_schema
from kafkatx.spark.ingest.table.formats import avro_names, check_format, format_writer

TIME = datetime(2015, 5, 19, 19, 0, 0, 123000, tzinfo=timezone.utc)
COLUMNS = {
    "b": ("boolean", True),
    "i": ("int", -1),
    "l": ("bigint", 1 << 62),
    "d": ("double", 0.5),
    "s": ("string", 'caf\u00e9 "\n'),
    "x": ("binary", b"\x00\xff"),
    "day": ("date", date(2015, 5, 19)),
    "t": ("timestamp", TIME),
    "a": ("array<struct<k:string,v:binary>>", [{"k": "n", "v": b"1"}, {"k": None, "v": None}]),
    "o-o": ("struct<`a b`:bigint,`a-b`:string>", {"a b": 1, "a-b": "x"}),
}
SCHEMA = arrow_schema(Column(name, kind) for name, (kind, _) in COLUMNS.items())
ROW = {name: value for name, (_, value) in COLUMNS.items()}
NULLS: dict[str, Any] = dict.fromkeys(COLUMNS)


class Kept(io.BytesIO):
    """A stream whose bytes can be had after it was closed."""

    def close(self) -> None:
        """Keep them."""
        self.data = self.getvalue()
        super().close()


def written(name: str, rows: list[dict[str, Any]], compression: str = "none", schema: Any = SCHEMA) -> bytes:
    """A file of these rows, in two batches."""
    stream = Kept()
    writer = format_writer(name, stream, schema, compression)
    for part in (rows[:1], rows[1:]):
        writer.write([pa.RecordBatch.from_pylist(part, schema=schema)])
    assert writer.tell() <= len(stream.getvalue()) or name == "json"
    writer.close()
    return stream.data


class ParquetTests(SynchronousTestCase):
    def test_types(self) -> None:
        """Every type comes back, with the type that Spark reads it as; each write is a row group."""
        for compression in ("none", "snappy", "zstd"):
            data = written("parquet", [ROW, NULLS], compression)
            file = parquet.ParquetFile(io.BytesIO(data))
            self.assertEqual(file.read().to_pylist(), [ROW, NULLS])
            self.assertEqual(file.num_row_groups, 2)
            stored = str(file.schema)
            self.assertIn("isAdjustedToUTC=true, timeUnit=microseconds", stored)
            codec = file.metadata.row_group(0).column(0).compression
            self.assertEqual(codec, {"none": "UNCOMPRESSED"}.get(compression, compression.upper()))


class JsonTests(SynchronousTestCase):
    def test_as_spark_writes(self) -> None:
        """A line for each row: no nulls, base64, times in UTC with milliseconds."""
        lines = written("json", [ROW, NULLS]).decode().splitlines()
        self.assertEqual(lines[1], "{}")
        self.assertEqual(
            json.loads(lines[0]),
            {
                **ROW,
                "x": "AP8=",
                "day": "2015-05-19",
                "t": "2015-05-19T19:00:00.123Z",
                "a": [{"k": "n", "v": "MQ=="}, {}],
            },
        )
        self.assertIn("caf\u00e9", lines[0])

    def test_times(self) -> None:
        """Microseconds are kept where there are some; what no calendar has is left out."""
        schema = arrow_schema([Column("t", "timestamp")])
        stream = Kept()
        writer = format_writer("json", stream, schema, "none")
        times = pa.array([1_000_001, (1 << 63) - 1], pa.int64()).cast(schema.field("t").type)
        writer.write([pa.record_batch([times], schema=schema)])
        writer.close()
        self.assertEqual(stream.data, b'{"t":"1970-01-01T00:00:01.000001Z"}\n{}\n')

    def test_no_numbers(self) -> None:
        """NaN and infinity are text, as Spark writes them: JSON has no word for them."""
        rows = [{"d": float(text)} for text in ("nan", "inf", "-inf")]
        data = written("json", rows, schema=arrow_schema([Column("d", "double")]))
        self.assertEqual(data, b'{"d":"NaN"}\n{"d":"Infinity"}\n{"d":"-Infinity"}\n')


class AvroTests(SynchronousTestCase):
    def test_types(self) -> None:
        """Every type comes back; names that Avro forbids are changed and stay apart."""
        for compression in ("none", "snappy"):
            reader = fastavro.reader(io.BytesIO(written("avro", [ROW, NULLS], compression)))
            self.assertEqual(reader.codec, {"none": "null"}.get(compression, compression))
            expected = {**ROW, "o_o": {"a_b": 1, "a_b_2": "x"}}
            del expected["o-o"]
            self.assertEqual(list(reader), [expected, dict.fromkeys(expected)])

    def test_names(self) -> None:
        """Letters, digits and underscores, no digit first, each once."""
        self.assertEqual(
            avro_names(["a", "a-b", "a b", "1", "", "\u00e9"]), ["a", "a_b", "a_b_2", "_1", "_", "__2"]
        )

    def test_any_time(self) -> None:
        """A time that no calendar has is stored all the same."""
        schema = arrow_schema([Column("t", "timestamp")])
        stream = Kept()
        writer = format_writer("avro", stream, schema, "none")
        writer.write(
            [pa.record_batch([pa.array([1 << 62], pa.int64()).cast(schema.field("t").type)], schema=schema)]
        )
        writer.close()
        read_time = LOGICAL_READERS.pop("long-timestamp-micros")
        self.addCleanup(LOGICAL_READERS.__setitem__, "long-timestamp-micros", read_time)
        self.assertEqual(list(fastavro.reader(io.BytesIO(stream.data))), [{"t": 1 << 62}])


class CheckTests(SynchronousTestCase):
    def test_codecs(self) -> None:
        """A format that cannot be written is refused before anything is read."""
        self.assertIn("zstd", str(self.assertRaises(SettingError, check_format, "avro", "zstd")))
        for name, compression in (("avro", "snappy"), ("parquet", "zstd"), ("json", "snappy")):
            check_format(name, compression)
