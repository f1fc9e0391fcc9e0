"""The comparison of schemas of objects. Pure."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TypeAlias

from kafkatx.schemas.json_schema.contents import cover_of_property, rest_of_object, unevaluated
from kafkatx.schemas.json_schema.patterns import Patterns
from kafkatx.schemas.json_schema.reasons import reason
from kafkatx.schemas.json_schema.shapes import Kind, Shape
from kafkatx.schemas.json_schema.values import object_size_reasons
from kafkatx.schemas.json_text import JSON, dump_sorted
from kafkatx.schemas.limits import MAX_REASONS
from kafkatx.schemas.places import below
from kafkatx.schemas.recursion import Walk

Reasons: TypeAlias = Sequence[str]
Compare: TypeAlias = "Callable[[Shape, Shape, str], Walk[Reasons]]"
"""The comparison of two shapes, old and new, at a place."""


def object_reasons(
    compare: Compare, patterns: Patterns, old: Shape, new: Shape, where: str, most: int
) -> Walk[Reasons]:
    """Return why an object that fits *old* may not fit *new*.

    :param most: the number of reasons that are enough.
    """
    found = [reason(name, where) for name in object_size_reasons(old, new)]
    before, now = old.schemas("properties"), new.schemas("properties")
    for name in {**before, **now}:
        place = below(where, "properties", name)
        if name not in now:
            found.extend((yield _removed(compare, patterns, old.part(before[name]), new, name, place)))
        elif name not in before:
            found.extend((yield _added(compare, patterns, old, new, name, place)))
        else:
            found.extend(_required_reasons(old, new, name, where))
            found.extend((yield compare(old.part(before[name]), new.part(now[name]), place)))
        if len(found) >= most:
            return found[:most]
    found.extend((yield _patterns(compare, old, new, where)))
    found.extend((yield _dependencies(compare, old, new, where)))
    rests = rest_of_object(old), rest_of_object(new)
    found.extend((yield rest_reasons(compare, *rests, "ADDITIONAL_PROPERTIES", where)))
    rests = unevaluated(old, "unevaluatedProperties"), unevaluated(new, "unevaluatedProperties")
    found.extend((yield rest_reasons(compare, *rests, "UNEVALUATED_PROPERTIES", where)))
    found.extend((yield one_schema(compare, old, new, "propertyNames", "PROPERTY_NAMES_ADDED", where)))
    return found[:most]


def rest_reasons(compare: Compare, old: Shape, new: Shape, name: str, where: str) -> Walk[Reasons]:
    """Return why other properties or items that fit *old* may not fit *new*.

    :param name: the keyword, as reasons name it.
    """
    if new.kind is Kind.ANY or old.kind is Kind.NEVER:
        return ()
    if new.kind is Kind.NEVER:
        return (reason(f"{name}_REMOVED", where),)
    if old.kind is Kind.ANY:
        return (reason(f"{name}_NARROWED", where),)
    keyword = "".join(part.capitalize() for part in name.split("_"))
    return (yield compare(old, new, below(where, keyword[0].lower() + keyword[1:])))


def one_schema(
    compare: Compare, old: Shape, new: Shape, keyword: str, added: str, where: str
) -> Walk[Reasons]:
    """Return the reasons of a keyword that has one schema, and says nothing if it is missing."""
    if keyword not in new.source or new.part(new.source[keyword]).kind is Kind.ANY:
        return ()
    if keyword not in old.source:
        return (reason(added, where),)
    parts = old.part(old.source[keyword]), new.part(new.source[keyword])
    return (yield compare(*parts, below(where, keyword)))


def _required(shape: Shape, name: str) -> bool:
    return dump_sorted(name) in shape.document.texts(shape.source.get("required"))


def _has_default(shape: Shape, name: str) -> bool:
    schema = shape.schemas("properties").get(name)
    return isinstance(schema, dict) and "default" in schema


def _required_reasons(old: Shape, new: Shape, name: str, where: str) -> Iterator[str]:
    """Yield a reason if a property that both know is newly required."""
    if _required(new, name) and not _required(old, name) and not _has_default(new, name):
        yield reason("REQUIRED_ATTRIBUTE_ADDED", below(where, "required", name))


def _removed(
    compare: Compare, patterns: Patterns, property_: Shape, new: Shape, name: str, place: str
) -> Walk[Reasons]:
    """Return why the reader may not accept a property that its schema does not name."""
    cover = cover_of_property(new, name, patterns)
    if cover is None:
        return (reason("PATTERN_NOT_EVALUATED", place),)
    if cover.kind is Kind.ANY or property_.kind is Kind.NEVER:
        return ()
    if cover.kind is Kind.NEVER:
        return (reason("PROPERTY_REMOVED_FROM_CLOSED_CONTENT_MODEL", place),)
    found = yield compare(property_, cover, place)
    if not found:
        return ()
    return [*found, reason("PROPERTY_REMOVED_NOT_COVERED_BY_PARTIALLY_OPEN_CONTENT_MODEL", place)]


def _added(
    compare: Compare, patterns: Patterns, old: Shape, new: Shape, name: str, place: str
) -> Walk[Reasons]:
    """Return why the reader may not accept what the writer, which does not name a property, allows for it."""
    property_ = new.part(new.schemas("properties")[name])
    cover = cover_of_property(old, name, patterns)
    if cover is None:
        return (reason("PATTERN_NOT_EVALUATED", place),)
    required = _required(new, name)
    if cover.kind is Kind.ANY:
        if property_.kind is Kind.ANY:
            return ()
        default = "_WITH_DEFAULT" if _has_default(new, name) else ""
        change = f"REQUIRED_PROPERTY{default}" if required else "OPTIONAL_PROPERTY"
        return (reason(f"{change}_ADDED_TO_OPEN_CONTENT_MODEL", place),)
    found: list[str] = []
    if cover.kind is not Kind.NEVER:
        found.extend((yield compare(cover, property_, place)))
        if found:
            found.append(reason("PROPERTY_ADDED_NOT_COVERED_BY_PARTIALLY_OPEN_CONTENT_MODEL", place))
    if required and not _has_default(new, name):
        found.append(reason("REQUIRED_PROPERTY_ADDED_TO_UNOPEN_CONTENT_MODEL", place))
    return found


def _patterns(compare: Compare, old: Shape, new: Shape, where: str) -> Walk[Reasons]:
    """Return the reasons of ``patternProperties``: a new pattern restricts what the rest covered before."""
    found: list[str] = []
    before, now = old.schemas("patternProperties"), new.schemas("patternProperties")
    for pattern in {**before, **now}:
        place = below(where, "patternProperties", pattern)
        one = old.part(before[pattern]) if pattern in before else rest_of_object(old)
        other = new.part(now[pattern]) if pattern in now else rest_of_object(new)
        if one.kind is Kind.NEVER or other.kind is Kind.ANY:
            continue
        if pattern in before and other.kind is Kind.NEVER:
            found.append(reason("PATTERN_PROPERTY_REMOVED", place))
        elif pattern not in before and one.kind is Kind.ANY:
            found.append(reason("PATTERN_PROPERTY_ADDED", place))
        else:
            found.extend((yield compare(one, other, place)))
        del found[MAX_REASONS:]
    return found


def _dependencies(compare: Compare, old: Shape, new: Shape, where: str) -> Walk[Reasons]:
    """Return the reasons of properties that require others, or a schema."""
    found: list[str] = []
    before = _needs(old)
    for name, needed in _needs(new).items():
        place = below(where, "dependencies", name)
        was = before.get(name)
        if isinstance(needed, list):
            found.extend(reason(change, place) for change in _list_changes(was, needed))
        elif was is None or isinstance(was, list):
            found.append(reason("DEPENDENCY_SCHEMA_ADDED", place))
        else:
            found.extend((yield compare(old.part(was), new.part(needed), place)))
        del found[MAX_REASONS:]
    return found


def _needs(shape: Shape) -> Mapping[str, JSON]:
    """Return the names and schemas that properties require, in the words of any draft."""
    keywords = ("dependencies", "dependentRequired", "dependentSchemas")
    return {name: needed for keyword in keywords for name, needed in shape.schemas(keyword).items()}


def _list_changes(old: JSON | None, new: list[JSON]) -> Iterator[str]:
    if not isinstance(old, list):
        yield "DEPENDENCY_ARRAY_ADDED"
        return
    before, now = set(map(str, old)), set(map(str, new))
    if not now <= before:
        yield "DEPENDENCY_ARRAY_EXTENDED" if before <= now else "DEPENDENCY_ARRAY_CHANGED"
