"""The page on compatibility: ``python -m tests.schemas.verdicts.document docs/schema-compatibility.md``."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

from kafkatx.schemas.limits import (
    MAX_DEPTH,
    MAX_NAME_LENGTH,
    MAX_REASONS,
    MAX_REFERENCES,
    MAX_SIZE_BYTES,
    MAX_TOTAL_SIZE_BYTES,
)
from kafkatx.schemas.types import SchemaType
from tests.schemas.verdicts import avro_cases, json_cases, protobuf_cases
from tests.schemas.verdicts.case import Case

HEAD = """\
# Compatibility of schemas

A schema is *backward compatible* with an older one if a reader that uses it reads all data that were
written with the older one. kafkatx decides this as Confluent's registry does, for Avro, JSON Schema and
Protobuf. The rules below are what users of one of them need to know before they change a schema; the
table at the end shows how the verdicts are checked.

## Levels

| level | the new schema must | against |
|---|---|---|
| `NONE` | nothing | |
| `BACKWARD` | read old data | the latest schema |
| `FORWARD` | be read by old readers | the latest schema |
| `FULL` | both | the latest schema |
| `BACKWARD_TRANSITIVE`, `FORWARD_TRANSITIVE`, `FULL_TRANSITIVE` | as above | all schemas before |

A refusal gives up to {reasons} reasons for each old schema: the kind of the change by Confluent's name,
its place, and what differs between reader and writer.

## Avro

*   A field may be added if it has a default, and removed at any time. A renamed field or type needs an
    alias.
*   Types may widen: `int` to `long`, `float`, `double`; `long` to `float`, `double`; `float` to `double`.
    `bytes` and `string` read each other.
*   A type may become a union that contains it; a union may get branches, and loses none.
*   An enum may get symbols; it may lose them if it has a default. The size of a fixed stays.
*   Names are compared without their namespace. Logical types are not compared.
*   The default of a union may be a value of any of its branches, as in Avro 1.12; older readers expect
    one of the first branch.
*   Two texts are the same schema if they differ in layout only, in the way that names are written, or in
    the order of aliases. Documentation, defaults and other attributes count.

## JSON Schema

*   Drafts 4, 6, 7, 2019-09 and 2020-12. References lead to other places of the schema, and to registered
    schemas by their name or their `$id`; nothing is fetched.
*   Limits may become wider or go; a pattern may go; an enum may get values; `integer` may become
    `number`.
*   A property may be added only if old data cannot have another value there: with `additionalProperties:
    false`, or where the schema of other properties fits it. A property may be removed if the new schema
    allows it among the others. So open objects may lose properties, and closed ones get them.
*   A property that both schemas name may become required only with a default.
*   Items of tuples follow the rules of properties.
*   `oneOf` and `anyOf` may get schemas, `allOf` may lose them; a schema may become a choice that contains
    it.
*   Beyond Confluent's registry, changes of `contains`, `propertyNames`, `patternProperties` and `if` are
    compared.
*   A regular expression of `patternProperties` is evaluated only where that is quick: at most two
    quantifiers, none on a group. Where the verdict depends on another one, the change is refused.

## Protobuf

*   proto2, proto3 and edition 2023. Imports are registered schemas by the name of the reference, or
    well-known files: `google/protobuf/*.proto`, `confluent/meta.proto`, `confluent/type/decimal.proto`,
    and `google/type/*.proto`. A schema may also be a serialized
    `FileDescriptorProto` in base64; it is stored as text.
*   Fields are compared by number; names may change. Fields may be added and removed, unless they are
    required.
*   A type may change within its group: `int32`, `int64`, `uint32`, `uint64`, `bool` and enums; `sint32`
    and `sint64`; `string` and `bytes`; `fixed32` and `sfixed32`; `fixed64` and `sfixed64`.
*   A field may move into a oneof of its own, and out of any. Fields that could be set together may not
    come into one oneof, and a oneof loses no field, unless it goes with all of them.
*   Messages are not removed, and keep their names; their order does not matter. The package stays.

## Limits

| | at most |
|---|---|
| size of a schema | {size:,} bytes |
| size with all that it refers to | {total:,} bytes |
| references, direct and indirect | {references} |
| types, schemas or messages within each other | {depth} |
| letters of a full name | {name} |

A comparison of schemas that would take longer than a few seconds is given up; its verdict is that they
are not compatible.

## The verdicts

The tests of kafkatx hold {rows} pairs of schemas, with the verdicts of the public tests of Confluent's
registry and of Apache Avro, whose rules it applies; the pairs of Protobuf's types have those of
Confluent's documentation. **{differing} of our verdicts differ.** The schemas of the pairs are our own.

"""


def page() -> str:
    """Return the text of the page."""
    rows = [*avro_cases.cases(), *json_cases.cases(), *protobuf_cases.cases()]
    head = HEAD.format(
        reasons=MAX_REASONS,
        size=MAX_SIZE_BYTES,
        total=MAX_TOTAL_SIZE_BYTES,
        references=MAX_REFERENCES,
        depth=MAX_DEPTH,
        name=MAX_NAME_LENGTH,
        rows=len(rows),
        differing=sum(bool(row.difference) for row in rows),
    )
    return head + "\n".join([*_summary(rows), *_differences(rows), *_changes(rows)]) + "\n"


def _summary(rows: Sequence[Case]) -> Iterator[str]:
    yield "| schemas | pairs | compatible | not compatible | ours differ |"
    yield "|---|---|---|---|---|"
    for one in SchemaType:
        ours = [row for row in rows if row.type is one]
        good = sum(row.compatible for row in ours)
        differing = sum(bool(row.difference) for row in ours)
        yield f"| {one.value} | {len(ours)} | {good} | {len(ours) - good} | {differing} |"
    yield ""


def _differences(rows: Sequence[Case]) -> Iterator[str]:
    for row in rows:
        if row.difference:
            verdict = "compatible" if row.compatible else "not compatible"
            yield f"*   {row.type.value}, {row.change}: {verdict} for Confluent's registry. {row.difference}"


def _changes(rows: Sequence[Case]) -> Iterator[str]:
    """Yield a table of changes for each group that tells them in words."""
    yield "The changes that can be told in words; the level is `BACKWARD` unless it is said:"
    yield ""
    for schema_type, group in dict.fromkeys((row.type, row.group) for row in rows):
        ours = [row for row in rows if (row.type, row.group) == (schema_type, group)]
        if group == "types" or any("{" in row.change or '"' in row.change for row in ours):
            continue
        yield f"### {schema_type.value}: {group}"
        yield ""
        yield "| change | compatible |"
        yield "|---|---|"
        yield from dict.fromkeys(_row(row) for row in ours)
        yield ""


def _row(row: Case) -> str:
    level = f"`{row.level.value}`: " if row.type is SchemaType.AVRO else ""
    return f"| {level}{row.change} | {'yes' if row.compatible else '**no**'} |"


if __name__ == "__main__":
    Path(sys.argv[1]).write_text(page().rstrip("\n") + "\n", encoding="utf-8")
