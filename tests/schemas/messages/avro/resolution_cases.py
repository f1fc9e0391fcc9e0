"""Data of writers' Avro schemas and the schemas of readers: what both mean together, as one line of text.

The lines of ``apache.txt`` are those of Apache Avro for Java; ``tests.interop.avro_values`` compares them
anew.
"""

from __future__ import annotations

import json
import struct
from collections.abc import Iterator
from datetime import date, datetime, time, timezone
from decimal import Decimal
from typing import Any
from uuid import UUID

import attrs

from kafkatx.schemas.messages.avro.avro_format import AvroFormat
from kafkatx.schemas.types import Schema

_EPOCH = datetime(1970, 1, 1)
_MICROSECOND = datetime.resolution


@attrs.frozen
class Case:
    """Data, and the schemas of writer and reader."""

    name: str
    writer: str
    reader: str
    data: bytes

    @property
    def question(self) -> str:
        """The case as a line for Java."""
        return "\t".join((self.writer, self.reader, self.data.hex()))


def ours(case: Case) -> str:
    """Return what we make of a case, as a line."""
    try:
        return shown(AvroFormat().reader(Schema(case.writer), {}, case.reader)(case.data, 0))
    except Exception:
        return "error"


def shown(value: Any) -> str:
    """Return a value as text that tells its type."""
    match value:
        case None | bool():
            return {None: "null", True: "true", False: "false"}[value]
        case int():
            return str(value)
        case float():
            return f"f{struct.pack('>d', value).hex()}"
        case str():
            return f"s{value.encode().hex()}"
        case bytes():
            return f"b{value.hex()}"
        case UUID():
            return f"u{value}"
        case Decimal():
            return f"d{value:f}"
        case datetime():
            kind = "L" if value.tzinfo is None else "I"
            local = value if value.tzinfo is None else value.astimezone(timezone.utc).replace(tzinfo=None)
            return f"{kind}{(local - _EPOCH) // _MICROSECOND}"
        case date():
            return f"D{value.isoformat()}"
        case time():
            return (
                f"T{((value.hour * 60 + value.minute) * 60 + value.second) * 1_000_000 + value.microsecond}"
            )
        case list():
            return f"[{','.join(map(shown, value))}]"
    return "{" + ",".join(f"{name}={shown(value[name])}" for name in sorted(value)) + "}"


_FIXED = {"type": "fixed", "name": "F", "size": 4}
_INNER = {"type": "record", "name": "I", "fields": [{"name": "x", "type": "int"}]}
_ENUM = {"type": "enum", "name": "E", "symbols": ["a", "b"]}

PLAIN: list[tuple[Any, Any, Any]] = [
    ("boolean", True, True),
    ("int", 19675, 19675),
    ("long", 1 << 40, 1 << 40),
    ("float", 0.1, 0.1),
    ("double", 0.1, 1),
    ("string", "é", "é"),
    ("bytes", b"\1\0\xff", "\1\0ÿ"),
    (_FIXED, b"\1\0\xff\0", "\1\0ÿ\0"),
    (_ENUM, "b", "b"),
    (_INNER, {"x": 5}, {"x": 5}),
    ({"type": "array", "items": "bytes"}, [b"\xfe"], ["þ"]),
    ({"type": "map", "values": "double"}, {"a": 0.5}, {"a": 0.5}),
]
"""Types without annotation, each with a value and the same as a default."""

