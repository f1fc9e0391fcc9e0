"""Content models: properties and items that an object or array may have beside those that are named. Pure.

The *cover* of another property or item is the schema that it must fit: that of any value in an open model,
that of no value in a closed one, and another in a partially open one.
"""

from __future__ import annotations

from kafkatx.schemas.json_schema.patterns import Patterns
from kafkatx.schemas.json_schema.shapes import Kind, Shape
from kafkatx.schemas.json_text import JSON


def tuple_items(shape: Shape) -> list[JSON]:
    """Return the schemas of the first items, one by one."""
    found = shape.source.get("prefixItems", shape.source.get("items"))
    return found if isinstance(found, list) else []


def all_items(shape: Shape) -> Shape | None:
    """Return the schema of all items; None if there is none, or if the first have schemas of their own."""
    found = shape.source.get("items")
    if found is None or isinstance(found, list) or "prefixItems" in shape.source:
        return None
    return shape.part(found)


def rest_of_object(shape: Shape) -> Shape:
    """Return the schema of properties that neither a name nor a pattern covers, as far as it is said."""
    return shape.part(shape.source.get("additionalProperties", True))


def rest_of_array(shape: Shape) -> Shape:
    """Return the schema of items after a tuple's, in the words of any draft, as far as it is said."""
    keyword = "items" if "prefixItems" in shape.source else "additionalItems"
    return shape.part(shape.source.get(keyword, True))


def unevaluated(shape: Shape, keyword: str) -> Shape:
    """Return the schema of ``unevaluatedProperties`` or ``unevaluatedItems``."""
    return shape.part(shape.source.get(keyword, True))


def cover_of_property(shape: Shape, name: str, patterns: Patterns) -> Shape | None:
    """Return the cover of another property of a name; None if a pattern cannot be evaluated."""
    for pattern, schema in shape.schemas("patternProperties").items():
        found = patterns.matches(pattern, name)
        if found is None:
            return None
        if found:
            return shape.part(schema)
    return _first_that_says(rest_of_object(shape), unevaluated(shape, "unevaluatedProperties"))


def cover_of_item(shape: Shape) -> Shape:
    """Return the cover of items after a tuple's."""
    return _first_that_says(rest_of_array(shape), unevaluated(shape, "unevaluatedItems"))


def _first_that_says(rest: Shape, other: Shape) -> Shape:
    return other if rest.kind is Kind.ANY else rest
