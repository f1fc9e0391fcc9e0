"""The facts, drawn."""

from __future__ import annotations

import io
from datetime import datetime, timedelta, timezone

from rich.console import Console
from twisted.trial.unittest import SynchronousTestCase

from kafkatx.demo.facts import Facts
from kafkatx.demo.report import BAR_WIDTH, MAX_BARS, print_report

HOUR = datetime(2015, 5, 19, 19, tzinfo=timezone.utc)


def drawn(facts: Facts) -> str:
    """Return the printed report of facts."""
    output = io.StringIO()
    print_report(Console(file=output, width=100), "access[0].log", facts)
    return output.getvalue()


class ReportTests(SynchronousTestCase):
    def test_counts(self) -> None:
        """Every count is there, keys of any bytes are printable, and nothing is taken for markup."""
        text = drawn(Facts(12_345, 67, 8_901_234, 0, ((b"\xff[bold]", 40), (b"b", 3))))
        for expected in ("access[0].log", "12,345", "67", "8,901,234", "\\xff[bold]: 40", "b: 3"):
            self.assertIn(expected, text)

    def test_empty(self) -> None:
        """An empty table is reported with zeros and without bars."""
        text = drawn(Facts(0, 0, 0, 0))
        self.assertIn("rows", text)
        self.assertNotIn("per hour", text)
        self.assertNotIn("busiest", text)

    def test_bars(self) -> None:
        """Each hour has a bar as long as its share of the busiest one, which is named, too."""
        facts = Facts(30, 1, 1, 30, (), ((HOUR, 10), (HOUR + timedelta(hours=1), 20)))
        text = drawn(facts)
        lengths = {line.split()[1]: line.count("█") for line in text.splitlines() if "█" in line}
        self.assertEqual(lengths, {"19:00": BAR_WIDTH // 2, "20:00": BAR_WIDTH})
        self.assertIn("2015-05-19 20:00, 20 lines", text)

    def test_first_of_equal_hours(self) -> None:
        """The first of several busiest hours is named."""
        facts = Facts(2, 1, 1, 2, (), ((HOUR, 1), (HOUR + timedelta(hours=1), 1)))
        self.assertEqual(facts.busiest_hour, (HOUR, 1))

    def test_many_hours(self) -> None:
        """With very many hours the busiest are drawn, in order of time."""
        hours = tuple((HOUR + timedelta(hours=n), 1 + n % 7) for n in range(1000))
        text = drawn(Facts(4000, 1, 1, 4000, (), hours))
        bars = [line.split()[:3] for line in text.splitlines() if "█" in line]
        self.assertEqual(len(bars), MAX_BARS)
        self.assertEqual({count for _, _, count in bars}, {"7"})
        self.assertEqual([bar[:2] for bar in bars], sorted(bar[:2] for bar in bars))
        self.assertIn(f"the {MAX_BARS} busiest of 1,000 hours", text)
