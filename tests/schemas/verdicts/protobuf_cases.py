"""Verdicts on Protobuf: those of Confluent's public tests, and of the groups of types that they rest on.

The schemas are our own; the changes and verdicts are theirs. The tests have one pair of types of most groups;
the rows of the group *types* have more pairs, by the groups in Confluent's documentation, which are those of
Protobuf's guide to updating messages.
"""

from __future__ import annotations

from collections.abc import Iterator

from kafkatx.schemas.types import SchemaType
from tests.schemas.verdicts.case import Case

Change = tuple[str, str, str, bool]
"""The change in words, the old parts of a file, the new ones, and the verdict."""


def order(body: str) -> str:
    """Return a message."""
    return f"message Order {{ {body} }}"


STATE = "enum State { NEW = 0; DONE = 1; }"
INNER = "message Line { string text = 1; }"

PROTO3: dict[str, list[Change]] = {
    "fields": [
        ("a field is added", order("string a = 1;"), order("string a = 1; string b = 2;"), True),
        (
            "a field is added beside one of a message",
            order(f"string a = 1; .Order.Line b = 2; {INNER}"),
            order(f"string a = 1; .Order.Line b = 2; float c = 3; {INNER}"),
            True,
        ),
        (
            "a field is added to an inner message",
            order(f"int32 a = 1; {INNER}"),
            order("int32 a = 1; message Line { string text = 1; string more = 2; }"),
            True,
        ),
        ("a field is removed", order("string a = 1; string b = 2;"), order("string a = 1;"), True),
        ("the number of a field changes", order("string a = 1;"), order("string a = 2;"), True),
        (
            "an optional message becomes repeated",
            order(f"optional Line b = 2; {INNER}"),
            order(f"repeated Line b = 2; {INNER}"),
            True,
        ),
        (
            "an optional string becomes repeated",
            order("optional string a = 1;"),
            order("repeated string a = 1;"),
            True,
        ),
        (
            "optional bytes become repeated",
            order("optional bytes a = 1;"),
            order("repeated bytes a = 1;"),
            True,
        ),
        (
            "an optional number becomes repeated",
            order("optional int32 a = 1;"),
            order("repeated int32 a = 1;"),
            False,
        ),
        (
            "the package changes",
            f"package one; {order(f'.one.Order.Line a = 1; {INNER}')}",
            f"package two; {order(f'.two.Order.Line a = 1; {INNER}')}",
            False,
        ),
        (
            "a name is written in full",
            order(f"Line a = 1; {INNER}"),
            order(f".Order.Line a = 1; {INNER}"),
            True,
        ),
        (
            "a name is written in full, with a package",
            f"package one; {order(f'Line a = 1; {INNER}')}",
            f"package one; {order(f'.one.Order.Line a = 1; {INNER}')}",
            True,
        ),
        (
            "a name in a map is written with its message",
            order(f"map<string, Line> a = 1; {INNER}"),
            order(f"map<string, Order.Line> a = 1; {INNER}"),
            True,
        ),
        (
            "the values of a map change their type",
            order("map<string, int32> a = 1;"),
            order("map<string, string> b = 1;"),
            False,
        ),
        ("a number becomes a message", order("int32 a = 1;"), f"{order('Line a = 1;')} {INNER}", False),
        ("a number becomes a string of another name", order("int32 a = 1;"), order("string b = 1;"), False),
        (
            "a message becomes another",
            f"{order('Line a = 1;')} {INNER}",
            f"{order('Row a = 1;')} {INNER.replace('Line', 'Row')}",
            False,
        ),
    ],
    "enums": [
        ("a number becomes an enum", order("int32 a = 1;"), f"{order('State a = 1;')} {STATE}", True),
        ("an enum becomes a number", f"{order('State a = 1;')} {STATE}", order("int32 a = 1;"), True),
        (
            "a constant gets another name",
            f"{order('State a = 1;')} {STATE}",
            f"{order('State a = 1;')} {STATE.replace('DONE', 'GONE')}",
            True,
        ),
        (
            "a number becomes a message of the name of an enum",
            order("int32 a = 1;"),
            f"{order('.Order.State a = 1; message State { string b = 1; }')} {STATE}",
            False,
        ),
        (
            "a message of the name of an enum becomes a number",
            f"{order('.Order.State a = 1; message State { string b = 1; }')} {STATE}",
            order("int32 a = 1;"),
            False,
        ),
    ],
    "messages": [
        ("a message is added", order("string a = 1;"), f"{order('string a = 1;')} {INNER}", True),
        ("a message is added in front", order("string a = 1;"), f"{INNER} {order('string a = 1;')}", True),
        (
            "messages change places",
            f"{order('string a = 1;')} {INNER}",
            f"{INNER} {order('string a = 1;')}",
            True,
        ),
        ("a message is removed", f"{order('string a = 1;')} {INNER}", order("string a = 1;"), False),
    ],
    "oneofs": [
        (
            "a field moves to a new oneof with a new field",
            order("string a = 1; string b = 2;"),
            order("string a = 1; oneof x { string b = 2; int32 c = 3; }"),
            True,
        ),
        (
            "two fields move to a new oneof",
            order("string a = 1; string b = 2;"),
            order("oneof x { string a = 1; string b = 2; int32 c = 3; }"),
            False,
        ),
        (
            "a field is added to a oneof",
            order("oneof x { string a = 1; string b = 2; }"),
            order("oneof x { string a = 1; string b = 2; int32 c = 3; }"),
            True,
        ),
        (
            "a field is removed from a oneof",
            order("oneof x { string a = 1; string b = 2; int32 c = 3; }"),
            order("oneof x { string a = 1; string b = 2; }"),
            False,
        ),
        (
            "a field moves to a oneof of its own",
            order("string a = 1; string b = 2;"),
            order("string a = 1; oneof x { string b = 2; }"),
            True,
        ),
        (
            "a field moves to a oneof that has others",
            order("string a = 1; oneof x { string b = 2; string c = 3; }"),
            order("oneof x { string a = 1; string b = 2; string c = 3; }"),
            False,
        ),
        (
            "a field moves to a oneof that gets another name",
            order("string a = 1; oneof x { string b = 2; string c = 3; }"),
            order("oneof y { string a = 1; string b = 2; string c = 3; }"),
            False,
        ),
        (
            "a oneof gets another name, a field another type",
            order("oneof x { float a = 1; int32 b = 2; }"),
            order("oneof y { float a = 1; string b = 2; }"),
            False,
        ),
        (
            "a oneof goes, a field gets another type",
            order("oneof x { float a = 1; int32 b = 2; }"),
            order("float a = 1; sint64 b = 2;"),
            False,
        ),
        (
            "a field moves to a new oneof and gets another type",
            order("float a = 1; int32 b = 2;"),
            order("float a = 1; oneof x { sint64 b = 2; }"),
            False,
        ),
        (
            "a oneof gets another name",
            order("oneof x { float a = 1; int32 b = 2; }"),
            order("oneof y { float a = 1; int32 b = 2; }"),
            True,
        ),
        (
            "a field moves between oneofs",
            order("oneof x { int32 a = 1; int32 b = 2; } oneof y { int32 c = 3; }"),
            order("oneof x { int32 a = 1; } oneof y { int32 c = 3; int32 b = 2; }"),
            False,
        ),
        (
            "a field of a oneof that goes moves to another",
            order("oneof x { int32 a = 1; } oneof y { int32 b = 2; }"),
            order("oneof y { int32 b = 2; int32 a = 1; }"),
            False,
        ),
        (
            "two oneofs become one",
            order("oneof x { int32 a = 1; } oneof y { int32 b = 2; }"),
            order("oneof z { int32 a = 1; int32 b = 2; }"),
            False,
        ),
        (
            "a field of a oneof moves to a oneof of its own",
            order("oneof x { int32 a = 1; int32 b = 2; }"),
            order("oneof x { int32 b = 2; } oneof y { int32 a = 1; }"),
            True,
        ),
        (
            "a oneof gets another name and loses a field",
            order("oneof x { int32 a = 1; int32 b = 2; }"),
            order("oneof y { int32 a = 1; }"),
            False,
        ),
        (
            "a field moves out of a oneof",
            order("oneof x { int32 a = 1; int32 b = 2; }"),
            order("oneof x { int32 a = 1; } int32 b = 2;"),
            True,
        ),
        (
            "a field moves out of a oneof and gets another type",
            order("oneof x { int32 a = 1; int32 b = 2; }"),
            order("oneof x { int32 a = 1; } string b = 2;"),
            False,
        ),
    ],
}

