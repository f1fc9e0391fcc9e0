"""The functions of filters, total as the operators are."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from decimal import Decimal
from typing import Final

import attrs

from kafkatx.views.filter.operators import MISSING, UNDECODED, contains, is_number, nothing_of

MOST_CHARACTERS: Final = 4 << 20
"""The length of a text that a filter makes: quotes within quotes grow with each level."""

MOST_DIGITS: Final = 400
"""The length of a text that is read as a number."""


def _length(value: object) -> object:
    return len(value) if isinstance(value, (str, list, Mapping)) else nothing_of(value)


def _lower(value: object) -> object:
    return bounded(value.lower()) if isinstance(value, str) else nothing_of(value)


def _upper(value: object) -> object:
    return bounded(value.upper()) if isinstance(value, str) else nothing_of(value)


def _integer(value: object) -> object:
    return _read(int, value)


def _float(value: object) -> object:
    return _read(float, value)


def _read(kind: Callable[[str | int | float], object], value: object) -> object:
    if isinstance(value, Decimal):
        value = float(value)
    if not (is_number(value) or isinstance(value, (str, bool))):
        return nothing_of(value)
    if isinstance(value, str) and len(value) > MOST_DIGITS:
        return MISSING
    try:
        return kind(value)  # type: ignore[arg-type]
    except (ValueError, OverflowError):  # no number, infinite
        return MISSING


def text_of(value: object) -> object:
    """Return a value as text: a text as it is, others as JSON."""
    if value is MISSING or value is UNDECODED or isinstance(value, str):
        return value
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"), default=str)


def bounded(value: object) -> object:
    """Return a text or list that a filter has made; MISSING if it is too long."""
    if isinstance(value, list):
        size = sum(len(item) for item in value if isinstance(item, (str, list)))
    else:
        size = len(value) if isinstance(value, str) else 0
    return value if size <= MOST_CHARACTERS else MISSING


def _text(value: object) -> object:
    return value if isinstance(value, str) else bounded(text_of(value))


def _starts_with(value: object, start: object) -> bool:
    return isinstance(value, str) and isinstance(start, str) and value.startswith(start)


def _ends_with(value: object, end: object) -> bool:
    return isinstance(value, str) and isinstance(end, str) and value.endswith(end)


def _exists(value: object) -> bool:
    return value is not MISSING and value is not UNDECODED


def _undecoded(value: object) -> bool:
    return value is UNDECODED


@attrs.frozen
class Function:
    """A function.

    :ivar takes: the number of its arguments.
    :ivar summary: what it gives, for people.
    """

    call: Callable[..., object]
    takes: int
    summary: str


MATCHES: Final = "matches"
"""The function whose second argument is a regular expression, which is compiled with the filter."""

FUNCTIONS: Final[Mapping[str, Function]] = {
    "len": Function(_length, 1, "the number of letters, items or fields"),
    "lower": Function(_lower, 1, "a text in small letters"),
    "upper": Function(_upper, 1, "a text in capital letters"),
    "int": Function(_integer, 1, "a text or number as a whole number"),
    "float": Function(_float, 1, "a text or number as a floating-point number"),
    "str": Function(_text, 1, "a value as text; objects, lists and numbers as JSON"),
    "contains": Function(contains, 2, "true if a text has a part, a list an item, or an object a field"),
    "startswith": Function(_starts_with, 2, "true if a text begins with another one"),
    "endswith": Function(_ends_with, 2, "true if a text ends with another one"),
    MATCHES: Function(contains, 2, "true if a part of a text fits a regular expression (RE2's syntax)"),
    "exists": Function(_exists, 1, "true if a field is there, also if it is null"),
    "undecoded": Function(_undecoded, 1, "true if a key or value could not be decoded, or is hidden"),
}
