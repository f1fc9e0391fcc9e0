"""Tests of kafkatx.cli.pipeline.audit_rows."""

from __future__ import annotations

import json
from contextlib import redirect_stdout
from io import StringIO
from typing import Any

import attrs
from twisted.trial.unittest import SynchronousTestCase

from kafkatx.audit.comparison import Window
from kafkatx.cli.pipeline.audit_rows import bar, print_windows, summary, time_text


def window(announced: int, found: int, distinct: int, opened: bool = False) -> Window:
    """A window with these counts."""
    return Window("t", 0, 10_000, announced, found, distinct, opened)


class RowTests(SynchronousTestCase):
    def test_bar(self) -> None:
        """Bars are in proportion to the longest; a single record that differs is seen."""
        self.assertEqual(bar(window(100, 100, 100), 100), "=" * 20)
        self.assertEqual(bar(window(50, 50, 50), 100), "=" * 10)
        self.assertEqual(bar(window(100, 50, 50), 100), "=" * 10 + "-" * 10)
        self.assertEqual(bar(window(50, 100, 50), 100), "=" * 10 + "+" * 10)
        self.assertEqual(bar(window(10_000, 9_999, 9_999), 10_000), "=" * 19 + "-")
        self.assertEqual(bar(window(10, 0, 0), 10), "-" * 20)
        self.assertEqual(bar(window(50, 100, 100), 100), "=" * 20)

    def test_times(self) -> None:
        """Times as ISO 8601 has them, and numbers beyond its calendar."""
        self.assertEqual(time_text(1_431_857_103_000), "2015-05-17T10:05:03Z")
        self.assertEqual(time_text(1_431_857_103_250), "2015-05-17T10:05:03.250Z")
        self.assertEqual(time_text(-1000), "1969-12-31T23:59:59Z")
        self.assertEqual(time_text(1 << 61), str(1 << 61))

    def test_summary(self) -> None:
        """All windows in one line; those that are open are not judged."""
        some = [window(5, 5, 5), window(5, 4, 4), window(5, 7, 5), window(1, 3, 3), window(9, 0, 0, True)]
        self.assertEqual(
            summary(some, 10_000, 0),
            "5 windows of 10 s: 1 equal, 1 still open; 1 record missing, 2 doubled, 2 unannounced",
        )
        self.assertIn("; 3 records of the audit topic are not announcements", summary(some, 10_000, 3))

    def test_group(self) -> None:
        """With a group the line tells what it has not read, and read again."""
        some = [attrs.evolve(window(5, 5, 5), consumed=count) for count in (5, 3, 9)]
        some.append(attrs.evolve(window(5, 5, 5, True), consumed=0))
        self.assertTrue(summary(some, 10_000, 0).endswith("0 unannounced; 2 not consumed, 4 read again"))

    def printed(self, *windows: Window, **how: Any) -> str:
        """Return the output for some windows."""
        with redirect_stdout(StringIO()) as out:
            print_windows(windows, **{"as_json": False, "lateness": False, **how})
        return out.getvalue()

    def test_rows(self) -> None:
        """Columns of the group and of servers come after the others, where they are asked for."""
        one = attrs.evolve(window(5, 5, 5), consumed=3, servers={"b": 1, "": 2, "a\x1b": 2})
        plain = "t\t1970-01-01T00:00:00Z\t5\t5\t0\t0\t0\t"
        self.assertEqual(self.printed(window(5, 5, 5)), f"{plain}ok\n")
        self.assertEqual(self.printed(one), f"{plain}wrong\t3\t2\t0\n")
        self.assertEqual(self.printed(one, by_server=True), f"{plain}wrong\t3\t2\t0\t?=2 a\\x1b=2 b=1\n")

    def test_json(self) -> None:
        """JSON has these fields where they are asked for."""
        one = attrs.evolve(window(5, 5, 5), consumed=3, servers={"b": 5})
        plain = json.loads(self.printed(window(5, 5, 5), as_json=True))
        fields = json.loads(self.printed(one, as_json=True, by_server=True))
        added = {"consumed": 3, "unconsumed": 2, "reread": 0, "servers": {"b": 5}}
        self.assertEqual(fields, plain | added)
        self.assertFalse(plain.keys() & added.keys())
