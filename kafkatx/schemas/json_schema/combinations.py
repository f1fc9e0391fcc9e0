"""Combinations of schemas: how their criteria may change, and which members fit which. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from kafkatx.schemas.json_schema.shapes import Criterion, Shape


def may_replace(old: Shape, new: Shape) -> bool:
    """Return True if the criterion of a combination may change to the other's.

    With one member all criteria are the same; any of several is wider than one or all of them.
    """
    if old.criterion is new.criterion or new.criterion is Criterion.ANY:
        return True
    single, now_single = len(old.members) == 1, len(new.members) == 1
    if single and (now_single or new.criterion is Criterion.ONE):
        return True
    return now_single and old.criterion is Criterion.ALL


def size_change(old: Shape, new: Shape, before: int, now: int) -> str:
    """Return the incompatible change of the number of members; empty if there is none."""
    if before < now and new.criterion is Criterion.ALL:
        return "PRODUCT_TYPE_EXTENDED"
    if before > now and old.criterion is not Criterion.ALL:
        return "SUM_TYPE_NARROWED"
    return ""


def largest_match(fits: Sequence[Sequence[int]]) -> int:
    """Return how many pairs can be formed at once.

    :param fits: for each member on the left, the numbers of those on the right that it may be paired with.
    """
    left_of: dict[int, int] = {}
    return sum(_pair(left, fits, left_of) for left in range(len(fits)))


def _pair(left: int, fits: Sequence[Sequence[int]], left_of: dict[int, int]) -> bool:
    """Find a partner for *left*, by giving others new partners; breadth first. Changes *left_of*."""
    came_from: dict[int, int] = {}
    waiting = [left]
    for one in waiting:
        for right in fits[one]:
            if right in came_from:
                continue
            came_from[right] = one
            if right not in left_of:
                _reassign(right, came_from, left_of, left)
                return True
            waiting.append(left_of[right])
    return False


def _reassign(free: int, came_from: dict[int, int], left_of: dict[int, int], start: int) -> None:
    """Give the partners along the path that ends at *free* to those before them."""
    partner_of = {left: right for right, left in left_of.items()}
    right = free
    while True:
        left = came_from[right]
        left_of[right] = left
        if left == start:
            return
        right = partner_of[left]
