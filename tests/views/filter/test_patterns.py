"""Regular expressions in filters."""

from __future__ import annotations

import re

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from twisted.trial.unittest import SynchronousTestCase

from kafkatx.views.filter.patterns import Pattern

PATTERNS = (r"a", r"^a", r"b$", r"a.b", r"\d+", r"(?i)AB|1", r"[^a]b", r"é+1", r"a(b|1)*$")

SLOW = [HealthCheck.too_slow]


class PatternTests(SynchronousTestCase):
    @settings(max_examples=200, deadline=None, suppress_health_check=SLOW)
    @given(st.sampled_from(PATTERNS), st.text("ab1é日\n", max_size=8))
    def test_like_python(self, pattern: str, text: str) -> None:
        """A part of a text fits where Python finds it."""
        ends = pattern.replace("$", r"\Z")
        self.assertEqual(Pattern(pattern).fits(text), re.search(ends, text) is not None, (pattern, text))

    def test_no_text(self) -> None:
        """A value that is no text does not fit."""
        for value in (None, 1, ["a"], {"a": 1}):
            self.assertFalse(Pattern("").fits(value))
