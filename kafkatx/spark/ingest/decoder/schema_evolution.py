"""A table's columns and the fields that were seen beside them -> its columns from now on. On the driver."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import pyarrow as pa

from kafkatx.spark.ingest.decoder.fit import fit_of, room_beside
from kafkatx.spark.ingest.decoder.inference import ELEMENT, MAX_FIELDS, Seen
from kafkatx.spark.ingest.table.columns import Column, arrow_type, ddl_type


def widened(columns: Sequence[Column], drifts: Iterable[Mapping[str, str]]) -> list[Column]:
    """Return the columns with those that the workers' batches saw in addition, new ones at the end.

    Types that are known stay; structs get the new fields at their ends. Of several batches that saw a field
    with different types it gets the one that all values fit. Each call with a drift that is not empty adds
    something, and a table with many columns gets no more, so that decoding anew comes to an end.
    """
    known = pa.struct([(column.name, arrow_type(column.type)) for column in columns])
    merged = _merged(known, drifts)
    grown = _grown(known, merged, [fit_of(known).leaves])
    return [Column(field.name, ddl_type(field.type)) for field in grown]


def merged(columns: Sequence[Column], drifts: Iterable[Mapping[str, str]]) -> dict[str, str]:
    """Merge several drifts into one; of those that exclude each other the first counts."""
    known = pa.struct([(column.name, arrow_type(column.type)) for column in columns])
    return {field.name: ddl_type(field.type) for field in _merged(known, drifts)}


def _merged(known: pa.DataType, drifts: Iterable[Mapping[str, str]]) -> pa.DataType:
    """Return all drifts that fit beside each other, as a struct.

    A drift that does not fit is left out as a whole, since a part of it may come from a record that will be a
    dead letter. Its batch is decoded again with the columns of the others, and then reports which fields can
    still become columns.
    """
    room = room_beside(fit_of(known).leaves)
    found = pa.struct([])
    for drift in drifts:
        seen = Seen(room)
        more = pa.struct([(name, arrow_type(text)) for name, text in drift.items()])
        if _add(seen, known, found) and _add(seen, known, more):
            found = pa.struct(list(seen.fields().items()))
    return found


def _add(seen: Seen, known: pa.DataType, more: pa.DataType) -> bool:
    """Add what a struct has beside the known one; False if some of its fields cannot become columns."""
    if pa.types.is_list(known) and pa.types.is_list(more):
        return _add(seen.child(ELEMENT), known.value_type, more.value_type)
    if not (pa.types.is_struct(known) and pa.types.is_struct(more)):
        return True
    types = {field.name: field.type for field in known}
    lower = {name.lower() for name in types}
    new = [field for field in more if field.name not in types]
    if any(field.name.lower() in lower for field in new):
        return False
    fields = seen.admit([(field.name,) for field in new])
    if fields is None:
        return False
    for seen_field, field in zip(fields, new, strict=True):
        seen_field.add_type(field.type)
    inner = [field for field in more if field.name in types]
    return all(_add(seen.child(field.name), types[field.name], field.type) for field in inner)


def _grown(known: pa.DataType, more: pa.DataType, leaves: list[int]) -> pa.DataType:
    """Return a type with the fields of another one that it lacks.

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