PROTO2: list[Change] = [
    (
        "a required field is added",
        order("optional string a = 1;"),
        order("optional string a = 1; required string b = 2;"),
        False,
    ),
    (
        "a required field is removed",
        order("optional string a = 1; required string b = 2;"),
        order("optional string a = 1;"),
        False,
    ),
]

TYPES = [
    ("int32", "int64", "uint32", "uint64", "bool"),
    ("sint32", "sint64"),
    ("string", "bytes"),
    ("fixed32", "sfixed32"),
    ("fixed64", "sfixed64"),
    ("float",),
    ("double",),
]
"""Types of a group may become each other."""

HOME = "message Home { int32 id = 1; bool lit = 2; }"
OTHER_HOME = HOME.replace("int32 id", "string id")
NESTED = f"message Street {{ {HOME} }}"
OTHER_NESTED = f"message Street {{ {OTHER_HOME} }}"

IMPORTS: list[tuple[str, tuple[str, str], tuple[str, str], bool]] = [
    (
        "the imported message changes",
        ("town.v1.Home", f"package town.v1; {HOME}"),
        ("town.v1.Home", f"package town.v1; {OTHER_HOME}"),
        False,
    ),
    (
        "the imported message is of another package",
        ("town.v1.Home", f"package town.v1; {HOME}"),
        ("town.v2.Home", f"package town.v2; {HOME}"),
        True,
    ),
    (
        "the imported inner message is of another package",
        ("town.v1.Street.Home", f"package town.v1; {NESTED}"),
        ("town.v2.Street.Home", f"package town.v2; {NESTED}"),
        True,
    ),
    (
        "the imported inner message is of another package, and changes",
        ("town.v1.Street.Home", f"package town.v1; {NESTED}"),
        ("town.v2.Street.Home", f"package town.v2; {OTHER_NESTED}"),
        False,
    ),
    ("a message moves to an import", ("Home", HOME), ("town.v1.Home", f"package town.v1; {HOME}"), False),
    ("a message moves from an import", ("town.v1.Home", f"package town.v1; {HOME}"), ("Home", HOME), True),
]
"""Changes of a field's message, and of the file that has it: imported if it has a package."""


