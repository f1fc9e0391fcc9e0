"""The comparison of schemas of arrays. Pure."""

from __future__ import annotations

from kafkatx.schemas.json_schema.contents import (
    all_items,
    cover_of_item,
    rest_of_array,
    tuple_items,
    unevaluated,
)
from kafkatx.schemas.json_schema.objects import Compare, Reasons, one_schema, rest_reasons
from kafkatx.schemas.json_schema.reasons import reason
from kafkatx.schemas.json_schema.shapes import Kind, Shape
from kafkatx.schemas.json_schema.values import array_size_reasons
from kafkatx.schemas.places import below
from kafkatx.schemas.recursion import Walk


def array_reasons(compare: Compare, old: Shape, new: Shape, where: str, most: int) -> Walk[Reasons]:
    """Return why an array that fits *old* may not fit *new*.

    :param most: the number of reasons that are enough.
    """
    found = [reason(name, where) for name in array_size_reasons(old, new)]
    found.extend((yield _all_items(compare, old, new, where)))
    before, now = tuple_items(old), tuple_items(new)
    for index in range(max(len(before), len(now))):
        place = below(where, "items", index)
        if index >= len(now):
            found.extend((yield _removed(compare, old.part(before[index]), new, place)))
        elif index >= len(before):
            found.extend((yield _added(compare, old, new.part(now[index]), place)))
        else:
            found.extend((yield compare(old.part(before[index]), new.part(now[index]), place)))
        if len(found) >= most:
            return found[:most]
    rests = rest_of_array(old), rest_of_array(new)
    found.extend((yield rest_reasons(compare, *rests, "ADDITIONAL_ITEMS", where)))
    rests = unevaluated(old, "unevaluatedItems"), unevaluated(new, "unevaluatedItems")
    found.extend((yield rest_reasons(compare, *rests, "UNEVALUATED_ITEMS", where)))
    found.extend((yield one_schema(compare, old, new, "contains", "CONTAINS_ADDED", where)))
    return found[:most]


def _all_items(compare: Compare, old: Shape, new: Shape, where: str) -> Walk[Reasons]:
    before, now = all_items(old), all_items(new)
    place = below(where, "items")
    if now is None or now.kind is Kind.ANY:
        return ()
    if before is None:
        return (reason("SCHEMA_ADDED", place),)
    return (yield compare(before, now, place))


def _removed(compare: Compare, item: Shape, new: Shape, place: str) -> Walk[Reasons]:
    """Return why the reader may not accept an item that has no schema of its own there."""
    cover = cover_of_item(new)
    if cover.kind is Kind.ANY or item.kind is Kind.NEVER:
        return ()
    if cover.kind is Kind.NEVER:
        return (reason("ITEM_REMOVED_FROM_CLOSED_CONTENT_MODEL", place),)
    found = yield compare(item, cover, place)
    if not found:
        return ()
    return [*found, reason("ITEM_REMOVED_NOT_COVERED_BY_PARTIALLY_OPEN_CONTENT_MODEL", place)]


def _added(compare: Compare, old: Shape, item: Shape, place: str) -> Walk[Reasons]:
    """Return why the reader may not accept what the writer allows for an item of no schema of its own."""
    cover = cover_of_item(old)
    if cover.kind is Kind.NEVER or item.kind is Kind.ANY:
        return ()
    if cover.kind is Kind.ANY:
        return (reason("ITEM_ADDED_TO_OPEN_CONTENT_MODEL", place),)
    found = yield compare(cover, item, place)
    if not found:
        return ()
    return [*found, reason("ITEM_ADDED_NOT_COVERED_BY_PARTIALLY_OPEN_CONTENT_MODEL", place)]
