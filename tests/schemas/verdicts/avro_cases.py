"""Verdicts on Avro: those of Apache Avro's tests of schema resolution, and of Confluent's on levels.

The schemas are our own; the pairs and verdicts are theirs.
"""

from __future__ import annotations

from collections.abc import Iterator

from kafkatx.schemas.compatibility import CompatibilityLevel as Level
from kafkatx.schemas.json_text import JSON, dump
from kafkatx.schemas.types import SchemaType
from tests.schemas.avro.documents import array, enum, field, fixed, mapping, record
from tests.schemas.verdicts.case import Case

Pair = tuple[JSON, JSON]
"""The new schema, which reads, and the old one, which has written."""


def pairs(*found: Pair) -> tuple[Pair, ...]:
    """Return pairs, with their type."""
    return found


AB, ABC, BC = enum("RED", "GREEN"), enum("RED", "GREEN", "BLUE"), enum("GREEN", "BLUE")
AB_DEFAULT = enum("RED", "GREEN", default="RED")
ABC_DEFAULT = enum("RED", "GREEN", "BLUE", default="RED")
OTHER_ENUM = enum("RED", "GREEN", name="shade")
EMPTY = record(name="order")
OTHER_RECORD = record(name="bill")
INT = record(field("id", "int"), name="order")
INT_DEFAULT = record(field("id", "int", default=1), name="order")
LONG = record(field("id", "long"), name="order")
TWO = record(field("id", "int"), field("sum", "int"), name="order")
SECOND_DEFAULT = record(field("id", "int"), field("sum", "int", default=0), name="order")
BOTH_DEFAULT = record(field("id", "int", default=1), field("sum", "int", default=0), name="order")


def listed(type_: JSON) -> JSON:
    """Return a record that is a linked list."""
    return record(field("head", type_), field("tail", array("chain")), name="chain")


def with_field(type_: JSON, **rest: JSON) -> JSON:
    """Return a record with one field."""
    return record(field("colour", type_, **rest), name="order")


def second(type_: JSON, **rest: JSON) -> JSON:
    """Return a record with a second field of a type."""
    return record(field("id", "int", default=1), field("sum", type_, **rest), name="order")


def nested(namespace: str) -> JSON:
    """Return a record with an array of records of a namespace."""
    inner = record(field("id", "int"), name="line", namespace=namespace)
    return record(field("lines", ["null", array(inner)]), name="order")


