"""A table's columns and the fields that were seen beside them -> its columns from now on. On the driver."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import pyarrow as pa

from kafkatx.spark.ingest.columns import Column, arrow_type, ddl_type
from kafkatx.spark.ingest.decoding.fitting import fit_of
from kafkatx.spark.ingest.decoding.inference import MAX_FIELDS, Seen


def widened(columns: Sequence[Column], drifts: Iterable[Mapping[str, str]]) -> list[Column]:
    """The columns with what the workers' batches saw beside them, new ones at the end.

    Types that are known stay; structs get the new fields at their ends. Of several batches that saw a field
    with different types it gets the one that all values fit. Each call with a drift that is not empty adds
    something, and a table with many columns gets no more, so that decoding anew comes to an end.
    """
    seen = Seen()
    for drift in drifts:
        for name, text in drift.items():
            field = seen.field(name)
            if field is not None:
                field.add_type(arrow_type(text))
    known = pa.struct([(column.name, arrow_type(column.type)) for column in columns])
    grown = _grown(known, pa.struct(list(seen.fields().items())), [fit_of(known).leaves])
    return [Column(field.name, ddl_type(field.type)) for field in grown]


def _grown(known: Any, more: Any, leaves: list[int]) -> Any:
    """A type with the fields of another one that it lacks.

    :param leaves: how many simple columns there are in all of the table; counted on.
    """
    if pa.types.is_list(known) and pa.types.is_list(more):
        return pa.list_(_grown(known.value_type, more.value_type, leaves))
    if not (pa.types.is_struct(known) and pa.types.is_struct(more)):
        return known
    fields = {field.name: field.type for field in known}
    lower = {name.lower() for name in fields}
    for field in more:
        if field.name in fields:
            fields[field.name] = _grown(fields[field.name], field.type, leaves)
        elif field.name.lower() not in lower and leaves[0] < MAX_FIELDS:
            fields[field.name] = field.type
            leaves[0] += fit_of(field.type).leaves
    return pa.struct(list(fields.items()))
