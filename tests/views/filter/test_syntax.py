"""The syntax of filters, and attacks on its parser."""

from __future__ import annotations

import warnings

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from twisted.trial.unittest import SynchronousTestCase

from kafkatx.views.filter.errors import FilterError
from kafkatx.views.filter.syntax import MOST_CHARACTERS, parse

SLOW = [HealthCheck.too_slow]


class SyntaxTests(SynchronousTestCase):
    def fails(self, text: str, message: str, line: int = 1, column: int = 1) -> None:
        """Check the error of a filter, and its place."""
        error = self.assertRaises(FilterError, parse, text)
        self.assertIn(message, str(error))
        self.assertEqual((error.line, error.column), (line, column), str(error))

    def test_foreign(self) -> None:
        """Expressions that could loop, grow, bind or reach Python are refused, and the place is told."""
        for text, what, column in (
            ("[x for x in value]", "a comprehension", 1),
            ("1 == (lambda: 1)", "lambda", 7),
            ('value == f"{key}"', "an f-string", 10),
            ("(x := 1) > 0", ":=", 2),
            ("2 ** 3 > offset", "**", 1),
            ("key | value", "| (use or)", 1),
            ("~offset", "~ (use not)", 1),
            ("1 << 3", "<<", 1),
            ("{'a': 1}", "a dict", 1),
            ("{1, 2}", "a set", 1),
            ("1 if key else 2", "if ... else", 1),
            ("len(*value)", "* is not allowed", 5),
            ("(yield)", "yield", 2),
        ):
            self.fails(text, what, 1, column)
            self.assertIn(
                "allowed are the names key, value", str(self.assertRaises(FilterError, parse, text))
            )
        self.fails("key == b'x'", "bytes is no kind of value", 1, 8)
        self.fails("1j > 2", "complex is no kind of value")
        self.fails("key == ...", "ellipsis is no kind of value", 1, 8)
        self.fails("key[::2]", "no step", 1, 5)
        self.fails("len(x=key)", "by place, not by name", 1, 1)
        self.fails("key is 'a'", "use == for other values", 1, 8)

    def test_no_expression(self) -> None:
        """Text that is no expression is refused with the parser's words, at its place."""
        self.fails("", "it is empty")
        self.fails(" \n ", "it is empty")
        self.fails("key = 1", "use ==", 1, 5)
        self.fails("key && value", "use and", 1, 6)
        self.fails("(key || value)", "use or", 1, 7)
        self.fails("!key", "use not", 1, 1)
        self.fails("  key ==", "invalid syntax", 1, 9)
        self.fails("import os", "invalid syntax")
        self.fails("key; value", "invalid syntax", 1, 4)
        self.fails("key\x00", "null bytes", 1, self._column("key\x00"))
        self.fails("key == '\ud800'", "cannot be read")

    def test_places(self) -> None:
        """Places are in characters of the text as it was given: other alphabets, spaces and lines count."""
        self.fails("  'größe 日本' == {1}", "a set", 1, 17)
        self.fails("key == 'é'\n  and {1}", "a set", 2, 7)
        self.fails("key == 'é'\r\n  and {1}", "a set", 2, 7)
        self.fails("{1}\n or key", "a set", 1, 1)

    def test_lines(self) -> None:
        """A filter may have several lines and comments."""
        parse("value.a == 1  # one\nor value.b == 2\n\n")

    def test_limits(self) -> None:
        """Long, deep and wide filters are refused."""
        self.fails("key == 1" + " " * MOST_CHARACTERS, "characters")
        self.fails("value" + ".a" * 30 + " == 1", "levels deep")
        self.fails("-" * 25 + "1", "levels deep", 1, 21)
        self.fails("(" * 300 + "1" + ")" * 300, "", 1, 201)
        self.fails(" or ".join(["key"] * 220), "parts", 1, self._column(" or ".join(["key"] * 220)))
        for deep in ("-" * 1990 + "1", "not " * 490 + "1", "(" * 990 + "1" + ")" * 990, "a[" * 660):
            self.assertRaises(FilterError, parse, deep)

    def _column(self, text: str) -> int:
        column: int = self.assertRaises(FilterError, parse, text).column
        return column

    def test_quiet(self) -> None:
        """Nothing is warned of: regular expressions have backslashes."""
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            parse(r"matches(key, '\d+')")
        self.assertEqual(caught, [])

    @settings(max_examples=200, deadline=None, suppress_health_check=SLOW)
    @given(st.text(max_size=40) | st.text("keyvalu.[]()'\"0 12+-*/%<>=!andorti,:\n#\\", max_size=40))
    def test_any_text(self, text: str) -> None:
        """Any text is a filter, or refused with the error of a filter."""
        try:
            parse(text)
        except FilterError as error:
            self.assertGreaterEqual(error.column, 1)
