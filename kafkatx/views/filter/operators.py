"""The operators of filters: total functions of the values of a record.

A look-up that finds nothing gives :data:`MISSING`, which is like None in everything but ``exists``. A key or
value that could not be decoded, or is hidden, is :data:`UNDECODED`, and so is everything in it: it equals
nothing. Values that cannot be compared are neither less nor greater, so a filter fits records of many kinds.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping
from decimal import Decimal
from typing import Final


class _Missing:
    """A value that is not there, or not known."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __bool__(self) -> bool:
        return False

    def __repr__(self) -> str:
        return self._name


MISSING: Final = _Missing("missing")
"""The value of a look-up that finds nothing."""

UNDECODED: Final = _Missing("undecoded")
"""The value of bytes that could not be decoded, or are hidden."""


def nothing_of(value: object) -> object:
    """Return the result of what cannot be done with a value."""
    return UNDECODED if value is UNDECODED else MISSING


MOST_BITS: Final = 4096
"""The size of integers that are calculated with: JSON has any."""

NUMBERS: Final = (int, float, Decimal)


def look_up(container: object, index: object) -> object:
    """Return the field of an object, the item of a list or the letter of a text; MISSING if there is none."""
    if isinstance(container, Mapping):
        return container.get(index, MISSING) if isinstance(index, (str, int)) else MISSING
    if isinstance(container, (list, str)) and isinstance(index, int) and not isinstance(index, bool):
        return container[index] if -len(container) <= index < len(container) else MISSING
    return nothing_of(container)


def cut(container: object, start: object, end: object) -> object:
    """Return a part of a list or a text."""
    if not isinstance(container, (list, str)):
        return nothing_of(container)
    first, last = _bound(start), _bound(end)
    if isinstance(first, _Missing) or isinstance(last, _Missing):
        return MISSING
    return container[first:last]


def _bound(value: object) -> int | _Missing | None:
    """Return a bound of a part, None if it has none there; MISSING if it is no whole number."""
    if value is None or (isinstance(value, int) and not isinstance(value, bool)):
        return value
    return MISSING


def is_number(value: object) -> bool:
    """Return True for a number that may be calculated with."""
    if isinstance(value, bool) or not isinstance(value, NUMBERS):
        return False
    return not isinstance(value, int) or value.bit_length() <= MOST_BITS


def equal(left: object, right: object) -> bool:
    """Return True for equal values; what is missing equals None, what is undecoded equals nothing."""
    if left is UNDECODED or right is UNDECODED:
        return False
    left = None if left is MISSING else left
    right = None if right is MISSING else right
    return bool(left == right)


def contains(container: object, item: object) -> bool:
    """Return True if a text has a part, a list an item, or an object a field."""
    if isinstance(container, str):
        return isinstance(item, str) and item in container
    if isinstance(container, (list, tuple)):
        return any(equal(item, each) for each in container)
    return isinstance(container, Mapping) and isinstance(item, str) and item in container


def _ordered(compare: Callable[[object, object], object]) -> Callable[[object, object], bool]:
    def compared(left: object, right: object) -> bool:
        if (is_number(left) and is_number(right)) or (isinstance(left, str) and isinstance(right, str)):
            return bool(compare(left, right))
        return False

    return compared


def _calculated(calculate: Callable[[object, object], object]) -> Callable[[object, object], object]:
    def calculated(left: object, right: object) -> object:
        if not (is_number(left) and is_number(right)):
            return UNDECODED if UNDECODED in (left, right) else MISSING
        if isinstance(left, Decimal) != isinstance(right, Decimal):
            left, right = float(left), float(right)  # type: ignore[arg-type]
        try:
            return calculate(left, right)
        except ArithmeticError:  # a division by zero, an overflow
            return MISSING

    return calculated


COMPARISONS: Final[Mapping[str, Callable[[object, object], bool]]] = {
    "Eq": equal,
    "NotEq": lambda left, right: not equal(left, right),
    "Is": equal,
    "IsNot": lambda left, right: not equal(left, right),
    "In": lambda left, right: contains(right, left),
    "NotIn": lambda left, right: not contains(right, left),
    "Lt": _ordered(operator.lt),  # type: ignore[arg-type]
    "LtE": _ordered(operator.le),  # type: ignore[arg-type]
    "Gt": _ordered(operator.gt),  # type: ignore[arg-type]
    "GtE": _ordered(operator.ge),  # type: ignore[arg-type]
}
"""By the names that Python's syntax tree has for them."""

CALCULATIONS: Final[Mapping[str, Callable[[object, object], object]]] = {
    "Add": _calculated(operator.add),
    "Sub": _calculated(operator.sub),
    "Mult": _calculated(operator.mul),
    "Div": _calculated(operator.truediv),
    "FloorDiv": _calculated(operator.floordiv),
    "Mod": _calculated(operator.mod),
}


def negated(value: object) -> object:
    """Return a number with the other sign."""
    return -value if is_number(value) else nothing_of(value)  # type: ignore[operator]


def as_number(value: object) -> object:
    """Return a number as it is."""
    return value if is_number(value) else nothing_of(value)
