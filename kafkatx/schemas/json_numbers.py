"""JSON of messages: no number is another one without a sign of it. Pure.

A number is the nearest double. One that no double is near is an error; one with more digits than a double has
is a :class:`LongNumber`, a double that knows its text.
"""

from __future__ import annotations

import json
from decimal import Decimal
from typing import Any

_SAFE_LENGTH = 16
"""A number of so many characters, its point among them, has at most 15 digits: a double has them all."""


class LongNumber(float):
    """A number whose digits a double does not have.

    :ivar text: the number as it is written.
    """

    text: str

    def __new__(cls, text: str) -> LongNumber:
        """Make a number of its text."""
        made = super().__new__(cls, text)
        made.text = text
        return made

    @property
    def whole(self) -> int | None:
        """The exact number if it is whole, and of a size that numbers have."""
        exact = Decimal(self.text)
        return int(exact) if exact.adjusted() < 400 and exact == exact.to_integral_value() else None


def load(data: bytes | str) -> Any:
    """Parse the JSON of a message.

    :raises ValueError: it is no JSON, or has a number that is beyond a double.
    :raises RecursionError: it is nested too deeply.
    """
    return _decode(
        data if isinstance(data, str) else data.decode(json.detect_encoding(data), "surrogatepass")
    )


def _number(text: str) -> float:
    value = float(text)
    if len(text) <= _SAFE_LENGTH and "e" not in text and "E" not in text:
        return value
    exact = Decimal(text)
    if value in (float("inf"), float("-inf")) or (not value and exact):
        raise ValueError(f"the number {text[:60]} is beyond a double")
    return value if Decimal(repr(value)) == exact else LongNumber(text)


_decode = json.JSONDecoder(parse_float=_number).decode
