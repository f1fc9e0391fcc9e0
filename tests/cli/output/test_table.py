"""Tests of kafkatx.cli.output.table: no number is wrapped or cut, no line is too long."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st
from twisted.trial.unittest import SynchronousTestCase

from kafkatx.cli.output.table import cells, fold, layout

COLUMNS = ["topic", "partition#", "offset#", "window!", "replicas", "|", "member"]
ROW = ["t" * 30, "12", "9007199254740993", "2026-11-21T10:00:00Z", "101, 102, 103", "=====", "m" * 12]


class LayoutTests(SynchronousTestCase):
    def test_wide(self) -> None:
        """With room each row is a line; numbers are aligned right, names left."""
        lines = layout(["name", "count#"], [["a", "5"], ["bcdefg", "12345678"]], 80)
        self.assertEqual(
            lines, ["name       count", "────────────────", "a              5", "bcdefg  12345678"]
        )

    def test_widths(self) -> None:
        """At each width numbers and times are whole, and no line is longer than the terminal."""
        for width in (50, 80, 140):
            lines = layout(COLUMNS, [ROW], width)
            text = "\n".join(lines)
            for whole in ("9007199254740993", "2026-11-21T10:00:00Z", "12"):
                self.assertIn(whole, text, width)
            self.assertLessEqual(max(map(cells, lines)), width)

    def test_names_wrap(self) -> None:
        """A name is wrapped before the table becomes a list."""
        lines = layout(["topic", "offset#"], [["t" * 20, "123"]], 20)
        self.assertEqual(lines[2:], ["tttttttttttt     123", "tttttttt"])

    def test_vertical(self) -> None:
        """Without room for a table each row is a list of headings and values, with empty lines between."""
        lines = layout(["name", "first#", "second#"], [["a", "123456789", "12"], ["b", "3", "4"]], 20)
        self.assertEqual(
            lines,
            ["name    a", "first   123456789", "second  12", "", "name    b", "first   3", "second  4"],
        )

    def test_bar_goes_first(self) -> None:
        """A bar is left out before the table becomes a list."""
        lines = layout(["name", "lag#", "|"], [["abcdefghij", "12", "====="]], 20)
        self.assertEqual(lines[2:], ["abcdefghij   12"])

    def test_empty_columns(self) -> None:
        """A column that is empty in all rows is left out."""
        self.assertEqual(layout(["a", "error"], [["1", ""]], 80), ["a", "─", "1"])

    @settings(deadline=None, max_examples=100)
    @given(st.lists(st.integers(0, 2**63), min_size=1, max_size=6), st.integers(20, 140))
    def test_any_numbers(self, numbers: list[int], width: int) -> None:
        """At any width each number is in the table as it is."""
        lines = layout([f"column {n}#" for n in range(len(numbers))], [list(map(str, numbers))], width)
        words = " ".join(lines).split()
        for number in numbers:
            self.assertIn(str(number), words)


class FoldTests(SynchronousTestCase):
    def test_between_words(self) -> None:
        """Text is wrapped at a space if there is one, else anywhere."""
        self.assertEqual(fold("101, 102, 103", 8), ["101,", "102, 103"])
        self.assertEqual(fold("abcdef", 4), ["abcd", "ef"])

    def test_wide_characters(self) -> None:
        """Characters of two cells count as two, combining ones as none."""
        self.assertEqual((cells("日本"), cells("e\u0301")), (4, 1))
        self.assertEqual(fold("日本語", 4), ["日本", "語"])
