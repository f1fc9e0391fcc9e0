"""Regular expressions for topics: the supported syntax, rejected expressions, and bounded work."""

from __future__ import annotations

import random
import re

from hypothesis import given, settings
from hypothesis import strategies as st
from twisted.trial.unittest import SynchronousTestCase

from kafkatx.group.consumer.subscription import automaton
from kafkatx.group.consumer.subscription.automaton import Expression
from kafkatx.group.consumer.subscription.expression import ALPHABET, MOST_CHARACTERS, ExpressionError

NAMES = (
    *("a", "aa", "aaa", "b", "ab", "abc", "ABC", "aBc", "foo.bar", "fooxbar", "foo_bar", "foo-bar", "x-12"),
    *("x-123", "x-1234", "-x", ".x", "bcbca", "c", "metrics.eu.1", "metrics.us.22", "__consumer_offsets"),
    *("A.b", "1", "12", "z9_"),
)

SHARED = (
    *("a.*", "(a|b)*c", "[^a-c]+", "\\w+-\\d{2,3}", "(?i:abc)", "(?i)ABC", "a{2}", "a{2,}", "a{0,1}", "a{1}"),
    *(
        "^a$",
        "foo\\.bar",
        "\\bfoo\\b.*",
        "(?:a|bc)+d?",
        "[a-]x?",
        "a|",
        "[\\w.-]+",
        ".*-(x|y)?$",
        "(?P<n>a)+",
    ),
    *(
        "\\Afoo.*",
        "\\D+",
        "\\W?",
        "[\\d]+",
        "[^\\d]+",
        "(a|a)*b",
        "a*?b+?",
        "metrics\\.(eu|us)\\..*",
        "(a*)*b",
    ),
    *(
        "((a|b){1,2}){2}",
        "\\Bfoo",
        "x\\-12",
        "[a-z]+",
        "[_.\\-]x",
        "\\x61+",
        ".+foo\\B.*",
        "{a",
        "(a{1,2}){2}",
    ),
    *("(?:)", "foo.\\bbar", "[A-Z].[a-z]"),
)
"""Those whose meaning Python's re and RE2 share."""

BAD = (
    *(
        "(",
        ")",
        "a)",
        "(a",
        "[",
        "[a",
        "a**",
        "a+*",
        "*",
        "+a",
        "?a",
        "a{2}{3}",
        "a{3,2}",
        "a{1001}",
        "a{2}+",
    ),
    *("a{0,1001}", "(?=a)", "(?!a)", "(?<=a)b", "(?<!a)b", "(a)\\1", "\\1", "\\8", "\\", "[b-a]", "\\p{L}"),
    *("(?i", "(?x)a", "(?P<n", "(?P<>a)", "(?'n'a)", "(?>a)", "(?P=n)", "\\k<n>", "\\xg", "\\x{}", "\\y"),
    *("\\x{110000}", "[[:no:]]"),
)


@st.composite
def expressions(draw: st.DrawFn) -> str:
    """Draw expressions that re and RE2 read alike."""
    atoms = st.sampled_from(["a", "b", ".", "[ab]", "[^a]", "\\w", "\\d", "-", "\\."])
    grown = st.recursive(
        atoms,
        lambda inner: st.one_of(
            st.tuples(inner, inner).map("".join),
            st.tuples(inner, inner).map("|".join).map("(?:{})".format),
            st.tuples(inner, st.sampled_from(["*", "+", "?", "{2}", "{0,2}", "{1,}"])).map(
                lambda pair: f"(?:{pair[0]}){pair[1]}"
            ),
        ),
        max_leaves=8,
    )
    return draw(grown)


