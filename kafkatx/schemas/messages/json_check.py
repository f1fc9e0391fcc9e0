"""A quick check of values against the usual keywords of JSON Schema.

It is made of functions, one for each part of the schema. It never accepts a value that the schema refuses; it
may refuse one that the schema accepts (a number like 1.0 where an integer is expected, any value where the
schema has a keyword that is not known here).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

Check: TypeAlias = Callable[[Any], bool]

_MEANINGLESS = {
    *("$schema", "$id", "id", "$comment", "title", "description", "default", "examples", "deprecated"),
    *("readOnly", "writeOnly", "connect.type", "connect.index"),
}
_TYPES: dict[str, tuple[type, ...]] = {
    "object": (dict,),
    "array": (list,),
    "string": (str,),
    "integer": (int,),
    "number": (int, float),
    "boolean": (bool,),
    "null": (type(None),),
}
_LIMITS: dict[str, Callable[[Any, Any], bool]] = {
    "minimum": lambda value, limit: value >= limit,
    "maximum": lambda value, limit: value <= limit,
    "exclusiveMinimum": lambda value, limit: value > limit,
    "exclusiveMaximum": lambda value, limit: value < limit,
    "minLength": lambda value, limit: len(value) >= limit,
    "maxLength": lambda value, limit: len(value) <= limit,
    "minItems": lambda value, limit: len(value) >= limit,
    "maxItems": lambda value, limit: len(value) <= limit,
}
_FOR_TYPE = {
    "object": frozenset(("properties", "required", "additionalProperties")),
    "array": frozenset(("items", "minItems", "maxItems")),
    "string": frozenset(("minLength", "maxLength")),
    "integer": frozenset(("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum")),
    "number": frozenset(("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum")),
    "boolean": frozenset(()),
    "null": frozenset(()),
}
_DEEPEST = 32


def _refuse(value: Any) -> bool:
    return False


def _accept(value: Any) -> bool:
    return value.__class__ in (str, int, bool, type(None))


def quick_check(schema: Any, depth: int = 0) -> Check:
    """Return a function that returns True for values that match the schema, and False if it does not know."""
    if not isinstance(schema, dict) or depth > _DEEPEST:
        return _refuse
    keywords = schema.keys() - _MEANINGLESS
    for union in ("anyOf", "oneOf"):
        if keywords == {union} and isinstance(schema[union], list):
            return _union(schema[union], union == "oneOf", depth)
    if not keywords:
        return _accept
    kinds = schema.get("type")
    names = [kinds] if isinstance(kinds, str) else kinds
    if not isinstance(names, list) or not all(name in _FOR_TYPE for name in names):
        return _refuse
    rest = keywords - {"type"}
    if len(names) == 1:
        return _of_type(names[0], schema, rest, depth)
    if rest:
        return _refuse
    classes = tuple(kind for name in names for kind in _TYPES[name] if name not in ("object", "array"))
    return lambda value: value.__class__ in classes


def _union(branches: list[Any], one: bool, depth: int) -> Check:
    """Return a check of anyOf; and of oneOf if no value can match two branches: they are of other types."""
    kinds = [branch.get("type") if isinstance(branch, dict) else None for branch in branches]
    if one and not (all(isinstance(kind, str) for kind in kinds) and len(set(kinds)) == len(kinds)):
        return _refuse
    if one and {"integer", "number"} <= set(kinds):
        return _refuse
    checks = [quick_check(branch, depth + 1) for branch in branches]

    def check(value: Any) -> bool:
        return any(each(value) for each in checks)

    return check


def _of_type(name: str, schema: dict[str, Any], rest: set[str], depth: int) -> Check:
    if not rest <= _FOR_TYPE[name]:
        return _refuse
    if name == "object":
        return _object(schema, depth)
    if name == "array":
        return _array(schema, depth)
    classes = _TYPES[name]
    limits = [(_LIMITS[each], schema[each]) for each in rest]
    if any(limit.__class__ not in (int, float) for _, limit in limits):  # draft 4 has booleans here
        return _refuse
    if len(classes) == 1 and not limits:
        (only,) = classes
        return lambda value: value.__class__ is only
    if name == "number":  # not a number that JSON lacks
        limits.append((lambda value, most: -most <= value <= most, 1.7976931348623157e308))

    def check(value: Any) -> bool:
        if value.__class__ not in classes:
            return False
        return all(holds(value, limit) for holds, limit in limits)

    return check


def _array(schema: dict[str, Any], depth: int) -> Check:
    if "items" not in schema or not isinstance(schema["items"], dict):
        return _refuse
    item = quick_check(schema["items"], depth + 1)
    least, most = schema.get("minItems", 0), schema.get("maxItems", float("inf"))

    def check(value: Any) -> bool:
        return value.__class__ is list and least <= len(value) <= most and all(map(item, value))

    return check


def _object(schema: dict[str, Any], depth: int) -> Check:
    """Return a check of objects; fields that the schema does not name are simple values, or refused."""
    properties, required = schema.get("properties", {}), schema.get("required", [])
    if not isinstance(properties, dict) or not isinstance(required, list):
        return _refuse
    checks = {name: quick_check(each, depth + 1) for name, each in properties.items()}
    others: Check | None
    match schema.get("additionalProperties", True):
        case True:
            others = _accept
        case False:
            others = None
        case rest:
            others = quick_check(rest, depth + 1)
    needed = frozenset(required)

    def check(value: Any) -> bool:
        if value.__class__ is not dict or not needed <= value.keys():
            return False
        for name, item in value.items():
            holds = checks.get(name, others)
            if holds is None or not holds(item) or name.__class__ is not str:
                return False
        return True

    return check
