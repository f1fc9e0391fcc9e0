"""Decoded values, a column at a time, into Arrow; those that do not fit are told of.

Columns whose values all have the type that Arrow expects are converted by C code alone.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pyarrow as pa

from kafkatx.spark.ingest.decoder.fit import Fit, Path, TableFit
from kafkatx.spark.ingest.decoder.folder_names import FolderNames
from kafkatx.spark.ingest.decoder.inference import Seen
from kafkatx.spark.ingest.decoder.scalars import Misfit, excerpt

Dead = dict[int, str]
"""The rows that are dead letters, by their place in the batch, and why."""

_REFUSED = (pa.ArrowException, OverflowError, UnicodeError)


def make_array(name: str, field: Fit, values: Sequence[object], dead: Dead) -> pa.Array:
    """Return a ``pyarrow.Array`` of a column; where a value does not fit it has null, and *dead* has a
    reason.
    """
    if field.natural.issuperset(map(type, values)):
        try:
            return pa.array(values, field.type)
        except _REFUSED:
            pass  # one of them is too large, or the like: find it
    fit = field.fit
    fitted = []
    for place, value in enumerate(values):
        try:
            fitted.append(fit(value))
        except Misfit as misfit:
            dead.setdefault(place, str(misfit.within(name)))
            fitted.append(None)
    return pa.array(fitted, field.type)


def unknown_fields(
    table: TableFit, rows: Sequence[Mapping[object, object]], dead: Dead, folders: FolderNames
) -> Seen:
    """Return the fields of rows, dead ones apart, that have no column.

    A row whose new fields cannot all become columns beside those of the rows before it is a dead letter, and
    none of its fields becomes one.
    """
    seen = Seen(table.room)
    known, nested = table.fields.keys(), table.has_nested
    for place, row in enumerate(rows):
        if (nested or not known >= row.keys()) and place not in dead:
            try:
                found = list(table.unknown(row, (), table.room))
            except Misfit as misfit:
                dead[place] = str(misfit)
                continue
            why = next(
                (why for (name, *_), value in found if (why := folders.conflict_of(name, value))), None
            )
            if why is not None:
                dead[place] = why
                continue
            fields = seen.admit([path for path, _ in found])
            if fields is None:
                dead[place] = _not_admitted(found, table.room)
                continue
            for field, (path, value) in zip(fields, found, strict=True):
                field.add(value, len(path))
    return seen


def _not_admitted(found: Sequence[tuple[Path, object]], room: int) -> str:
    count, first = len({path[-1] for path, _ in found}), excerpt(found[0][0][-1])
    if count > room:
        return f"{count} new fields, as {first}: the table gets {room} more columns at most"
    return (
        f"new fields, as {first}: they cannot all be columns beside those before them: there is room for "
        f"{room}, and names that differ only in upper and lower case are one"
    )