GROUPS: dict[str, tuple[list[Pair], list[Pair]]] = {
    "primitive types": (
        [
            *((kind, kind) for kind in ("boolean", "int", "long", "string", "bytes", "null")),
            *pairs(
                ("long", "int"), ("float", "int"), ("float", "long"), ("double", "int"), ("double", "long")
            ),
            *pairs(("double", "float"), ("string", "bytes"), ("bytes", "string")),
        ],
        [
            *pairs(
                ("null", "int"), ("null", "long"), ("boolean", "int"), ("int", "null"), ("int", "boolean")
            ),
            *pairs(
                ("int", "long"), ("int", "float"), ("int", "double"), ("long", "float"), ("long", "double")
            ),
            *pairs(("float", "double"), ("double", "string"), ("string", "boolean"), ("string", "int")),
            *pairs(("bytes", "null"), ("bytes", "int"), ("int", "string")),
        ],
    ),
    "arrays and maps": (
        [
            *pairs(
                (array("int"), array("int")),
                (array("long"), array("int")),
                (array("string"), array("string")),
            ),
            *pairs((mapping("int"), mapping("int")), (mapping("long"), mapping("int"))),
        ],
        [
            *pairs(
                (array("int"), array("long")),
                (mapping("int"), mapping("long")),
                (mapping("int"), array("int")),
            ),
            *pairs((array("int"), mapping("int")), (mapping("string"), array("string"))),
        ],
    ),
    "enums": (
        [
            *pairs((AB, AB), (ABC, AB), (AB_DEFAULT, ABC)),
            (AB, enum("RED", "GREEN", namespace="a")),
            (enum("RED", "GREEN", namespace="a"), AB),
            (enum("RED", "GREEN", namespace="a"), enum("RED", "GREEN", namespace="b")),
            (with_field(AB_DEFAULT), with_field(ABC_DEFAULT)),
            (
                with_field(enum("RED", "GREEN", default="GREEN"), default="RED"),
                with_field(ABC_DEFAULT, default="GREEN"),
            ),
        ],
        [
            *pairs((AB, ABC), (BC, ABC), (AB, OTHER_ENUM), ("int", OTHER_ENUM), (OTHER_ENUM, "int")),
            (with_field(AB), with_field(ABC)),
            (with_field(AB, default="RED"), with_field(ABC)),
            (second(AB, default="RED"), second(OTHER_ENUM, default="RED")),
            (with_field(AB_DEFAULT), record(field("shade", OTHER_ENUM), name="order")),
        ],
    ),
    "fixed": (
        [(fixed(4), fixed(4))],
        [
            *pairs(
                (fixed(4), fixed(8)),
                (fixed(8), fixed(4)),
                (fixed(4), fixed(4, name="other")),
                (fixed(4), "string"),
            ),
            (second(fixed(8), default="x"), second(fixed(4), default="x")),
            (second(fixed(4), default="x"), second(fixed(8), default="x")),
        ],
    ),
    "records": (
        [
            *pairs((EMPTY, EMPTY), (EMPTY, INT), (INT, INT), (INT_DEFAULT, INT), (INT_DEFAULT, INT_DEFAULT)),
            *pairs((INT, INT_DEFAULT), (LONG, INT), (INT, TWO), (INT_DEFAULT, TWO), (SECOND_DEFAULT, INT)),
            *pairs((BOTH_DEFAULT, EMPTY), (BOTH_DEFAULT, INT), (TWO, BOTH_DEFAULT)),
            *pairs(
                (listed("int"), listed("int")),
                (listed("long"), listed("long")),
                (listed("long"), listed("int")),
            ),
            (nested("a"), nested("b")),
            (nested("a"), nested("")),
            (record(field("sum", "int"), name="order"), TWO),
            (record(field("number", "int", aliases=["id"]), name="order"), INT),
            (record(field("id", "int"), name="bill", aliases=["order"]), INT),
        ],
        [
            *pairs((INT, EMPTY), (SECOND_DEFAULT, EMPTY), (OTHER_RECORD, EMPTY), (INT, "int"), (TWO, INT)),
            (listed("int"), listed("long")),
        ],
    ),
    "unions": (
        [
            *pairs(
                ([], []),
                (["float"], []),
                (["float"], ["int"]),
                (["float"], ["long"]),
                (["float"], ["int", "long"]),
            ),
            *pairs((["int"], ["int"]), (["int", "string"], ["string", "int"]), (["int"], []), (["long"], [])),
            *pairs(
                (["long"], ["int"]), (["double"], ["int"]), (["double"], ["long"]), (["double"], ["float"])
            ),
            *pairs((["string"], []), (["string"], ["bytes"]), (["bytes"], []), (["bytes"], ["string"])),
            *pairs((["double"], ["int", "float"]), ("float", ["int", "float"]), ("long", ["int", "long"])),
            *pairs(("double", ["int", "float"]), ("double", ["int", "long", "float", "double"])),
            *pairs(("float", ["float"]), (["int"], "int"), ("int", ["int"])),
        ],
        [
            *pairs((["int"], ["int", "string"]), (["string"], ["int", "string"]), (["int"], ["int", INT])),
            *pairs(
                (["int"], ["int", OTHER_RECORD]),
                (["int", INT], ["int", record(field("id", "int"), name="bill")]),
            ),
            *pairs((["int"], ["int", AB]), (["int"], ["int", fixed(4)]), (["int"], ["int", "boolean"])),
            *pairs((["int"], ["long"]), (["int"], ["float"]), (["int"], ["double"]), (["int"], ["bytes"])),
            *pairs(
                (["int"], ["int", array("int")]),
                (["int"], ["int", mapping("int")]),
                (["int"], ["int", "null"]),
            ),
            *pairs(
                (["int"], ["int", "long", "float", "double"]), (["int", "string"], ["int", "string", "long"])
            ),
            *pairs(
                ("float", ["int", "long", "float", "double"]),
                ("long", ["int", "float"]),
                ("int", ["int", "float"]),
            ),
            (INT, record(field("id", ["null", "int"], default=None), name="order")),
            (second(["int"], default=0), second(["int", "string"], default=0)),
        ],
    ),
}

# Histories: one field; then one more with a default, without one; and so on.
ONE = record(field("a", "string"))
DEFAULT = record(field("a", "string"), field("b", "string", default="x"))
REQUIRED = record(field("a", "string"), field("b", "string"))
RENAMED = record(field("new_a", "string", aliases=["a"]))
NULLABLE = record(field("a", ["null", "string"], doc="a text"))
WIDER = record(field("a", ["null", "string", "int"], doc="a text"))
THREE = record(field("a", "string"), field("b", "string", default="x"), field("c", "string", default="y"))