LOGICAL: list[tuple[Any, dict[str, Any], list[tuple[Any, Any]]]] = [
    ("int", {"logicalType": "date"}, [(19675, 19675), (-1, -1), (0, 0)]),
    (
        "int",
        {"logicalType": "time-millis"},
        [(0, 0), (86_399_999, 86_399_999), (-1, -1), (86_400_000, 86_400_000)],
    ),
    ("long", {"logicalType": "time-micros"}, [(86_399_999_999, 86_399_999_999), (-1, -1)]),
    ("long", {"logicalType": "timestamp-millis"}, [(1_700_000_000_123, 1_700_000_000_123), (-1, -1)]),
    ("long", {"logicalType": "timestamp-micros"}, [(1_700_000_000_123_456, 1_700_000_000_123_456), (-1, -1)]),
    ("long", {"logicalType": "timestamp-nanos"}, [(1_700_000_000_123_456_789, 1_700_000_000_123_456_789)]),
    ("long", {"logicalType": "local-timestamp-millis"}, [(1_700_000_000_123, 1_700_000_000_123), (-1, -1)]),
    ("long", {"logicalType": "local-timestamp-micros"}, [(-1, -1)]),
    ("long", {"logicalType": "local-timestamp-nanos"}, [(-1, -1)]),
    ("string", {"logicalType": "uuid"}, [2 * ("6ba7b810-9dad-11d1-80b4-00c04fd430c8",)]),
    (
        "bytes",
        {"logicalType": "decimal", "precision": 9, "scale": 2},
        [(b"\1\0", "\1\0"), (b"\xff", "ÿ"), (b"\0\0\1", "\0\0\1"), (b"\0", "\0")],
    ),
    ("bytes", {"logicalType": "decimal", "precision": 38}, [(b"\x7f" * 12, "\x7f" * 12)]),
    ("bytes", {"logicalType": "decimal", "precision": 60, "scale": 60}, [(b"\x7f" * 20, "\x7f" * 20)]),
    (_FIXED, {"logicalType": "decimal", "precision": 9, "scale": 3}, [(b"\0\0\1\0", "\0\0\1\0")]),
    (
        {"type": "fixed", "name": "Duration", "size": 12},
        {"logicalType": "duration"},
        [(b"\1" * 12, "\1" * 12)],
    ),
    # annotations that are invalid, or belong to another type, are ignored
    ("bytes", {"logicalType": "decimal"}, [(b"\1", "\1")]),
    ("bytes", {"logicalType": "decimal", "precision": "9"}, [(b"\1", "\1")]),
    ("bytes", {"logicalType": "decimal", "precision": 9, "scale": "2"}, [(b"\1", "\1")]),
    ("bytes", {"logicalType": "decimal", "precision": 0}, [(b"\1", "\1")]),
    ("bytes", {"logicalType": "decimal", "precision": 2, "scale": 3}, [(b"\1", "\1")]),
    ("bytes", {"logicalType": "decimal", "precision": 2, "scale": -1}, [(b"\1", "\1")]),
    (_FIXED, {"logicalType": "decimal", "precision": 10}, [(b"\0\0\1\0", "\0\0\1\0")]),
    ("int", {"logicalType": "timestamp-millis"}, [(5, 5)]),
    ("long", {"logicalType": "date"}, [(5, 5)]),
    ("string", {"logicalType": "decimal", "precision": 2}, [("a", "a")]),
    ("int", {"logicalType": "unknown"}, [(5, 5)]),
]
"""Types with annotations, and values without them, each with the same as a default."""


def _record(type_: Any, **more: Any) -> dict[str, Any]:
    return {"type": "record", "name": "R", "fields": [{"name": "f", "type": type_, **more}]}


def _annotated(type_: Any, annotation: dict[str, Any]) -> Any:
    return {**(type_ if isinstance(type_, dict) else {"type": type_}), **annotation}


def _wrapped(type_: Any, value: Any) -> Iterator[tuple[str, Any, Any]]:
    """Yield the places that a type may have, each with the value of a field there."""
    yield "field", _record(type_), {"f": value}
    yield (
        "record",
        _record({"type": "record", "name": "N", "fields": [{"name": "n", "type": type_}]}),
        {"f": {"n": value}},
    )
    yield "array", _record({"type": "array", "items": type_}), {"f": [value, value]}
    yield "map", _record({"type": "map", "values": type_}), {"f": {"k": value}}
    yield "nullable", _record(["null", type_]), {"f": value}
    yield "union", _record(["boolean", type_, _ENUM]), {"f": value}
    yield "root", type_, value


def _case(name: str, writer: Any, plain: Any, value: Any, reader: Any) -> Case:
    """Return a case.

    :param plain: the writer's schema without annotations, to write *value* with.
    """
    data = AvroFormat().writer(Schema(json.dumps(plain)), {}, b"", None)[1](value)
    return Case(name, json.dumps(writer), json.dumps(reader), data)


_EMPTY = {"type": "record", "name": "R", "fields": []}


