"""Logical types of Avro: the annotations that count, and how values are converted. Pure.

An annotation that breaks a rule of the specification is ignored, as the specification says, and so is one
that has no type in Python: such values stay what they are without it.

The conversions are functions that fastavro calls by the name of a logical type. Most are its own; those of
names that begin with ``kafkatx-`` are in place of functions that round decimals, and that give a time of day
for negative numbers.
"""

from __future__ import annotations

import copy
from collections.abc import Mapping
from datetime import time
from decimal import Context, Decimal
from functools import lru_cache
from typing import Any

from kafkatx.schemas.avro.avro_types import AvroType, Fixed, Primitive

_KINDS: Mapping[str, str] = {
    "date": "int",
    "time-millis": "int",
    "time-micros": "long",
    "timestamp-millis": "long",
    "timestamp-micros": "long",
    "local-timestamp-millis": "long",
    "local-timestamp-micros": "long",
    "uuid": "string",
}
_OWN: Mapping[str, str] = {name: f"kafkatx-{name}" for name in ("decimal", "time-millis", "time-micros")}
AS_IT_IS = "kafkatx-as-it-is"
"""The logical type of a value that fastavro must not convert to another branch of a union."""

DEFAULTS = "kafkatx-defaults"
"""The logical type of a record that gets the defaults of the reader's fields."""

CONSTANTS, COPIES = "kafkatx.constants", "kafkatx.copies"
"""Attributes of such a record: values by name; the second are made anew for each record."""


def annotation(type_: AvroType) -> dict[str, Any]:
    """Return the annotation of a type that counts, with its parameters; empty if there is none."""
    if not isinstance(type_, (Primitive, Fixed)):
        return {}
    name = type_.attributes.get("logicalType")
    if name == "decimal":
        return _decimal(type_)
    if isinstance(name, str) and _KINDS.get(name) == type_.kind:
        return {"logicalType": name}
    return {}


def reading_annotation(type_: AvroType) -> dict[str, Any]:
    """Return the annotation of a type for fastavro's reader."""
    found = annotation(type_)
    if found:
        found["logicalType"] = _OWN.get(found["logicalType"], found["logicalType"])
        _readers()
    return found


def _decimal(type_: Primitive | Fixed) -> dict[str, Any]:
    precision, scale = type_.attributes.get("precision"), type_.attributes.get("scale", 0)
    if precision.__class__ is not int or scale.__class__ is not int:
        return {}
    assert isinstance(precision, int) and isinstance(scale, int)
    if type_.kind not in ("bytes", "fixed") or precision < 1 or not 0 <= scale <= precision:
        return {}
    if isinstance(type_, Fixed) and precision > most_digits(type_.size):
        return {}
    return {"logicalType": "decimal", "precision": precision, "scale": scale}


def most_digits(size: int) -> int:
    """Return how many digits a number of *size* bytes always has room for."""
    bits = 8 * size - 1
    if bits < 1:
        return 0
    return int(Decimal(bits) * Decimal(2).log10(Context(prec=30)))


def converted(leaf: Any, value: Any) -> Any:
    """Return the value that fastavro's reader makes of one without its logical type.

    :param leaf: a schema for fastavro's reader.
    :raises ValueError, OverflowError: there is none.
    """
    if not isinstance(leaf, dict) or "logicalType" not in leaf:
        return value
    return _readers()[f"{leaf['type']}-{leaf['logicalType']}"](value, leaf, None)


@lru_cache(maxsize=1)
def _readers() -> Any:
    """Return fastavro's table of conversions, with those of this module."""
    from fastavro.read import LOGICAL_READERS

    own: dict[str, Any] = {
        "bytes-kafkatx-decimal": _read_decimal,
        "fixed-kafkatx-decimal": _read_decimal,
        "int-kafkatx-time-millis": _read_time_millis,
        "long-kafkatx-time-micros": _read_time_micros,
        f"record-{DEFAULTS}": _add_defaults,
        **{f"{kind}-{AS_IT_IS}": _as_it_is for kind in ("int", "long", "string", "bytes")},
    }
    LOGICAL_READERS.update(own)
    return LOGICAL_READERS


def prepare_readers() -> None:
    """Make fastavro know the conversions of this module."""
    _readers()


def _as_it_is(data: Any, schema: Any, other: Any) -> Any:
    return data


def _read_decimal(data: bytes, schema: Any, other: Any) -> Decimal:
    """Return the exact decimal.

    :raises ValueError: it has more digits than the precision.
    """
    unscaled = int.from_bytes(data, "big", signed=True)
    precision = schema["precision"]
    # A byte is less than three digits: the power is never larger than the data, whatever a schema says.
    if precision < 3 * len(data) and not -(limit := _power(precision)) < unscaled < limit:
        raise ValueError(f"a decimal with more digits than its precision, {precision}")
    return Decimal(unscaled).scaleb(-schema["scale"], _context(precision))


@lru_cache(maxsize=64)
def _power(exponent: int) -> int:
    return int(10**exponent)


@lru_cache(maxsize=64)
def _context(precision: int) -> Context:
    return Context(prec=max(precision, 28))


def _read_time_millis(data: int, schema: Any, other: Any) -> time:
    return _time_of_day(data * 1000)


def _read_time_micros(data: int, schema: Any, other: Any) -> time:
    return _time_of_day(data)


def _time_of_day(micros: int) -> time:
    if not 0 <= micros < 86_400_000_000:
        raise ValueError(f"no time of day: {micros} microseconds")
    seconds, micros = divmod(micros, 1_000_000)
    minutes, seconds = divmod(seconds, 60)
    return time(minutes // 60, minutes % 60, seconds, micros)


def _add_defaults(record: dict[str, Any], schema: Any, other: Any) -> dict[str, Any]:
    record.update(schema[CONSTANTS])
    for name, value in schema[COPIES]:
        record[name] = copy.deepcopy(value)
    return record
