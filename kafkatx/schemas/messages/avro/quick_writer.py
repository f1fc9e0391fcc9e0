"""A quick writer of Avro for the usual schemas and values, made of functions, one for each part of a schema.

It writes the same bytes as fastavro. For whatever it does not know it raises an error, and fastavro decides:
other types, values that need a conversion or a default, and all that is wrong.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timezone
from struct import Struct
from typing import Any, TypeAlias

from kafkatx.schemas.messages.avro.shape import Named, ParsedSchema

Append: TypeAlias = Callable[[bytes], None]
Part: TypeAlias = Callable[[Append, Any], None]

_DEEPEST = 16
_FEW = 1 << 12
_EPOCH = datetime(1970, 1, 1, tzinfo=timezone.utc)
_DAY_MS = 86_400_000
_NULL = type(None)


class NotQuick(Exception):
    """A schema or a value that is left to fastavro."""


def _varint(value: int) -> bytes:
    out = bytearray()
    left = value << 1 if value >= 0 else (-value << 1) - 1
    while left > 0x7F:
        out.append(left & 0x7F | 0x80)
        left >>= 7
    out.append(left)
    return bytes(out)


_SMALL = [_varint(value) for value in range(_FEW)]


def _write_whole(append: Append, value: int) -> None:
    append(_SMALL[value] if 0 <= value < _FEW else _varint(value))


def _whole(bits: int) -> Part:
    limit = 1 << (bits - 1)

    def write(append: Append, value: Any) -> None:
        if value.__class__ is not int or not -limit <= value < limit:
            raise NotQuick
        append(_SMALL[value] if 0 <= value < _FEW else _varint(value))

    return write


def _text(append: Append, value: Any) -> None:
    if value.__class__ is not str:
        raise NotQuick
    data = value.encode()
    size = len(data)
    append(_SMALL[size] if size < _FEW else _varint(size))
    append(data)


def _binary(append: Append, value: Any) -> None:
    if value.__class__ is not bytes:
        raise NotQuick
    _write_whole(append, len(value))
    append(value)


def _boolean(append: Append, value: Any) -> None:
    if value.__class__ is not bool:
        raise NotQuick
    append(b"\1" if value else b"\0")


def _real(form: str) -> Part:
    pack = Struct(form).pack

    def write(append: Append, value: Any) -> None:
        if value.__class__ is not float:
            raise NotQuick
        append(pack(value))

    return write


def _nothing(append: Append, value: Any) -> None:
    if value is not None:
        raise NotQuick


def _millis(append: Append, value: Any) -> None:
    if value.__class__ is not datetime or value.tzinfo is None:
        raise NotQuick
    delta = value - _EPOCH
    append(_varint(delta.days * _DAY_MS + delta.seconds * 1000 + delta.microseconds // 1000))


_PARTS: dict[str, Part] = {
    "null": _nothing,
    "boolean": _boolean,
    "int": _whole(32),
    "long": _whole(64),
    "float": _real("<f"),
    "double": _real("<d"),
    "string": _text,
    "bytes": _binary,
}


def quick_writer(schema: ParsedSchema, named: Named, prefix: bytes) -> Callable[[Any], bytes] | None:
    """Return a function from a value to a message; None if the schema is not a usual one.

    The function raises an error of any kind if fastavro has to decide.
    """
    try:
        part = _part(schema, named, 0)
    except NotQuick:
        return None

    def write(value: Any) -> bytes:
        pieces = [prefix]
        part(pieces.append, value)
        return b"".join(pieces)

    return write


def _part(schema: ParsedSchema, named: Named, depth: int) -> Part:
    """Return the writer of a part.

    :raises NotQuick: it is left to fastavro.
    """
    if depth > _DEEPEST:
        raise NotQuick
    depth += 1
    if isinstance(schema, str):
        return _PARTS[schema] if schema in _PARTS else _part(named[schema], named, depth)
    if isinstance(schema, list):
        return _optional(schema, named, depth)
    kind, logical = schema["type"], schema.get("logicalType")
    if logical is not None:
        if (kind, logical) == ("long", "timestamp-millis"):
            return _millis
        raise NotQuick
    if kind == "record":
        return _record([(each["name"], _part(each["type"], named, depth)) for each in schema["fields"]])
    if kind == "array":
        return _array(_part(schema["items"], named, depth))
    if kind == "map":
        return _map(_part(schema["values"], named, depth))
    if kind == "enum":
        return _enum(schema["symbols"])
    if isinstance(kind, str) and kind in _PARTS:
        return _PARTS[kind]
    raise NotQuick


def _record(fields: list[tuple[str, Part]]) -> Part:
    def write(append: Append, value: Any) -> None:
        if value.__class__ is not dict:
            raise NotQuick
        for name, part in fields:
            part(append, value[name])

    return write


def _optional(branches: list[ParsedSchema], named: Named, depth: int) -> Part:
    """Return the writer of a union of null and one other branch, which has to be sure of its values."""
    if len(branches) != 2 or "null" not in branches or branches == ["null", "null"]:
        raise NotQuick
    place = 1 - branches.index("null")
    if branches[place] == "float":  # fastavro takes a float for it that does not fit
        raise NotQuick
    part = _part(branches[place], named, depth)
    other, null = _SMALL[place], _SMALL[1 - place]

    def write(append: Append, value: Any) -> None:
        if value is None:
            append(null)
            return
        append(other)
        part(append, value)

    return write


def _array(item: Part) -> Part:
    def write(append: Append, value: Any) -> None:
        if value.__class__ is not list:
            raise NotQuick
        if value:
            _write_whole(append, len(value))
            for each in value:
                item(append, each)
        append(b"\0")

    return write


def _map(item: Part) -> Part:
    def write(append: Append, value: Any) -> None:
        if value.__class__ is not dict:
            raise NotQuick
        if value:
            _write_whole(append, len(value))
            for name, each in value.items():
                _text(append, name)
                item(append, each)
        append(b"\0")

    return write


def _enum(symbols: list[str]) -> Part:
    places = {symbol: _varint(place) for place, symbol in enumerate(symbols)}

    def write(append: Append, value: Any) -> None:
        append(places[value])

    return write
