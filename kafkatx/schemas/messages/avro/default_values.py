"""Values of the defaults in Avro schemas: what a reader makes of a writer's value that says the same. Pure.

A default is JSON: bytes are text with a character for each, a value of a union that of the first branch that
it fits. Fields that the default of a record leaves out have their own defaults.
"""

from __future__ import annotations

from struct import error as StructError
from struct import pack, unpack
from typing import Any

from kafkatx.schemas.avro.avro_types import (
    NO_DEFAULT,
    Array,
    AvroType,
    Enum,
    Field,
    Fixed,
    Map,
    Record,
    Union,
)
from kafkatx.schemas.avro.defaults import fits
from kafkatx.schemas.json_text import JSON
from kafkatx.schemas.messages.avro.logical_types import converted, reading_annotation
from kafkatx.schemas.recursion import TooManySteps, Walk, run

_MOST_VALUES = 10_000
"""Values in one default, with those of the fields that it leaves out; a record may contain itself."""


class NoValue(ValueError):
    """A default is no value of its type, or too large."""


def default_value(field: Field) -> Any:
    """Return the value of the default of a field.

    :raises NoValue: it has none.
    """
    if field.default is NO_DEFAULT:
        raise NoValue("there is no default")
    try:
        return run(_value(field.type, field.default), _MOST_VALUES)
    except TooManySteps:
        raise NoValue("the default is too large") from None
    except (ValueError, OverflowError, StructError) as error:
        raise NoValue(str(error)) from error


def _value(type_: AvroType, value: JSON) -> Walk[Any]:
    if not isinstance(type_, Union) and not fits(type_, value):
        raise NoValue(f"{value!r:.60} is no {type_.kind}")
    if isinstance(type_, Union):
        for branch in type_.branches:
            if fits(branch, value):
                return (yield _value(branch, value))
        raise NoValue(f"{value!r:.60} is no value of the union")
    if isinstance(type_, Record):
        assert isinstance(value, dict)
        return (yield _record(type_, value))
    if isinstance(type_, Array):
        assert isinstance(value, list)
        items = []
        for item in value:
            items.append((yield _value(type_.items, item)))
        return items
    if isinstance(type_, Map):
        assert isinstance(value, dict)
        entries = {}
        for name, item in value.items():
            entries[name] = yield _value(type_.values, item)
        return entries
    return _leaf(type_, value)


def _record(record: Record, value: dict[str, JSON]) -> Walk[Any]:
    found = {}
    for field in record.fields:
        given = value.get(field.name, field.default)
        if given is NO_DEFAULT:
            raise NoValue(f"it has no field {field.name}")
        found[field.name] = yield _value(field.type, given)
    return found


def _leaf(type_: AvroType, value: Any) -> Any:
    match type_.kind:
        case "bytes" | "fixed":
            value = value.encode("latin-1")
            if isinstance(type_, Fixed) and len(value) != type_.size:
                raise NoValue(f"it has {len(value)} bytes, and {type_.name} has {type_.size}")
        case "enum":
            assert isinstance(type_, Enum)
            if value not in type_.symbol_set:
                raise NoValue(f"{value!r:.60} is no symbol of {type_.name}")
        case "float":
            (value,) = unpack("<f", pack("<f", value))
        case "double":
            value = float(value)
    return converted({"type": type_.kind, **reading_annotation(type_)}, value)
