"""Patterns: evaluated where that is quick, and unknown elsewhere."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st
from twisted.trial.unittest import SynchronousTestCase

from kafkatx.schemas.json_schema.patterns import Patterns

KNOWN = [
    ("^S_", "S_1", True),
    ("^S_", "I_1", False),
    ("^[a-z]+$", "abc", True),
    ("^[a-z]+$", "abC", False),
    ("b", "abc", True),
    ("^a.*z$", "abz", True),
    ("^(a|b)c", "bc", True),
    (r"^\d{3}$", "123", True),
    (r"[+*?]\.", "a+.", True),
    (r"^[^\]]+$", "ab", True),
    ("(?:ab)", "xab", True),
]

UNKNOWN = [
    "(a+)+$",
    "(a*)*b",
    "(a|a)*b",
    "(?:a?){30}",
    r"(a)\1",
    "(?P<n>a)(?P=n)",
    ".*.*.*x",
    "a?a?a?aaa",
    "(" * 5000,
    "[",
    "a{1",
    "\\",
    r"\p{L}",
    "x" * 501,
]


class PatternsTests(SynchronousTestCase):
    def test_known(self) -> None:
        """Simple patterns match a part of a text."""
        for pattern, text, expected in KNOWN:
            self.assertIs(Patterns().matches(pattern, text), expected, pattern)

    def test_unknown(self) -> None:
        """Patterns that may take long, or that Python cannot read, are not evaluated; nor are long texts."""
        for pattern in UNKNOWN:
            if Patterns().matches(pattern, "a" * 60) is not None:
                self.assertIn(pattern, ("a{1",))
        self.assertIsNone(Patterns().matches("a", "a" * 101))

    def test_together(self) -> None:
        """All evaluations together are bounded."""
        patterns = Patterns(most_steps=10_000)
        found = [patterns.matches("^a*b*$", "a" * 20) for _ in range(3)]
        self.assertEqual(found, [True, None, None])

    @settings(max_examples=500, deadline=1000)
    @given(st.text("ab()[]|*+?{}1,\\^$.-", max_size=14))
    def test_quick(self, pattern: str) -> None:
        """No pattern takes long, whatever it is made of."""
        for text in ("a" * 99 + "b", "ab1" * 33):
            Patterns().matches(pattern, text)
