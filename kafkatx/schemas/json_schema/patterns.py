"""Regular expressions of schemas, evaluated only if that cannot take long. Pure.

Python's ``re`` goes back and tries again: ``(a+)+$`` takes years for a text of 40 letters. An expression is
evaluated if it has at most two quantifiers, none of them on a group, and no reference to a group; others are
unknown, as are those that Python cannot read.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

_LONGEST_PATTERN: Final = 500
_LONGEST_TEXT: Final = 100
_MOST_QUANTIFIERS: Final = 2
_MOST_STEPS: Final = 50_000_000
"""Steps of all evaluations in one comparison: about a second."""


class Patterns:
    """The evaluation of patterns in one comparison, with a bound on the time of all together."""

    def __init__(self, most_steps: int = _MOST_STEPS) -> None:
        self._steps_left = most_steps
        self._compiled: dict[str, re.Pattern[str] | None] = {}

    def matches(self, pattern: str, text: str) -> bool | None:
        """Return True if a part of *text* fits *pattern*; None if that is not known."""
        if pattern not in self._compiled:
            self._compiled[pattern] = _compile(pattern)
        compiled = self._compiled[pattern]
        self._steps_left -= (len(text) + 1) ** (_quantifiers(pattern) + 1) if compiled else 1
        if compiled is None or len(text) > _LONGEST_TEXT or self._steps_left < 0:
            return None
        return compiled.search(text) is not None


def _compile(pattern: str) -> re.Pattern[str] | None:
    if len(pattern) > _LONGEST_PATTERN or not _is_quick(pattern):
        return None
    try:
        return re.compile(pattern)
    except (re.error, RecursionError, OverflowError):
        return None


def _quantifiers(pattern: str) -> int:
    """Return a bound on the quantifiers of a pattern that is quick."""
    return min(_MOST_QUANTIFIERS, sum(map(pattern.count, "*+?{")))


def _is_quick(pattern: str) -> bool:
    """Return True if an expression takes at most the third power of the text's length.

    What is in doubt counts as a quantifier: a brace that is a letter, the sign of a lazy quantifier. A class
    that newer versions of Python may read as an operation on classes is not evaluated either.
    """
    quantifiers = 0
    before = ""
    in_class = ""
    for token in _tokens(pattern):
        if in_class:
            if token == "[" or (token == before and token in "-&~|"):
                return False
            in_class = "" if token == "]" and in_class not in ("[", "[^") else in_class + token
        elif token == "[":
            in_class = token
        elif token in ("*", "+", "?", "{"):
            if before == ")":
                return False
            quantifiers += token != "?" or before != "("
        elif token[1:].isdigit():
            return False
        before = token
    return quantifiers <= _MOST_QUANTIFIERS and "(?P" not in pattern and "(?(" not in pattern


def _tokens(pattern: str) -> Iterator[str]:
    """Yield the letters of an expression; a backslash with the letter after it is one."""
    position = 0
    while position < len(pattern):
        size = 2 if pattern[position] == "\\" else 1
        yield pattern[position : position + size]
        position += size