def _defaults() -> Iterator[Case]:
    """Yield cases of fields that only the reader has."""
    for type_, _, default in PLAIN:
        yield _case(f"default {type_}", _EMPTY, _EMPTY, {}, _record(type_, default=default))
    for type_, annotation, values in LOGICAL:
        annotated = _annotated(type_, annotation)
        for _, default in values:
            for place, reader in (
                ("field", _record(annotated, default=default)),
                (
                    "record",
                    _record(
                        {"type": "record", "name": "N", "fields": [{"name": "n", "type": annotated}]},
                        default={"n": default},
                    ),
                ),
                (
                    "own",
                    _record(
                        {
                            "type": "record",
                            "name": "N",
                            "fields": [{"name": "n", "type": annotated, "default": default}],
                        },
                        default={},
                    ),
                ),
                ("array", _record({"type": "array", "items": annotated}, default=[default])),
                ("map", _record({"type": "map", "values": annotated}, default={"k": default})),
                ("union", _record([annotated, "null"], default=default)),
                ("second", _record(["null", annotated], default=default)),
            ):
                yield _case(f"default {place} {annotated} {default!r}", _EMPTY, _EMPTY, {}, reader)


def _annotations() -> Iterator[Case]:
    """Yield cases of annotations that both have, that the reader adds, and that it drops."""
    for type_, annotation, values in LOGICAL:
        annotated = _annotated(type_, annotation)
        for value, _ in values:
            plain = list(_wrapped(type_, value))
            for (place, bare, given), (_, marked, _) in zip(plain, _wrapped(annotated, value), strict=True):
                for name, writer, reader in (
                    ("same", marked, marked),
                    ("added", bare, marked),
                    ("dropped", marked, bare),
                ):
                    yield _case(f"{name} {place} {annotated} {value!r}", writer, bare, given, reader)


def _changes() -> Iterator[Case]:
    """Yield cases of other annotations, promotions and branches."""
    date_, millis = (
        {"type": "int", "logicalType": "date"},
        {"type": "long", "logicalType": "timestamp-millis"},
    )
    small = {"type": "bytes", "logicalType": "decimal", "precision": 9, "scale": 2}
    other = {**small, "scale": 4}
    for name, writer, plain, value, reader in (
        ("scale", small, "bytes", b"\1\0", other),
        ("unit", {**millis, "logicalType": "timestamp-micros"}, "long", 1_000_001, millis),
        ("int to time", date_, "int", 5, millis),
        ("int to double", date_, "int", 5, "double"),
        ("long to double", millis, "long", 5, "double"),
        ("int to float", "int", "int", 16_777_216, "float"),
        ("string to decimal", "string", "string", "\1a", small),
        (
            "bytes to uuid",
            small,
            "bytes",
            b"6ba7b810-9dad-11d1-80b4-00c04fd430c8",
            {"type": "string", "logicalType": "uuid"},
        ),
        ("decimal to string", small, "bytes", b"ab", "string"),
        ("to a union", date_, "int", 5, ["null", millis]),
        ("exact branch", "int", "int", 5, [millis, date_]),
        ("out of a union", ["null", date_], ["null", "int"], 5, ["null", millis]),
        (
            "large in a union",
            ["double", "long"],
            ["null", "long"],
            (1 << 53) + 1,
            ["double", "long", "null"],
        ),
        ("bytes in a union", ["string", "bytes"], ["null", "bytes"], b"\xff", ["null", "string", "bytes"]),
        ("text in a union", ["bytes", "string"], ["bytes", "string"], "a", ["bytes", "string", "null"]),
        ("branch that is gone", ["null", "string"], ["null", "string"], "a", ["null", "int"]),
    ):
        yield _case(name, _record(writer), _record(plain), {"f": value}, _record(reader))
    twice = [
        {**_INNER, "name": "a.I"},
        {**_INNER, "name": "b.I", "fields": [{"name": "x", "type": "int"}, {"name": "y", "type": "int"}]},
    ]
    turned = [{**twice[0], "fields": [{"name": "x", "type": "long"}]}, twice[1]]
    yield _case("names", _record(twice), _record(twice), {"f": ("b.I", {"x": 1, "y": 2})}, _record(turned))
    node = {
        "type": "record",
        "name": "R",
        "fields": [{"name": "f", "type": "int"}, {"name": "n", "type": ["null", "R"]}],
    }
    dated = {
        "type": "record",
        "name": "R",
        "fields": [
            {"name": "n", "type": ["null", "R"]},
            {"name": "f", "type": date_},
            {"name": "d", "type": small, "default": "\1\0"},
        ],
    }
    yield _case("recursive", node, node, {"f": 1, "n": {"f": 2, "n": None}}, dated)
    aliased = {"type": "record", "name": "R", "fields": [{"name": "g", "type": date_, "aliases": ["f"]}]}
    yield _case("alias", _record("int"), _record("int"), {"f": 5}, aliased)


def cases() -> list[Case]:
    """Return all cases."""
    return [*_defaults(), *_annotations(), *_changes()]
