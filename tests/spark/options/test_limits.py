"""The limits of a stream's batches."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st
from twisted.trial.unittest import SynchronousTestCase

from kafkatx.errors import SettingError
from kafkatx.spark.options.limits import Limits, parse_duration_ms, rate_limit, too_few
from kafkatx.types import TopicPartition

sizes = st.lists(st.integers(0, 10**12), min_size=1, max_size=10)


def partitions(*numbers: int) -> dict[TopicPartition, int]:
    """These numbers for partitions 0, 1, ..."""
    return {TopicPartition("t", partition): number for partition, number in enumerate(numbers)}


class RateLimitTests(SynchronousTestCase):
    def ends(self, max_offsets: int, *behind: int) -> list[int]:
        """Return the ends of partitions that are this far behind; they start at different offsets."""
        start = partitions(*(7 * number for number in range(len(behind))))
        latest = {item: start[item] + size for item, size in zip(start, behind, strict=True)}
        ends = rate_limit(max_offsets, start, latest)
        return [ends[item] - start[item] for item in start]

    def test_in_proportion(self) -> None:
        """The worked examples: in proportion, rounded down, and none is starved."""
        self.assertEqual(self.ends(10, 10, 30, 60), [1, 3, 6])
        self.assertEqual(self.ends(10, 1, 1000), [1, 9])
        self.assertEqual(self.ends(1, 5, 5, 5), [1, 1, 1])

    def test_enough(self) -> None:
        """No partition gets more than it has; one without new records stays."""
        self.assertEqual(self.ends(1000, 10, 0, 3), [10, 0, 3])
        self.assertEqual(self.ends(10, 0, 0), [0, 0])
        self.assertEqual(self.ends(4, 8, 0), [4, 0])

    def test_went_back(self) -> None:
        """A partition that ends before its start gets its end; the planner reports the loss."""
        self.assertEqual(self.ends(10, -50, 100), [-50, 10])

    @settings(deadline=None, max_examples=200)
    @given(sizes, st.integers(1, 10**9))
    def test_model(self, behind: list[int], max_offsets: int) -> None:
        """Spark's formula, within what is there; the sum is above the limit by one per partition at most."""
        got = self.ends(max_offsets, *behind)
        total = sum(behind)
        for size, share in zip(behind, got, strict=True):
            self.assertTrue(share == 0 if size == 0 else 1 <= share <= size)
            exact = max_offsets * size / total if total else 0
            self.assertTrue(share == size or abs(share - exact) <= 1 + exact * 1e-9)
        self.assertLessEqual(sum(got), max_offsets + sum(1 for size in behind if size))


class TooFewTests(SynchronousTestCase):
    limits = Limits(min_offsets=10, max_delay_ms=1000)

    def test_truth_table(self) -> None:
        """Waits for so many offsets, but no longer than the delay, and never before the first batch."""
        for new, since_ms, waits in (
            ((4, 5), 999.0, True),
            ((4, 6), 0.0, False),
            ((0, 0), 1000.0, False),
            ((4, 5), 1000.0, False),
            ((4, 5), None, False),
        ):
            start = partitions(100, 200)
            latest = partitions(100 + new[0], 200 + new[1])
            self.assertIs(too_few(self.limits, start, latest, since_ms), waits)

    def test_no_least(self) -> None:
        """Without a least number nothing is waited for."""
        self.assertFalse(too_few(Limits(5), partitions(0), partitions(0), 1.0))


class DurationTests(SynchronousTestCase):
    def test_units(self) -> None:
        """Spark's units, in any case; a bare number is milliseconds."""
        for text, ms in (
            ("15m", 900_000),
            ("2min", 120_000),
            (" 10S ", 10_000),
            ("3h", 10_800_000),
            ("1d", 86_400_000),
            ("100ms", 100),
            ("2500us", 2),
            ("7", 7),
        ):
            self.assertEqual(parse_duration_ms("maxTriggerDelay", text), ms)

    def test_none(self) -> None:
        """A text that is no time is refused with the option's name and the units."""
        for text in ("", "m", "5 m", "-5m", "5w", "1.5h", "9" * 20):
            said = str(self.assertRaises(SettingError, parse_duration_ms, "maxTriggerDelay", text))
            self.assertIn(f"maxTriggerDelay={text}: give a time such as 15m", said)
