"""A regular expression for any text, matched in linear time. Pure.

Characters beyond ASCII that an expression does not name are all the same to it: one character stands for
them.
"""

from __future__ import annotations

import re

from kafkatx.group.consumer.subscription.automaton import Expression
from kafkatx.group.consumer.subscription.expression import OTHER, ExpressionError

MOST_OTHERS = 256
"""Maximum number of different characters beyond ASCII in an expression."""

_ASCII = frozenset(map(chr, range(128)))
_ESCAPED = re.compile(r"\\x\{([0-9a-fA-F]{1,6})\}|\\x([0-9a-fA-F]{2})")


class TextExpression:
    """An expression that is matched against whole texts.

    :param most_states: as of :class:`Expression`.
    :raises ExpressionError: it is invalid, or too large.
    """

    def __init__(self, text: str, most_states: int | None = None) -> None:
        self._known = _characters(text)
        self._expression = Expression(text, self._known | {OTHER}, most_states)

    def matches(self, text: str) -> bool:
        """Return True if a text matches as a whole; each has a limit of work of its own.

        :raises ExpressionError: it takes too much work.
        """
        return bool(self._expression.among((self._reduced(text),)))

    def matches_next(self, text: str) -> bool:
        """Return the same; the work is added to that of the texts before.

        :raises ExpressionError: all texts up to this one take too much work.
        """
        return self._expression.matches(self._reduced(text))

    def _reduced(self, text: str) -> str:
        if text.isascii():
            return text
        return "".join(one if one in self._known else OTHER for one in text)


def _characters(text: str) -> frozenset[str]:
    """Return the characters that an expression tells apart: all of ASCII, and those that it names.

    :raises ExpressionError: it names too many beyond ASCII.
    """
    codes = [int(long or short, 16) for long, short in _ESCAPED.findall(text)]
    named = {*text, *(chr(code) for code in codes if code <= 0x10FFFF)}
    others = {one for c in named if not c.isascii() for one in (c, c.lower(), c.upper())}
    if len(others) > MOST_OTHERS:
        raise ExpressionError(f"it has more than {MOST_OTHERS} different characters beyond ASCII")
    return _ASCII | others
