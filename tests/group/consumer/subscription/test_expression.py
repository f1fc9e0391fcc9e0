"""The parser of regular expressions: the tree of each construct, and what it rejects."""

from __future__ import annotations

from twisted.trial.unittest import SynchronousTestCase

from kafkatx.group.consumer.subscription.expression import (
    ALPHABET,
    MOST_CHARACTERS,
    MOST_DEPTH,
    MOST_REPEATS,
    Assert,
    Chars,
    Either,
    ExpressionError,
    Repeat,
    Sequence,
    parse,
)


def chars(text: str) -> Chars:
    """Return the node of one character out of *text*."""
    return Chars(frozenset(text))


class ParseTests(SynchronousTestCase):
    def test_literals(self) -> None:
        """Literals, the dot and classes are sets of characters; others than those of names are left out."""
        self.assertEqual(parse("[a-c!]"), chars("abc"))
        self.assertEqual(parse("."), Chars(ALPHABET))
        self.assertEqual(parse("[^\\w.-]"), chars(""))

    def test_sequence(self) -> None:
        """Neighbours follow each other."""
        self.assertEqual(parse("ab"), Sequence((chars("a"), chars("b"))))

    def test_alternatives(self) -> None:
        """A bar binds less than a sequence."""
        self.assertEqual(parse("ab|c"), Either((Sequence((chars("a"), chars("b"))), chars("c"))))

    def test_repeats(self) -> None:
        """Each quantifier has its bounds, lazy or not."""
        for text, bounds in (("*", (0, None)), ("+?", (1, None)), ("?", (0, 1)), ("{2,5}", (2, 5))):
            self.assertEqual(parse(f"a{text}"), Repeat(chars("a"), *bounds))

    def test_assertions(self) -> None:
        """Assertions take no character."""
        self.assertEqual(parse("\\b"), Assert("word"))
        self.assertEqual(parse("^a"), Sequence((Assert("begin"), chars("a"))))

    def test_case(self) -> None:
        """The flag i holds to the end of its group."""
        self.assertEqual(parse("(?i:a)b"), Sequence((chars("aA"), chars("b"))))


class RejectTests(SynchronousTestCase):
    def test_unbalanced(self) -> None:
        """Parentheses and brackets must be closed, and a quantifier needs something to repeat."""
        for text in ("(a", "a)", "[a", "*", "a{2,1}", "\\"):
            self.assertRaises(ExpressionError, parse, text)

    def test_not_in_re2(self) -> None:
        """Look-arounds and backreferences are errors, as in RE2."""
        for text in ("(?=a)", "(?<!a)", "(a)\\1"):
            self.assertRaises(ExpressionError, parse, text)

    def test_limits(self) -> None:
        """Length, depth and repetition are bounded, up to and including their limits."""
        parse("a" * MOST_CHARACTERS)
        self.assertRaises(ExpressionError, parse, "a" * (MOST_CHARACTERS + 1))
        parse(f"a{{{MOST_REPEATS}}}")
        self.assertRaises(ExpressionError, parse, f"a{{{MOST_REPEATS + 1}}}")
        self.assertRaises(ExpressionError, parse, "(" * (MOST_DEPTH + 2) + ")" * (MOST_DEPTH + 2))
