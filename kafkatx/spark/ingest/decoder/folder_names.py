"""Values that make no folder's name: their records are dead letters, for no file system would take them.

A folder is ``name=value`` with the value escaped (:mod:`kafkatx.spark.ingest.table.folders`). File systems
take names of 255 bytes, and paths of some thousand.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import pyarrow as pa
import pyarrow.compute as pc

from kafkatx.spark.ingest.decoder.inference import word_of
from kafkatx.spark.ingest.decoder.scalars import Misfit, excerpt, fit_string
from kafkatx.spark.ingest.table.folders import DERIVED, NAMING, escaped, most_bytes

_ESCAPED_BYTES = 3
"""The most bytes that one byte of a value becomes."""


class FolderNames:
    """The columns that folders are named by, apart from date and hour, which always fit."""

    def __init__(self, partition_by: Sequence[str]) -> None:
        self._most = most_bytes(partition_by)
        self._names = [name for name in partition_by if name not in DERIVED]
        self._lower = {name.lower(): name for name in self._names}

    def refused(self, columns: Mapping[str, pa.Array]) -> Iterator[tuple[int, str]]:
        """Yield the places of rows whose folders cannot be, and why.

        :param columns: arrays by name; a column that is not there is null in all rows.
        """
        for name in self._names:
            column = columns.get(name)
            if column is None or not pa.types.is_string(column.type) or not self._may_be_long(name, column):
                continue
            keys = column.dictionary_encode()
            wrong = {
                code: why
                for code, value in enumerate(keys.dictionary.to_pylist())
                if (why := self._too_long(name, value)) is not None
            }
            for place, code in enumerate(keys.indices.to_pylist() if wrong else ()):
                if code in wrong:
                    yield place, wrong[code]

    def _may_be_long(self, name: str, column: pa.Array) -> bool:
        longest = pc.max(pc.binary_length(column)).as_py() or 0
        return len(escaped(name).encode()) + 1 + _ESCAPED_BYTES * longest > self._most

    def _too_long(self, name: str, value: str) -> str | None:
        size = len(f"{escaped(name)}={escaped(value)}".encode())
        if size <= self._most:
            return None
        return (
            f"partition-by {name}: {excerpt(value)} makes a folder's name of {size} bytes: "
            f"{self._most} is the most"
        )

    def conflict_of(self, name: object, value: object) -> str | None:
        """Return the reason why the folders keep a new field from becoming a column; None if they do not."""
        called = self._lower.get(name.lower()) if isinstance(name, str) else None
        if called is None:
            return None
        if called != name:
            return f"new field {excerpt(name)}: partition-by {called} is the same name to Spark"
        word = word_of(value)
        if word not in NAMING:
            return f"partition-by {name}: {excerpt(value)} makes no folder's name"
        try:
            return self._too_long(name, fit_string(value))
        except Misfit as misfit:
            return str(misfit.within(name))