HISTORIES: list[tuple[Level, str, bool, JSON, list[JSON]]] = [
    (Level.BACKWARD, "a field with a default is added", True, DEFAULT, [ONE]),
    (Level.BACKWARD, "a field without a default is added", False, REQUIRED, [ONE]),
    (Level.BACKWARD, "a field is renamed, with an alias", True, RENAMED, [ONE]),
    (Level.BACKWARD, "a type becomes a union with it", True, NULLABLE, [ONE]),
    (Level.BACKWARD, "a union becomes one of its types", False, ONE, [NULLABLE]),
    (Level.BACKWARD, "a union gets a branch", True, WIDER, [NULLABLE]),
    (Level.BACKWARD, "a union loses a branch", False, NULLABLE, [WIDER]),
    (
        Level.BACKWARD,
        "a default is removed; the schema before lacks the field",
        True,
        REQUIRED,
        [DEFAULT, ONE],
    ),
    (Level.BACKWARD_TRANSITIVE, "fields with defaults are added in turn", True, THREE, [DEFAULT, ONE]),
    (Level.BACKWARD_TRANSITIVE, "a field with a default is added", True, DEFAULT, [ONE]),
    (Level.BACKWARD_TRANSITIVE, "a default is removed", True, REQUIRED, [DEFAULT]),
    (
        Level.BACKWARD_TRANSITIVE,
        "a default is removed; the schema before lacks the field",
        False,
        REQUIRED,
        [DEFAULT, ONE],
    ),
    (Level.FORWARD, "a field with a default is added", True, DEFAULT, [ONE]),
    (Level.FORWARD, "a field without a default is added", True, REQUIRED, [ONE]),
    (Level.FORWARD, "a default is removed", True, REQUIRED, [DEFAULT]),
    (Level.FORWARD, "a default is added", True, DEFAULT, [REQUIRED]),
    (
        Level.FORWARD,
        "a field is removed; it had no default before the latest",
        True,
        ONE,
        [DEFAULT, REQUIRED],
    ),
    (Level.FORWARD_TRANSITIVE, "fields with defaults are removed in turn", True, ONE, [DEFAULT, THREE]),
    (Level.FORWARD_TRANSITIVE, "a default is added", True, DEFAULT, [REQUIRED]),
    (Level.FORWARD_TRANSITIVE, "a field with a default is removed", True, ONE, [DEFAULT]),
    (
        Level.FORWARD_TRANSITIVE,
        "a field is removed; it had no default before the latest",
        False,
        ONE,
        [DEFAULT, REQUIRED],
    ),
    (Level.FULL, "a field with a default is added", True, DEFAULT, [ONE]),
    (Level.FULL, "a default is removed; the schema before lacks the field", True, REQUIRED, [DEFAULT, ONE]),
    (Level.FULL, "a field is removed; it had no default before the latest", True, ONE, [DEFAULT, REQUIRED]),
    (Level.FULL_TRANSITIVE, "fields with defaults are added in turn", True, THREE, [DEFAULT, ONE]),
    (Level.FULL_TRANSITIVE, "fields with defaults are removed in turn", True, ONE, [DEFAULT, THREE]),
    (Level.FULL_TRANSITIVE, "a default is added", True, DEFAULT, [REQUIRED]),
    (Level.FULL_TRANSITIVE, "a field with a default is removed", True, ONE, [DEFAULT]),
    (Level.FULL_TRANSITIVE, "a field with a default is added", True, DEFAULT, [ONE]),
    (Level.FULL_TRANSITIVE, "a default is removed", True, REQUIRED, [DEFAULT]),
    (
        Level.FULL_TRANSITIVE,
        "a default is removed; the schema before lacks the field",
        False,
        REQUIRED,
        [DEFAULT, ONE],
    ),
    (
        Level.FULL_TRANSITIVE,
        "a field is removed; it had no default before the latest",
        False,
        ONE,
        [DEFAULT, REQUIRED],
    ),
]


def cases() -> Iterator[Case]:
    """Yield the rows."""
    for group, verdicts in GROUPS.items():
        for compatible, pairs in zip((True, False), verdicts, strict=True):
            for new, old in pairs:
                texts = dump(new), dump(old)
                yield Case(
                    SchemaType.AVRO, group, f"{texts[1]} to {texts[0]}", texts[0], texts[1:], compatible
                )
    for level, change, compatible, new, previous in HISTORIES:
        history = tuple(dump(one) for one in previous)
        yield Case(SchemaType.AVRO, "levels", change, dump(new), history, compatible, level)
