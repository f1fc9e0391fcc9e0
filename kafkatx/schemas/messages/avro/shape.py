"""The shape of Avro schemas that fastavro has parsed: what in them could harm a reader. Pure.

A reader in C follows nested records as deep as the data says: ten kilobytes of a schema that contains itself
end the process. And an array of items without bytes can announce 2**63 of them in ten bytes.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, TypeAlias

ParsedSchema: TypeAlias = "str | list[ParsedSchema] | dict[str, Any]"
"""A schema as fastavro parses it."""

PRIMITIVE = frozenset(("null", "boolean", "int", "long", "float", "double", "bytes", "string"))

Named: TypeAlias = "Mapping[str, ParsedSchema]"


def children(schema: ParsedSchema) -> Iterator[ParsedSchema]:
    """Yield the schemas that are directly in a schema."""
    if isinstance(schema, list):
        yield from schema
    elif isinstance(schema, dict):
        kind = schema["type"]
        if kind in ("record", "error"):
            for field in schema["fields"]:
                yield field["type"]
        elif kind == "array":
            yield schema["items"]
        elif kind == "map":
            yield schema["values"]
        elif isinstance(kind, (dict, list)):
            yield kind


def is_recursive(schema: ParsedSchema, named: Named) -> bool:
    """Return True if a record contains itself."""
    done: set[str] = set()

    def visit(part: ParsedSchema, inside: frozenset[str]) -> bool:
        name = part if isinstance(part, str) else part.get("name") if isinstance(part, dict) else None
        if isinstance(name, str) and name not in PRIMITIVE:
            if name in inside:
                return True
            if name in done:
                return False
            inside |= {name}
        if isinstance(part, str):
            return part in named and part not in PRIMITIVE and visit_children(named[part], inside, name)
        return visit_children(part, inside, name)

    def visit_children(part: ParsedSchema, inside: frozenset[str], name: object) -> bool:
        if any(visit(child, inside) for child in children(part)):
            return True
        if isinstance(name, str):
            done.add(name)
        return False

    return visit(schema, frozenset())


def unbounded_array(schema: ParsedSchema, named: Named) -> ParsedSchema | None:
    """Return the items of an array that take no bytes; None if there is no such array."""
    seen: set[str] = set()

    def visit(part: ParsedSchema) -> ParsedSchema | None:
        if isinstance(part, str):
            if part in PRIMITIVE or part in seen or part not in named:
                return None
            seen.add(part)
            return visit(named[part])
        if isinstance(part, dict) and part["type"] == "array" and is_empty(part["items"], named):
            items: ParsedSchema = part["items"]
            return items
        return next((found for child in children(part) if (found := visit(child)) is not None), None)

    return visit(schema)


def is_empty(schema: ParsedSchema, named: Named, inside: frozenset[str] = frozenset()) -> bool:
    """Return True if values of a schema take no bytes."""
    if isinstance(schema, str):
        if schema in PRIMITIVE or schema in inside or schema not in named:
            return schema == "null"
        return is_empty(named[schema], named, inside | {schema})
    if isinstance(schema, list):
        return False  # the branch number takes a byte
    kind = schema["type"]
    if kind in ("record", "error"):
        return all(is_empty(field["type"], named, inside) for field in schema["fields"])
    return kind == "null" or (kind == "fixed" and not schema["size"])
