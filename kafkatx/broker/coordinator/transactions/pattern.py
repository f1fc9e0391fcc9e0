"""The filter of ListTransactions by a regular expression (KIP-1152), whose cost is bounded. Pure.

Apache Kafka uses RE2/J; here it is the expressions of subscriptions
(:mod:`kafkatx.group.consumer.subscription`). A transactional id may have any characters, not only those of
topic names. Those beyond ASCII that an expression does not name are all the same to it: one character stands
for them.
"""

from __future__ import annotations

import re

from kafkatx.errors import ErrorCode, RequestError
from kafkatx.group.consumer.subscription.automaton import Expression
from kafkatx.group.consumer.subscription.expression import OTHER, ExpressionError

MOST_OTHERS = 256
"""Maximum number of different characters beyond ASCII in an expression."""

_ASCII = frozenset(map(chr, range(128)))
_ESCAPED = re.compile(r"\\x\{([0-9a-fA-F]{1,6})\}|\\x([0-9a-fA-F]{2})")


class IdPattern:
    """A regular expression for transactional ids, which are matched as a whole.

    :raises RequestError: INVALID_REGULAR_EXPRESSION; the message says what is wrong.
    """

    def __init__(self, text: str) -> None:
        self._text = text
        try:
            self._known = _characters(text)
            self._expression = Expression(text, self._known | {OTHER})
        except ExpressionError as error:
            raise self._invalid(error) from None

    def matches(self, transactional_id: str) -> bool:
        """Return True if an id matches.

        :raises RequestError: INVALID_REGULAR_EXPRESSION: all ids up to this one take too much work.
        """
        name = transactional_id
        if not name.isascii():
            name = "".join(one if one in self._known else OTHER for one in name)
        try:
            return self._expression.matches(name)
        except ExpressionError as error:
            raise self._invalid(error) from None

    def _invalid(self, error: ExpressionError) -> RequestError:
        return RequestError(
            ErrorCode.INVALID_REGULAR_EXPRESSION,
            f"Transaction ID pattern `{self._text[:200]}` is not a valid regular expression: {error}.",
        )


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
