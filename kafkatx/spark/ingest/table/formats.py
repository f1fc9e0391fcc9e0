"""Files of rows: Parquet, JSON lines as Spark writes them, Avro.

Rows come as Arrow batches of one schema. Every writer is given a stream and closes it.
"""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Callable, Mapping, Sequence
from datetime import date, datetime
from importlib.util import find_spec
from typing import Any, BinaryIO, Protocol

import pyarrow as pa
import pyarrow.compute as pc

from kafkatx.errors import SettingError

_SELDOM_REPEATING = frozenset(("key", "value", "offset", "kafka_offset"))
# Python has dates of the years 1 to 9999.
_EARLIEST_US, _END_US = -62_135_596_800_000_000, 253_402_300_800_000_000


class FormatWriter(Protocol):
    """Writes one file."""

    def write(self, batches: Sequence[pa.RecordBatch]) -> None:
        """Add ``pyarrow.RecordBatch`` objects; in Parquet they become one row group."""

    def tell(self) -> int:
        """Return the number of bytes written."""

    def close(self) -> None:
        """Write what is left; the stream is closed, also if that fails."""


class ParquetWriter:
    """Parquet with the types that Spark writes: timestamps are microseconds, UTC."""

    def __init__(self, stream: BinaryIO, schema: pa.Schema, compression: str) -> None:
        import pyarrow.parquet as parquet

        self._stream = stream
        # Values that seldom repeat make no dictionary, and to find that out takes half of the time.
        self._writer = parquet.ParquetWriter(
            stream,
            schema,
            compression=compression,
            use_dictionary=[name for name in schema.names if name not in _SELDOM_REPEATING],
        )

    def write(self, batches: Sequence[pa.RecordBatch]) -> None:
        """Write one row group."""
        table = pa.Table.from_batches(batches)
        self._writer.write_table(table, row_group_size=max(table.num_rows, 1))

    def tell(self) -> int:
        """Bytes so far, without the footer."""
        return int(self._stream.tell())

    def close(self) -> None:
        """Write the footer and close."""
        try:
            self._writer.close()
        finally:
            self._stream.close()


class JsonWriter:
    """A JSON object on each line: no nulls, binary as base64, times in UTC, as Spark writes them.

    Times are given to the microsecond where they have that; Spark would cut them to milliseconds. One that is
    not of the years 1 to 9999 is left out.
    """

    def __init__(self, stream: BinaryIO, schema: pa.Schema, compression: str) -> None:
        self._stream = stream
        self._bytes = 0

    def write(self, batches: Sequence[pa.RecordBatch]) -> None:
        """Write a line for each row."""
        for batch in batches:
            data = b"".join([_line(row) for row in _each_time(batch, _within_years).to_pylist()])
            self._stream.write(data)
            self._bytes += len(data)

    def tell(self) -> int:
        """Bytes so far."""
        return self._bytes

    def close(self) -> None:
        """Close the stream."""
        self._stream.close()


def _line(row: Mapping[str, object]) -> bytes:
    return json.dumps(_plain(row), ensure_ascii=False, separators=(",", ":")).encode() + b"\n"


def _plain(value: object) -> object:
    """Convert a value to one that JSON has."""
    if isinstance(value, dict):
        return {name: _plain(item) for name, item in value.items() if item is not None}
    if isinstance(value, list):
        return [_plain(item) for item in value]
    if isinstance(value, bytes):
        return base64.b64encode(value).decode()
    if isinstance(value, datetime):
        precision = "microseconds" if value.microsecond % 1000 else "milliseconds"
        return value.isoformat(timespec=precision).replace("+00:00", "Z")
    if isinstance(value, float) and (value != value or value in (float("inf"), float("-inf"))):
        return {"inf": "Infinity", "-inf": "-Infinity"}.get(str(value), "NaN")
    return value.isoformat() if isinstance(value, date) else value


def _each_time(batch: pa.RecordBatch, convert: Callable[[pa.Array], pa.Array]) -> pa.RecordBatch:
    """Convert the columns of times of a batch."""
    columns = [convert(column) if pa.types.is_timestamp(column.type) else column for column in batch.columns]
    return pa.RecordBatch.from_arrays(columns, batch.schema.names)


def _within_years(times: pa.Array) -> pa.Array:
    numbers = times.cast(pa.int64())
    known = pc.and_(pc.greater_equal(numbers, _EARLIEST_US), pc.less(numbers, _END_US))
    return pc.if_else(known, times, None)


