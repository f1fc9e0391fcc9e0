"""The folder of a row: ``date=2015-05-19/hour=19``, as in tables of Hive.

``date`` and ``hour`` are those of the row's time, in UTC; any other name is that of a column. All is done by
whole batches.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from kafkatx.errors import SettingError
from kafkatx.spark.ingest.table.columns import Column

DERIVED = ("date", "hour")
NULL = "__HIVE_DEFAULT_PARTITION__"

Values: TypeAlias = tuple[str | None, ...]
"""One value for each column that the table is partitioned by."""

NAMING = frozenset(("string", "int", "bigint", "boolean", "date"))
_TIMES = frozenset(("timestamp", "date", "string", "bigint"))
_TIMESTAMP = pa.timestamp("us", tz="UTC")
# As Spark's ExternalCatalogUtils.escapePathName, and NUL, which no file system takes.
_ESCAPED = {chr(code) for code in (*range(0x20), 0x7F)} | set("\"#%'*/:=?\\{[]^")
_MOST_NAME_BYTES, _MOST_PATH_BYTES = 255, 2048
_PLAIN, _MILLISECONDS = pa.timestamp("us"), pa.timestamp("ms", tz="UTC")
# Years 1 to 9999: others have no date in Python, nor in most readers.
_EARLIEST_US, _END_US = -62_135_596_800_000_000, 253_402_300_800_000_000


def folder(names: Sequence[str], values: Values) -> str:
    """Return the folder of rows with these values; empty without names."""
    return "/".join(
        f"{escaped(name)}={NULL if value in (None, '') else escaped(str(value))}"
        for name, value in zip(names, values, strict=True)
    )


def most_bytes(names: Sequence[str]) -> int:
    """Return the maximum bytes of one folder's name: all of the names together are part of a file's path."""
    return min(_MOST_NAME_BYTES, _MOST_PATH_BYTES // max(1, len(names)))


def escaped(text: str) -> str:
    """Escape a name or value for a folder's name."""
    return "".join(f"%{ord(char):02X}" if char in _ESCAPED else char for char in text)


def check_columns(
    columns: Sequence[Column], partition_by: Sequence[str], time_column: str, final: bool
) -> None:
    """See that a table can be partitioned so.

    :param final: whether there will be no more columns; otherwise rows may lack one, which then is null.
    :raises SettingError: a column is missing, or of a type that makes no folder's name or no time.
    """
    types = {column.name: column.type for column in columns}
    for name in partition_by:
        if len(f"{escaped(name)}={NULL}".encode()) > most_bytes(partition_by):
            raise SettingError(f"partition-by {name}: the name is too long for a folder's")
    needed = [name for name in partition_by if name not in DERIVED]
    wanted = [("partition-by", name, NAMING) for name in needed]
    if len(needed) < len(partition_by):
        wanted.append(("time-column", time_column, _TIMES))
    for option, name, allowed in wanted:
        if final and name not in types:
            raise SettingError(f"{option} {name}: there is no such column: there are {', '.join(types)}")
        if name in types and types[name] not in allowed:
            raise SettingError(f"{option} {name}: a column of type {types[name]} cannot be used for it")


def file_columns(columns: Sequence[Column], partition_by: Sequence[str]) -> list[Column]:
    """Return the columns in the files: all but those that the folders hold.

    A column that happens to be called ``date`` or ``hour``, where the table is partitioned by the derived
    one, is stored with ``_`` behind its name.
    """
    names = {column.name for column in columns}
    return [
        column._replace(name=_stored_name(column.name, partition_by, names))
        for column in columns
        if column.name not in partition_by or column.name in DERIVED
    ]


def folder_columns(columns: Sequence[Column], partition_by: Sequence[str]) -> list[Column]:
    """Return the columns that the folders hold, and their types."""
    types = {column.name: column.type for column in columns}
    derived = {"date": "date", "hour": "int"}  # as Spark, too, takes them to be
    return [Column(name, derived.get(name) or types.get(name, "string")) for name in partition_by]


def _stored_name(name: str, partition_by: Sequence[str], names: set[str]) -> str:
    if name not in DERIVED or name not in partition_by:
        return name
    stored = f"{name}_"
    while stored in names:
        stored += "_"
    return stored


