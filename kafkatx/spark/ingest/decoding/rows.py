"""Decoded values, a column at a time, into Arrow; those that do not fit are told of.

Where all values of a column are of the type that Arrow expects, they are looked at by C code only.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pyarrow as pa

from kafkatx.spark.ingest.decoding.fitting import Fit, TableFit
from kafkatx.spark.ingest.decoding.inference import Seen
from kafkatx.spark.ingest.decoding.scalars import Misfit

Dead = dict[int, str]
"""The rows that are dead letters, by their place in the batch, and why."""

_REFUSED = (pa.ArrowException, OverflowError, UnicodeError)


def make_array(name: str, field: Fit, values: Sequence[Any], dead: Dead) -> Any:
    """A ``pyarrow.Array`` of a column; null, and a reason in *dead*, where a value does not fit."""
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


def unknown_fields(table: TableFit, rows: Sequence[Mapping[Any, Any]], dead: Dead) -> Seen:
    """What there is in rows, dead ones apart, that no column is there for."""
    seen = Seen()
    known, nested = table.fields.keys(), table.has_nested
    for place, row in enumerate(rows):
        if (nested or not known >= row.keys()) and place not in dead:
            try:
                found = list(table.unknown(row, (), table.room))
            except Misfit as misfit:
                dead[place] = str(misfit)
                continue
            for path, value in found:
                field = seen.at(path)
                if field is not None:
                    field.add(value, len(path))
    return seen
