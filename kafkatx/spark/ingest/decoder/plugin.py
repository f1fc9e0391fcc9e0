"""Decoding by an ``IDecoder``: what it gives for each record becomes a row, what it raises a dead letter."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import pyarrow as pa

from kafkatx.spark.ingest.decoder.decoder import DEAD_SCHEMA, KAFKA_COLUMNS, Decoded
from kafkatx.spark.ingest.decoder.fit import TableFit, table_fit
from kafkatx.spark.ingest.decoder.folder_names import FolderNames
from kafkatx.spark.ingest.decoder.rows import Dead, make_array, unknown_fields
from kafkatx.spark.ingest.decoder.scalars import excerpt
from kafkatx.spark.ingest.table.columns import Column, ddl_type

MAX_REASON = 500
SINGLE = "value"
"""The column of objects that are no mappings."""

_RESERVED = tuple(KAFKA_COLUMNS)
_NOTHING: Mapping[object, object] = {}


class PluginDecoding:
    """The common part of both kinds of decoders' decodings."""

    def __init__(
        self,
        name: str,
        decoder: Any,
        columns: Iterable[Column],
        time_column: str | None = None,
        partition_by: Sequence[str] = (),
    ) -> None:
        self.time_column = time_column
        self._folders = FolderNames(partition_by)
        self._name = name
        self._decoder = decoder
        self._columns = tuple(columns)

    def columns(self) -> list[Column]:
        """Return the known columns; a decoder that declares none may add more."""
        return list(self._columns)

    def decode(self, topic: str, batch: pa.RecordBatch) -> Decoded:
        """Make each record a row or a dead letter; one without a value (a tombstone) is a row of nulls."""
        table = table_fit(self._columns, _RESERVED)
        dead: Dead = {}
        found = self._objects(topic, batch.column("value").to_pylist(), dead)
        arrays = self._arrays(table, found, dead)
        for place, why in self._folders.refused(dict(zip(table.fields, arrays, strict=True))):
            dead.setdefault(place, why)
        drift = self._drift(table, found, dead)
        rows = pa.RecordBatch.from_arrays(
            [*arrays, *(batch.column(source) for source in KAFKA_COLUMNS.values())],
            [*table.fields, *KAFKA_COLUMNS],
        )
        if not dead:
            return Decoded(rows, None, drift)
        alive = pa.array([place not in dead for place in range(batch.num_rows)], pa.bool_())
        return Decoded(rows.filter(alive), dead_letters(batch, dead), drift)

    def _objects(self, topic: str, values: Sequence[bytes | None], dead: Dead) -> list[object]:
        """Return the decoder's object for each value; None where there is no value, and where it raises."""
        decode = self._decoder.decode
        made: list[object] = []
        for place, value in enumerate(values):
            try:
                made.append(None if value is None else decode(topic, value))
            except Exception as error:  # a plug-in's; it must cost nothing but this record
                dead[place] = self._reason(error, value)
                made.append(None)
        return made

    def _reason(self, error: Exception, value: object) -> str:
        try:
            what = " ".join(str(error).split())[: MAX_REASON // 2]
        except Exception:  # as above
            what = ""
        if not what or not isinstance(error, ValueError):
            what = f"{type(error).__name__}: {what}"
        return f"{self._name}: {what}: {excerpt(value)}"

    def _arrays(self, table: TableFit, found: list[object], dead: Dead) -> list[object]:
        """Return the table's columns."""
        raise NotImplementedError

    def _drift(self, table: TableFit, found: list[object], dead: Dead) -> dict[str, str]:
        """Fields that no column is there for."""
        return {}


class DeclaredDecoding(PluginDecoding):
    """By an ``IRowDecoder``: rows are tuples in the order of its columns."""

    def _arrays(self, table: TableFit, found: list[object], dead: Dead) -> list[object]:
        width = len(table.fields)
        nothing = (None,) * width
        rows = [nothing if row is None else row for row in found]
        for place, row in enumerate(rows):
            if not isinstance(row, tuple) or len(row) != width:
                dead[place] = f"{self._name}: gave {excerpt(row)} for {width} columns"
                rows[place] = nothing
        columns = list(zip(*rows, strict=True)) or [()] * width
        fields = zip(table.fields.items(), columns, strict=True)
        return [make_array(name, field, values, dead) for (name, field), values in fields]


class InferringDecoding(PluginDecoding):
    """By an ``IDecoder`` that gives mappings, or single values.

    :param fixed: whether the columns are all that is wanted; what else there is in a record is left out.
    """

    def __init__(
        self,
        name: str,
        decoder: Any,
        columns: Iterable[Column],
        time_column: str | None = None,
        partition_by: Sequence[str] = (),
        fixed: bool = False,
    ) -> None:
        super().__init__(name, decoder, columns, time_column, partition_by)
        self._fixed = fixed

    def _arrays(self, table: TableFit, found: list[object], dead: Dead) -> list[object]:
        rows = [_mapping(value) for value in found]
        return [
            make_array(name, field, [row.get(name) for row in rows], dead)
            for name, field in table.fields.items()
        ]

    def _drift(self, table: TableFit, found: list[object], dead: Dead) -> dict[str, str]:
        if self._fixed:
            return {}
        seen = unknown_fields(table, [_mapping(value) for value in found], dead, self._folders)
        return {name: ddl_type(kind) for name, kind in seen.fields().items()}


def _mapping(value: object) -> Mapping[object, object]:
    if value is None:
        return _NOTHING
    return value if isinstance(value, (dict, Mapping)) else {SINGLE: value}


def dead_letters(batch: pa.RecordBatch, dead: Dead) -> pa.RecordBatch:
    """Return the dead letters among the records of a batch, as ``DEAD_SCHEMA``."""
    places = sorted(dead)
    taken = batch.take(pa.array(places, pa.int64()))
    reasons = pa.array([_short(dead[place]) for place in places], pa.string())
    names = DEAD_SCHEMA.names[:-1]
    return pa.RecordBatch.from_arrays([*(taken.column(name) for name in names), reasons], schema=DEAD_SCHEMA)


def _short(reason: str) -> str:
    """Shorten a reason for storage, as Unicode."""
    return reason[:MAX_REASON].encode("utf-8", "backslashreplace").decode()
