"""Regular expressions for any text."""

from __future__ import annotations

from twisted.trial.unittest import SynchronousTestCase

from kafkatx.group.consumer.subscription import automaton
from kafkatx.group.consumer.subscription.expression import ExpressionError
from kafkatx.group.consumer.subscription.text_expression import TextExpression


class TextExpressionTests(SynchronousTestCase):
    def test_any_characters(self) -> None:
        """An expression names characters of any alphabet, and a dot is any of them."""
        expression = TextExpression("größe.{2}")
        self.assertTrue(expression.matches("größe日本"))
        self.assertFalse(expression.matches("grosse日本"))

    def test_work(self) -> None:
        """Each text has a limit of its own, or all texts have one together."""
        self.patch(automaton, "MOST_WORK", 12)
        apart, together = TextExpression("[a-z]b"), TextExpression("[a-z]b")
        for letter in "abcdefgh":
            self.assertTrue(apart.matches(f"{letter}b"))
        with self.assertRaises(ExpressionError):
            for letter in "abcdefgh":
                together.matches_next(f"{letter}b")
