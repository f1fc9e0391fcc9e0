"""Regular expressions in filters, matched in linear time: see :mod:`kafkatx.group.consumer.subscription`."""

from __future__ import annotations

from typing import Final

from kafkatx.group.consumer.subscription.expression import ExpressionError, parse
from kafkatx.group.consumer.subscription.text_expression import TextExpression

MOST_CHARACTERS: Final = 200
MOST_STATES: Final = 1000
"""The size of an expression: it is compiled in the reactor's thread, too, when a filter is checked."""


class Pattern:
    """A regular expression that fits a part of a text; ``^`` and ``$`` are the ends of the text.

    :raises ExpressionError: it is invalid, or too large.
    """

    def __init__(self, text: str) -> None:
        if len(text) > MOST_CHARACTERS:
            raise ExpressionError(f"it has {len(text)} characters; {MOST_CHARACTERS} are allowed")
        parse(text)  # by itself: a bracket may not end the ones around it
        self._expression = TextExpression(f"(?s:.*)(?:{text})(?s:.*)", MOST_STATES)

    def fits(self, value: object) -> bool:
        """Return True for a text of which a part fits.

        :raises ExpressionError: it takes too much work.
        """
        return isinstance(value, str) and self._expression.matches(value)
