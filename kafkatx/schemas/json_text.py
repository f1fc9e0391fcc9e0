"""JSON in the texts of schemas: bounded in depth, and strict about numbers. Pure."""

from __future__ import annotations

import json
import math
from typing import Final, NoReturn, TypeAlias, Union, cast

from kafkatx.schemas.limits import MAX_JSON_DEPTH
from kafkatx.schemas.types import InvalidSchema

JSON: TypeAlias = Union[bool, int, float, str, "list[JSON]", "dict[str, JSON]", None]
"""A value of JSON."""

Object: TypeAlias = dict[str, JSON]
"""An object of JSON."""

_LONGEST_QUOTATION: Final = 80
_MAX_DIGITS: Final = 300
"""Digits of a whole number: it always fits into a float."""


def load(text: str, what: str = "the schema") -> JSON:
    """Parse a text as JSON.

    A key that an object has twice keeps its last value, as with other readers.

    :param what: what the text is, for messages.
    :raises InvalidSchema: it is no JSON, is nested too deep, or has a number that JSON has not.
    """
    try:
        value = cast(
            JSON,
            json.loads(
                text, parse_constant=_refuse_constant, parse_float=_parse_finite, parse_int=_parse_int
            ),
        )
    except RecursionError:
        raise _too_deep(what) from None
    except ValueError as error:
        raise InvalidSchema(f"{what} is no JSON: {error}") from error
    _check_depth(value, what)
    return value


def dump(value: JSON) -> str:
    """Write a value without blanks; keys keep their order. Half a surrogate pair stays escaped."""
    return _dump(value, sort_keys=False)


def dump_sorted(value: JSON) -> str:
    """Write a value without blanks, with sorted keys: equal values give equal texts.

    1 and 1.0 differ, as they do for Confluent's registry.
    """
    return _dump(value, sort_keys=True)


def quote(value: JSON) -> str:
    """Show a value in a message, shortened."""
    text = json.dumps(value)
    return text if len(text) <= _LONGEST_QUOTATION else f"{text[:_LONGEST_QUOTATION]}…"


def _dump(value: JSON, sort_keys: bool) -> str:
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"), sort_keys=sort_keys)
    try:
        text.encode()
    except UnicodeEncodeError:
        return json.dumps(value, separators=(",", ":"), sort_keys=sort_keys)
    return text


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is no number of JSON")


def _parse_int(digits: str) -> int:
    if len(digits) > _MAX_DIGITS:
        raise ValueError(f"the number {digits[:_LONGEST_QUOTATION]}… has more than {_MAX_DIGITS} digits")
    return int(digits)


def _parse_finite(digits: str) -> float:
    value = float(digits)
    if not math.isfinite(value):
        raise ValueError(f"the number {digits[:_LONGEST_QUOTATION]} is too large")
    return value


def _too_deep(what: str) -> InvalidSchema:
    return InvalidSchema(f"{what} is nested too deep: at most {MAX_JSON_DEPTH} objects and arrays of JSON")


def _check_depth(value: JSON, what: str) -> None:
    """Check the nesting of a value, level by level."""
    level: list[list[JSON] | Object] = [value] if isinstance(value, (list, dict)) else []
    for _ in range(MAX_JSON_DEPTH):
        if not level:
            return
        parts = (part for one in level for part in (one.values() if isinstance(one, dict) else one))
        level = [part for part in parts if isinstance(part, (list, dict))]
    if level:
        raise _too_deep(what)