class MeaningTests(SynchronousTestCase):
    def test_as_python(self) -> None:
        """Whole names match as with Python's fullmatch."""
        for text in SHARED:
            expected = {name for name in NAMES if re.fullmatch(text, name)}
            self.assertEqual(Expression(text).among(NAMES), expected, text)

    @given(expressions(), st.lists(st.text("ab.-1", max_size=8), max_size=20))
    @settings(deadline=None, max_examples=200)
    def test_as_python_at_random(self, text: str, names: list[str]) -> None:
        """Random expressions match as with Python's fullmatch."""
        expected = {name for name in names if re.fullmatch(text, name)}
        self.assertEqual(Expression(text).among(names), expected)

    def test_as_re2(self) -> None:
        """Expressions that differ between RE2 and Python match as in RE2."""
        for text, matching in (
            ("a{,2}", set()),
            ("\\Qfoo.bar\\E", {"foo.bar"}),
            ("\\Qfoo.bar", {"foo.bar"}),
            ("(?<name>a)", {"a"}),
            ("[[:alpha:]]+", {name for name in NAMES if name.isalpha()}),
            ("[[:^alpha:]]+", {"1", "12"}),
            ("[[:digit:]a]+", {"a", "aa", "aaa", "1", "12"}),
            ("a\\z", {"a"}),
            ("\\x{61}b", {"ab"}),
            ("\\101\\.b", {"A.b"}),
            ("(?i)a(?-i)b", {"ab"}),
            ("(?i:a)B?c?", {"a", "aBc"}),
            ("(?i)[a-c]+", {"a", "aa", "aaa", "b", "ab", "abc", "ABC", "aBc", "bcbca", "c"}),
            ("\\s*a", {"a"}),
            ("\\S", {"a", "b", "c", "1"}),
            ("é|a", {"a"}),
            ("(?s:.)", {"a", "b", "c", "1"}),
            ("", set()),
        ):
            self.assertEqual(Expression(text).among(NAMES), matching, text)

    def test_other_alphabet(self) -> None:
        """Names may have other characters; the dot is none at a line's end, unless the flag s says so."""
        alphabet = frozenset("ab:\n\t")
        names = ["a", ":", "\n", "a:b", "\t"]
        for text, matching in ((".", "a:\t"), ("(?s).", "a:\n\t"), ("[^a]", ":\n\t")):
            self.assertEqual(Expression(text, alphabet).among(names), set(matching), text)
        self.assertEqual(Expression("(?s:.)|\\s", alphabet).among(names), {"a", ":", "\n", "\t"})
        self.assertEqual(Expression("[[:punct:]]", alphabet).among(names), {":"})

    def test_alphabet(self) -> None:
        """The alphabet consists of the characters that topic names may have."""
        self.assertEqual(len(ALPHABET), 65)
        self.assertEqual(Expression(".").among(ALPHABET), ALPHABET)


class RefusedTests(SynchronousTestCase):
    def test_bad(self) -> None:
        """Invalid expressions, and those outside of RE2, are rejected."""
        for text in BAD:
            self.assertRaises(ExpressionError, Expression, text)

    def test_too_much(self) -> None:
        """Expressions that are too long, too deep, or would have too many states are rejected at once."""
        for text in (
            "a" * (MOST_CHARACTERS + 1),
            "(" * 1000,
            "(" * 1000 + ")" * 1000,
            "(a{1000}){1000}",
            "((((a{100}){100}){100}){100}){100}",
            "(((){1000}){1000}){1000}",
        ):
            self.assertRaises(ExpressionError, Expression, text)

    @given(st.text("ab.*+?()[]{}|\\^$12,-:iPQE<>=!&", max_size=30))
    @settings(deadline=None, max_examples=500)
    def test_any_text(self, text: str) -> None:
        """Any text is an expression or an ExpressionError, and nothing else."""
        try:
            Expression(text).among(NAMES)
        except ExpressionError:
            return


class CostTests(SynchronousTestCase):
    def test_no_catastrophe(self) -> None:
        """Expressions on which backtracking matchers do not end take a few steps."""
        for text in ("(a|a)*b", "(a*)*b", "(a+)+b", ".*.*.*.*.*.*.*x", "(.?){200}a{200}b"):
            expression = Expression(text)
            self.assertEqual(expression.among(["a" * 249]), frozenset(), text)
            self.assertLess(expression._work, automaton.MOST_WORK / 2, text)

    def test_many_names(self) -> None:
        """Ten thousand names cost hardly more than one."""
        expression = Expression("metrics-.*-(eu|us)")
        names = [f"metrics-{number}-eu" for number in range(10_000)]
        self.assertEqual(len(expression.among(names)), 10_000)
        self.assertLess(expression._work, 10_000)

    def test_too_much_work(self) -> None:
        """An expression with too many paths is given up; the work limit counts anew for the next list."""
        expression = Expression("(.{0,100}a.{0,50}){1,3}")
        generator = random.Random(1)
        names = ["".join(generator.choices("ab", k=249)) for _ in range(2000)]
        self.assertRaises(ExpressionError, expression.among, names)
        self.assertEqual(expression.among(["ba"]), {"ba"})

    def test_memory(self) -> None:
        """The number of remembered states is bounded."""
        self.patch(automaton, "MOST_KNOWN", 10)
        expression = Expression("(a|b|c)*[ab].{3}")
        names = ["abcab", "cccca", "acccc", "bbbbbbb", "abc"]
        self.assertEqual(expression.among(names), {"abcab", "bbbbbbb"})
        self.assertLessEqual(len(expression._known), 10)