def cases() -> Iterator[Case]:
    """Yield the rows."""
    for group, changes in PROTO3.items():
        for change, old, new, compatible in changes:
            yield _case(group, change, (f'syntax = "proto3"; {old}', f'syntax = "proto3"; {new}'), compatible)
    for change, old, new, compatible in PROTO2:
        yield _case(
            "required fields", change, (f'syntax = "proto2"; {old}', f'syntax = "proto2"; {new}'), compatible
        )
    yield from _types()
    for change, old_file, new_file, compatible in IMPORTS:
        (before, one), (now, other) = _importing(*old_file, "old.proto"), _importing(*new_file, "new.proto")
        yield Case(
            SchemaType.PROTOBUF, "imports", change, now, (before,), compatible, references={**one, **other}
        )


def _types() -> Iterator[Case]:
    """Yield the changes of a field between types that are neighbours, in a group and between groups."""
    flat = [(number, name) for number, group in enumerate(TYPES) for name in group]
    for distance in (1, 2, 5):
        for index, (group, name) in enumerate(flat):
            other_group, other = flat[(index + distance) % len(flat)]
            texts = (
                f'syntax = "proto3"; {order(f"{name} a = 1;")}',
                f'syntax = "proto3"; {order(f"{other} a = 1;")}',
            )
            yield _case("types", f"{name} becomes {other}", texts, group == other_group)


def _case(group: str, change: str, texts: tuple[str, str], compatible: bool) -> Case:
    return Case(SchemaType.PROTOBUF, group, change, texts[1], (texts[0],), compatible)


def _importing(name: str, text: str, path: str) -> tuple[str, dict[str, str]]:
    """Return a file with a message that has a field of a message, and the file that it imports."""
    if "." not in name:
        return f'syntax = "proto3"; {order(f"{name} home = 1;")} {text}', {}
    file = f'syntax = "proto3"; import "{path}"; {order(f".{name} home = 1;")}'
    return file, {path: f'syntax = "proto3"; {text}'}
