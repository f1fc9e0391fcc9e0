"""Tests of kafkatx.cli.groups.rows."""

from __future__ import annotations

from twisted.trial.unittest import SynchronousTestCase

from kafkatx.cli.groups.rows import bar, number_ranges, partitions_text
from kafkatx.types import TopicPartition


class TextTests(SynchronousTestCase):
    def test_bar(self) -> None:
        """The largest fills all cells, eighths are shown, and what is not nothing can be seen."""
        for value, expected in ((8, "████"), (4, "██"), (3, "█▌"), (1, "▌"), (0, ""), (-5, "")):
            self.assertEqual(bar(value, 8, 4), expected)
        self.assertEqual(bar(1, 10**12, 4), "▏")
        self.assertEqual(bar(0, 0, 4), "")

    def test_number_ranges(self) -> None:
        """Runs become spans."""
        for numbers, expected in (([], ""), ([3], "3"), ([5, 1, 0, 2], "0-2,5"), ([1, 3, 5, 6], "1,3,5-6")):
            self.assertEqual(number_ranges(numbers), expected)

    def test_partitions(self) -> None:
        """Topic by topic."""
        partitions = [TopicPartition("t", 0), TopicPartition("t", 1), TopicPartition("u", 4)]
        self.assertEqual(partitions_text(partitions), "t:0-1 u:4")
