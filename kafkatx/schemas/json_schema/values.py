"""Comparisons of keywords whose values are plain: limits, patterns, lists of values. Pure.

Each function yields the reasons why a value that fits the old (writer's) shape may not fit the new (reader's)
one, by the names that Confluent's registry gives them.
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction

from kafkatx.schemas.json_schema.shapes import Shape
from kafkatx.schemas.json_text import JSON, Object, dump_sorted

Reasons = Iterator[str]


def string_reasons(old: Shape, new: Shape) -> Reasons:
    """Yield the reasons of texts: lengths and patterns."""
    yield from _most("maxLength", "MAX_LENGTH", old.source, new.source)
    yield from _least("minLength", "MIN_LENGTH", old.source, new.source)
    pattern, before = new.source.get("pattern"), old.source.get("pattern")
    if pattern is not None and pattern != before:
        yield "PATTERN_ADDED" if before is None else "PATTERN_CHANGED"


def number_reasons(old: Shape, new: Shape) -> Reasons:
    """Yield the reasons of numbers: limits, steps, and wholeness."""
    limits, before = _limits(new.source), _limits(old.source)
    yield from _most("maximum", "MAXIMUM", before, limits)
    yield from _least("minimum", "MINIMUM", before, limits)
    yield from _most("exclusiveMaximum", "EXCLUSIVE_MAXIMUM", before, limits)
    yield from _least("exclusiveMinimum", "EXCLUSIVE_MINIMUM", before, limits)
    yield from _step_reasons(old.source.get("multipleOf"), new.source.get("multipleOf"))
    if new.integer and not old.integer:
        yield "TYPE_NARROWED"


def object_size_reasons(old: Shape, new: Shape) -> Reasons:
    """Yield the reasons of the number of properties."""
    yield from _most("maxProperties", "MAX_PROPERTIES", old.source, new.source)
    yield from _least("minProperties", "MIN_PROPERTIES", old.source, new.source)


def array_size_reasons(old: Shape, new: Shape) -> Reasons:
    """Yield the reasons of the number of items, of those that ``contains`` counts, and of equal ones."""
    yield from _most("maxItems", "MAX_ITEMS", old.source, new.source)
    yield from _least("minItems", "MIN_ITEMS", old.source, new.source)
    yield from _most("maxContains", "MAX_CONTAINS", old.source, new.source)
    yield from _least("minContains", "MIN_CONTAINS", old.source, new.source)
    if new.source.get("uniqueItems") is True and old.source.get("uniqueItems") is not True:
        yield "UNIQUE_ITEMS_ADDED"


def enum_reasons(old: Shape, new: Shape) -> Reasons:
    """Yield a reason if the old values are not all among the new ones."""
    before, values = (shape.document.texts(shape.source.get("enum")) for shape in (old, new))
    if not before <= values:
        yield "ENUM_ARRAY_NARROWED" if values <= before else "ENUM_ARRAY_CHANGED"


def const_reasons(old: Shape, new: Shape) -> Reasons:
    """Yield a reason if the value is another."""
    if dump_sorted(old.source["const"]) != dump_sorted(new.source["const"]):
        yield "ENUM_ARRAY_CHANGED"


def condition_reasons(old: Shape, new: Shape) -> Reasons:
    """Yield a reason if a condition has changed at all."""
    keywords = ("if", "then", "else")
    before, now = ([dump_sorted(one.source.get(keyword)) for keyword in keywords] for one in (old, new))
    if before != now:
        yield "CONDITION_CHANGED"


def _most(keyword: str, name: str, old: Object, new: Object) -> Reasons:
    before, limit = _number(old, keyword), _number(new, keyword)
    if limit is not None and (before is None or limit < before):
        yield f"{name}_ADDED" if before is None else f"{name}_DECREASED"


def _least(keyword: str, name: str, old: Object, new: Object) -> Reasons:
    before, limit = _number(old, keyword), _number(new, keyword)
    if limit is not None and (before is None or limit > before):
        yield f"{name}_ADDED" if before is None else f"{name}_INCREASED"


def _number(source: Object, keyword: str) -> float | None:
    value = source.get(keyword)
    return value if isinstance(value, (int, float)) and not isinstance(value, bool) else None


def _limits(source: Object) -> Object:
    """Return the limits of numbers, those of draft 4 with its flags as the later drafts write them."""
    limits: Object = {key: source[key] for key in ("maximum", "minimum") if key in source}
    for side in ("Maximum", "Minimum"):
        exclusive = source.get(f"exclusive{side}")
        if exclusive is True and side.lower() in limits:
            limits[f"exclusive{side}"] = limits.pop(side.lower())
        elif exclusive is not None:
            limits[f"exclusive{side}"] = exclusive
    return limits


def _step_reasons(old: JSON, new: JSON) -> Reasons:
    """Yield a reason if a multiple of the old step may be none of the new one."""
    if not isinstance(new, (int, float)):
        return
    if not isinstance(old, (int, float)):
        yield "MULTIPLE_OF_ADDED"
        return
    before, step = Fraction(repr(old)), Fraction(repr(new))
    if before % step:
        yield "MULTIPLE_OF_CHANGED" if step % before else "MULTIPLE_OF_EXPANDED"
