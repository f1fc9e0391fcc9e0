"""JSON schemas for tests."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from kafkatx.schemas.json_schema.json_engine import JsonSchema, JsonSchemaEngine
from kafkatx.schemas.json_text import JSON, dump
from kafkatx.schemas.types import Schema, SchemaType

ENGINE = JsonSchemaEngine()


def parsed(document: JSON, dependencies: Mapping[str, JSON] | None = None) -> JsonSchema:
    """Parse a schema, with those that it depends on by name."""
    needed = {name: Schema(dump(one), SchemaType.JSON) for name, one in (dependencies or {}).items()}
    return ENGINE.parse(Schema(dump(document), SchemaType.JSON), needed)


def reasons(old: JSON, new: JSON) -> Sequence[str]:
    """Return why data of *old* may not fit *new*."""
    return ENGINE.incompatibilities(parsed(new), parsed(old))


def names(old: JSON, new: JSON) -> list[str]:
    """Return the names of the reasons."""
    return [reason.split(" ")[0] for reason in reasons(old, new)]
