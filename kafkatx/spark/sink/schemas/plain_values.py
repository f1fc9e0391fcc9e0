"""Values of Arrow columns as the writers of messages take them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

import pyarrow as pa

from kafkatx.schemas.types import SchemaType

Convert: TypeAlias = "Callable[[Any], Any]"


def values_of(column: pa.Array, kind: SchemaType) -> list[Any]:
    """Return a column's values: structs and maps are dicts, in JSON times are text by ISO 8601.

    JSON Schema and Protobuf have fields that are absent and none that are null: such fields are left out.
    """
    convert = _converter(column.type, kind)
    values: list[Any] = column.to_pylist()
    return values if convert is None else [convert(value) for value in values]


def _converter(dtype: pa.DataType, kind: SchemaType) -> Convert | None:
    """Return the conversion of values that are not None and need one."""
    found: Convert | None = None
    if pa.types.is_struct(dtype):
        found = _struct(dtype, kind)
    elif pa.types.is_map(dtype):
        found = _map(dtype, kind)
    elif pa.types.is_list(dtype) or pa.types.is_large_list(dtype):
        item = _converter(dtype.value_type, kind)
        found = None if item is None else lambda values: [item(value) for value in values]
    elif pa.types.is_temporal(dtype) and kind is SchemaType.JSON:
        found = _iso
    return found if found is None else _or_none(found)


def _or_none(convert: Convert) -> Convert:
    return lambda value: None if value is None else convert(value)


def _iso(value: Any) -> str:
    text: str = value.isoformat()
    return text


def _struct(dtype: pa.StructType, kind: SchemaType) -> Convert | None:
    converters = {field.name: _converter(field.type, kind) for field in dtype}
    given = {name: convert for name, convert in converters.items() if convert is not None}
    if kind is SchemaType.AVRO:
        return (lambda value: value | {name: given[name](value[name]) for name in given}) if given else None
    return lambda value: {
        name: given[name](item) if name in given else item for name, item in value.items() if item is not None
    }


def _map(dtype: pa.MapType, kind: SchemaType) -> Convert:
    item = _converter(dtype.item_type, kind)
    return dict if item is None else lambda pairs: {key: item(value) for key, value in pairs}