class AvroWriter:
    """An Avro object container; see :func:`avro_schema` for names and types."""

    def __init__(self, stream: BinaryIO, schema: pa.Schema, compression: str) -> None:
        from fastavro.write import Writer

        self._stream = stream
        self._names = avro_names(schema.names)
        codec = {"none": "null"}.get(compression, compression)
        self._writer = Writer(stream, avro_schema(schema), codec)
        self._types = [field.type for field in schema]

    def write(self, batches: Sequence[pa.RecordBatch]) -> None:
        """Write a record for each row."""
        for batch in batches:
            # Microseconds go in as the numbers that Avro has for them, of whatever year.
            plain = _each_time(batch, lambda times: times.cast(pa.int64()))
            columns = [
                [_renamed(value, found) for value in column.to_pylist()]
                for column, found in zip(plain.columns, self._types, strict=True)
            ]
            for values in zip(*columns, strict=True):
                self._writer.write(dict(zip(self._names, values, strict=True)))

    def tell(self) -> int:
        """Bytes so far, without the block that is not full."""
        return int(self._stream.tell())

    def close(self) -> None:
        """Write the last block and close."""
        try:
            self._writer.dump()
        finally:
            self._stream.close()


def _renamed(value: Any, found: pa.DataType) -> object:
    """Rename the fields of a value's structs to their names in Avro."""
    if value is None or not pa.types.is_nested(found):
        return value
    if pa.types.is_list(found):
        return [_renamed(item, found.value_type) for item in value]
    fields = list(found)
    names = avro_names([field.name for field in fields])
    return {name: _renamed(value[field.name], field.type) for name, field in zip(names, fields, strict=True)}


def avro_names(names: Sequence[str]) -> list[str]:
    """Names that Avro allows: other characters become ``_``; what is then there already gets a number."""
    found: list[str] = []
    for name in names:
        plain = re.sub(r"[^A-Za-z0-9_]", "_", name)
        plain = plain if re.match(r"[A-Za-z_]", plain) else f"_{plain}"
        number, unique = 1, plain
        while unique in found:
            number += 1
            unique = f"{plain}_{number}"
        found.append(unique)
    return found


_AVRO: dict[pa.DataType, object] = {
    pa.bool_(): "boolean",
    pa.int32(): "int",
    pa.int64(): "long",
    pa.float32(): "float",
    pa.float64(): "double",
    pa.string(): "string",
    pa.binary(): "bytes",
    pa.date32(): {"type": "int", "logicalType": "date"},
    pa.timestamp("us", tz="UTC"): {"type": "long", "logicalType": "timestamp-micros"},
}


def avro_schema(schema: pa.Schema) -> dict[str, object]:
    """Return the Avro schema of columns: every field may be null; structs are records named by their path."""
    return _record(list(schema), "topLevelRecord")


def _record(fields: Sequence[pa.Field], name: str) -> dict[str, object]:
    names = avro_names([field.name for field in fields])
    found = [
        {"name": plain, "type": ["null", _avro_type(field.type, f"{name}_{plain}")], "default": None}
        for plain, field in zip(names, fields, strict=True)
    ]
    return {"type": "record", "name": name, "fields": found}


def _avro_type(found: pa.DataType, path: str) -> object:
    if pa.types.is_struct(found):
        return _record(list(found), path)
    if pa.types.is_list(found):
        return {"type": "array", "items": ["null", _avro_type(found.value_type, path)]}
    return _AVRO[found]


_WRITERS: dict[str, Callable[[BinaryIO, pa.Schema, str], FormatWriter]] = {
    "parquet": ParquetWriter,
    "json": JsonWriter,
    "avro": AvroWriter,
}


def format_writer(name: str, stream: BinaryIO, schema: pa.Schema, compression: str) -> FormatWriter:
    """Return a writer of one file of this format; *schema* is the ``pyarrow.Schema`` of its batches."""
    return _WRITERS[name](stream, schema, compression)


def check_format(name: str, compression: str) -> None:
    """See whether files of this format can be written here.

    :raises SettingError: what it needs is not installed.
    """
    if name != "avro":
        return
    if compression == "zstd":
        raise SettingError("compression zstd: Avro files are written with snappy or none")
    if find_spec("fastavro") is None:
        raise SettingError("format avro: fastavro is not installed: pip install 'kafkatx[avro]'")
