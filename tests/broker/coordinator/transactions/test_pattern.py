"""Regular expressions for transactional ids: any characters, and bounded work."""

from __future__ import annotations

import re

from hypothesis import given, settings
from hypothesis import strategies as st
from twisted.trial.unittest import SynchronousTestCase

from kafkatx.broker.coordinator.transactions.pattern import IdPattern
from kafkatx.errors import ErrorCode, RequestError
from kafkatx.group.consumer.subscription import automaton
from kafkatx.group.consumer.subscription.text_expression import MOST_OTHERS

IDS = (
    "billing-1",
    "a b",
    "a/b:c",
    "größe",
    "GRÖSSE",
    "é",
    "日本-7",
    "a\nb",
    "\U0010ffff",
    "tab\tx",
    "a_b",
    "",
)
PATTERNS = (
    *(
        ".*",
        ".",
        "[^a]",
        "[^é]*",
        "\\w+-\\d",
        "a.b",
        "(?s)a.b",
        "\\S+",
        "a\\sb",
        "\\W",
        "gr..e",
        "größe",
        "日.-7",
    ),
    *(
        "[^\\w]*7",
        "a[ /]b.*",
        "a/b:c",
        "[!-~]+",
        "(?i)É",
        "[日本]+-7",
        "tab\\tx",
        "[[:^ascii:]]",
        "x|é",
        "\\D*",
    ),
)


ANY = st.characters(exclude_characters="\v")
"""All but the one space of Python's that is none of RE2's."""


def matching(text: str, names: tuple[str, ...] | list[str] = IDS) -> set[str]:
    """Return the names that an expression matches."""
    pattern = IdPattern(text)
    return {name for name in names if pattern.matches(name)}


class MeaningTests(SynchronousTestCase):
    def test_as_python(self) -> None:
        """Whole ids match as with Python's fullmatch, whatever characters they have."""
        for text in PATTERNS:
            shared = text.replace("[[:^ascii:]]", "[^\\x00-\\x7f]")
            expected = {
                name for name in IDS if re.fullmatch(shared, name, re.ASCII if "(?i)" not in text else 0)
            }
            self.assertEqual(matching(text), expected, text)

    def test_as_re2(self) -> None:
        """Escapes and classes that Python lacks are those of RE2."""
        for text, expected in (
            ("\\x{e9}", {"é"}),
            ("\\xe9", {"é"}),
            ("\\x{65e5}.*", {"日本-7"}),
            ("a[[:space:]]b", {"a b", "a\nb"}),
            ("[[:alpha:]]+[[:punct:]][[:digit:]]", {"billing-1"}),
            ("tab[[:cntrl:]]x", {"tab\tx"}),
            ("\\Qa/b:c\\E", {"a/b:c"}),
        ):
            self.assertEqual(matching(text), expected, text)

    @given(st.sampled_from(PATTERNS), st.lists(st.text(ANY, max_size=6), max_size=10))
    @settings(deadline=None, max_examples=60)
    def test_as_python_at_random(self, text: str, names: list[str]) -> None:
        """Random ids match as with Python's fullmatch."""
        if "(?i)" in text or "[[" in text:
            return
        expected = {name for name in names if re.fullmatch(text, name, re.ASCII)}
        self.assertEqual(matching(text, names), expected, text)


class RefusedTests(SynchronousTestCase):
    def refused(self, text: str) -> str:
        """Return the message of an expression that is refused."""
        error = self.assertRaises(RequestError, IdPattern, text)
        self.assertIs(error.code, ErrorCode.INVALID_REGULAR_EXPRESSION)
        return str(error)

    def test_invalid(self) -> None:
        """The message quotes the expression, cut, and says what is wrong."""
        self.assertIn("pattern `(` is not a valid regular expression", self.refused("("))
        self.assertLess(len(self.refused("(" * 4000)), 400)

    def test_beyond_ascii(self) -> None:
        """Ranges beyond ASCII are not known; different characters there are limited."""
        self.assertIn("range beyond ASCII", self.refused("[a-ÿ]"))
        others = "".join(map(chr, range(0x4E00, 0x4E00 + MOST_OTHERS)))
        self.assertEqual(matching(f"[{others}]-7", ["一-7", "é-7"]), {"一-7"})
        self.assertIn("different characters", self.refused(others + "é"))

    def test_work(self) -> None:
        """The work of all ids together is limited."""
        self.patch(automaton, "MOST_WORK", 200)
        pattern = IdPattern("(a|b)*c")
        error = self.assertRaises(
            RequestError, lambda: [pattern.matches(c + "ab") for c in map(chr, range(99))]
        )
        self.assertIs(error.code, ErrorCode.INVALID_REGULAR_EXPRESSION)