class Partitioning:
    """Deals the rows of batches out by folder."""

    def __init__(self, partition_by: Sequence[str], time_column: str | None) -> None:
        self._by = tuple(partition_by)
        self._time_column = time_column

    def split(self, batch: pa.RecordBatch) -> Iterator[tuple[Values, pa.RecordBatch]]:
        """Yield each folder's values and the rows that belong there, in order, with the files' columns.

        A batch of which all rows belong together is not copied.
        """
        if not self._by:
            yield (), batch
            return
        if not batch.num_rows:
            return
        codes, values = self._codes(batch)
        stored = self._stored(batch)
        if len(values) == 1:
            yield values[0], stored
            return
        order, start = pc.sort_indices(codes), 0  # stable: rows of a folder stay in order
        for found in pc.value_counts(codes.take(order)).to_pylist():
            yield values[found["values"]], stored.take(order.slice(start, found["counts"]))
            start += found["counts"]

    def _stored(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        """Leave out what folders tell."""
        names = set(batch.schema.names)
        kept = [name for name in batch.schema.names if name not in self._by or name in DERIVED]
        return pa.RecordBatch.from_arrays(
            [batch.column(name) for name in kept], [_stored_name(name, self._by, names) for name in kept]
        )

    def _codes(self, batch: pa.RecordBatch) -> tuple[npt.NDArray[np.int64], list[Values]]:
        """Return for each row the number of its folder, and the folders' values."""
        times = self._times(batch) if set(DERIVED) & set(self._by) else None
        codes = pa.repeat(pa.scalar(0, pa.int64()), batch.num_rows)
        folders: list[Values] = [()]
        for name in self._by:
            keys = pc.dictionary_encode(self._key(name, batch, times), null_encoding="encode")
            texts = [_text(name, value) for value in keys.dictionary.to_pylist()]
            size = len(texts)
            pairs = pc.add(pc.multiply(codes, size), keys.indices.cast(pa.int64()))
            encoded = pc.dictionary_encode(pairs)  # again: or many columns would make numbers too large
            folders = [(*folders[n // size], texts[n % size]) for n in encoded.dictionary.to_pylist()]
            codes = encoded.indices.cast(pa.int64())
        return codes, folders

    def _key(self, name: str, batch: pa.RecordBatch, times: pa.Array) -> pa.Array:
        """Return the value that rows of one folder share."""
        if name == "date":
            return times.cast(pa.date32())
        if name == "hour":
            return pc.hour(times)
        if name not in batch.schema.names:
            return pa.nulls(batch.num_rows, pa.string())
        return batch.column(name)

    def _times(self, batch: pa.RecordBatch) -> pa.Array:
        """Return the rows' times in UTC, without a time zone; null where there is no readable one."""
        if self._time_column is None or self._time_column not in batch.schema.names:
            return pa.nulls(batch.num_rows, _PLAIN)
        times = to_times(batch.column(self._time_column)).cast(pa.int64())
        known = pc.and_(pc.greater_equal(times, _EARLIEST_US), pc.less(times, _END_US))
        return pc.if_else(known, times, None).cast(_PLAIN)


def _text(name: str, value: object) -> str | None:
    """Return a value as it stands in a folder's name."""
    if value is None:
        return None
    if name == "hour":
        return f"{value:02}"
    return str(value).lower() if isinstance(value, bool) else str(value)


def to_times(column: pa.Array) -> pa.Array:
    """Timestamps as they are, text as ISO 8601 (UTC if it names no zone), numbers as milliseconds."""
    if column.type == _TIMESTAMP:
        return column
    if pa.types.is_string(column.type):
        return _each_that_can(column, _parsed)
    if pa.types.is_int64(column.type):
        return _each_that_can(column, lambda numbers: numbers.cast(_MILLISECONDS).cast(_TIMESTAMP))
    return column.cast(_PLAIN).cast(_TIMESTAMP) if pa.types.is_date(column.type) else _no_times(len(column))


def _parsed(texts: pa.Array) -> pa.Array:
    try:
        return texts.cast(_TIMESTAMP)
    except pa.ArrowInvalid:
        return texts.cast(_PLAIN).cast(pa.int64()).cast(_TIMESTAMP)


def _each_that_can(column: pa.Array, convert: Callable[[pa.Array], pa.Array]) -> pa.Array:
    """Convert a column; null where a value cannot be converted."""
    try:
        return convert(column)
    except pa.ArrowInvalid:
        if len(column) == 1:
            return _no_times(1)
    half = len(column) // 2
    return pa.concat_arrays([_each_that_can(part, convert) for part in (column[:half], column[half:])])


def _no_times(rows: int) -> pa.Array:
    return pa.nulls(rows, _TIMESTAMP)
