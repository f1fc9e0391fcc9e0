"""The filter of ListTransactions by a regular expression (KIP-1152), whose cost is bounded. Pure.

Apache Kafka uses RE2/J; here it is the expressions of subscriptions
(:mod:`kafkatx.group.consumer.subscription`). A transactional id may have any characters, not only those of
topic names.
"""

from __future__ import annotations

from kafkatx.errors import ErrorCode, RequestError
from kafkatx.group.consumer.subscription.expression import ExpressionError
from kafkatx.group.consumer.subscription.text_expression import TextExpression


class IdPattern:
    """A regular expression for transactional ids, which are matched as a whole.

    :raises RequestError: INVALID_REGULAR_EXPRESSION; the message says what is wrong.
    """

    def __init__(self, text: str) -> None:
        self._text = text
        try:
            self._expression = TextExpression(text)
        except ExpressionError as error:
            raise self._invalid(error) from None

    def matches(self, transactional_id: str) -> bool:
        """Return True if an id matches.

        :raises RequestError: INVALID_REGULAR_EXPRESSION: all ids up to this one take too much work.
        """
        try:
            return self._expression.matches_next(transactional_id)
        except ExpressionError as error:
            raise self._invalid(error) from None

    def matches_alone(self, text: str) -> bool:
        """Return True if a text matches; its work is counted by itself.

        :raises RequestError: INVALID_REGULAR_EXPRESSION: it takes too much work.
        """
        try:
            return self._expression.matches(text)
        except ExpressionError as error:
            raise self._invalid(error) from None

    def _invalid(self, error: ExpressionError) -> RequestError:
        return RequestError(
            ErrorCode.INVALID_REGULAR_EXPRESSION,
            f"Transaction ID pattern `{self._text[:200]}` is not a valid regular expression: {error}.",
        )
