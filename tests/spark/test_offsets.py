"""Boundaries, clipping and splitting."""

from __future__ import annotations

from itertools import pairwise

from hypothesis import given, settings
from hypothesis import strategies as st
from twisted.trial.unittest import SynchronousTestCase

from kafkatx.errors import SettingError
from kafkatx.spark.offsets import (
    EARLIEST,
    LATEST,
    Available,
    OffsetRange,
    boundary,
    clip,
    fixed,
    parse_offsets,
    parse_partitions,
    split,
)
from kafkatx.types import TopicPartition

T0, T1 = TopicPartition("t", 0), TopicPartition("t", 1)

sizes = st.lists(st.one_of(st.integers(0, 20), st.integers(0, 10**12)), max_size=12)


def ranges_of(lengths: list[int]) -> list[OffsetRange]:
    """One range per length, each beginning at another offset."""
    return [OffsetRange("t", number, number * 7, number * 7 + size) for number, size in enumerate(lengths)]


class ParseOffsetsTests(SynchronousTestCase):
    def test_words(self) -> None:
        """The two words stand for all partitions, in any case."""
        self.assertEqual(parse_offsets("startingOffsets", " Earliest "), EARLIEST)
        self.assertEqual(parse_offsets("startingOffsets", "latest"), LATEST)

    def test_json(self) -> None:
        """Offsets are told by topic and partition; -1 and -2 keep their meaning."""
        offsets = parse_offsets("startingOffsets", '{"t":{"0":23,"1":-2},"u":{"5":-1}}')
        self.assertEqual(offsets, {T0: 23, T1: EARLIEST, TopicPartition("u", 5): LATEST})

    def test_neither(self) -> None:
        """A text that is neither a word nor an object of offsets is refused, and the option named."""
        for text in (
            "newest",
            "",
            "[1]",
            "12",
            "{",
            '{"t":5}',
            '{"t":{"zero":1}}',
            '{"t":{"0":"1"}}',
            '{"t":{"0":1.5}}',
            '{"t":{"0":true}}',
            '{"t":{"0":-3}}',
            '{"t":{"-1":3}}',
        ):
            error = self.assertRaises(SettingError, parse_offsets, "endingOffsets", text)
            self.assertIn("endingOffsets", str(error))


class ParsePartitionsTests(SynchronousTestCase):
    def test_json(self) -> None:
        """Partitions are told by topic."""
        assigned = parse_partitions("assign", '{"t":[0,1],"u":[2]}')
        self.assertEqual(assigned, {T0, T1, TopicPartition("u", 2)})

    def test_wrong(self) -> None:
        """A text that is no object of lists of numbers is refused with the expected form, or the topic."""
        for text in ("t", "{", "[0]", '{"t":0}', '{"t":["0"]}', '{"t":[-1]}', '{"t":[true]}'):
            error = self.assertRaises(SettingError, parse_partitions, "assign", text)
            self.assertRegex(str(error), "assign: (expected|give 't')")


class BoundaryTests(SynchronousTestCase):
    def test_word_is_for_all(self) -> None:
        """A word gives every partition the same boundary."""
        self.assertEqual(boundary("startingOffsets", EARLIEST, [T1, T0]), {T0: EARLIEST, T1: EARLIEST})

    def test_all_must_be_named(self) -> None:
        """Specific offsets must be those of exactly the partitions that are read."""
        self.assertEqual(boundary("startingOffsets", {T1: 4, T0: 3}, [T0, T1]), {T0: 3, T1: 4})
        for offsets in ({T0: 3}, {T0: 3, T1: 4, TopicPartition("t", 2): 5}):
            error = self.assertRaises(SettingError, boundary, "startingOffsets", offsets, [T0, T1])
            self.assertIn("startingOffsets", str(error))
            self.assertIn("assigned: t-0, t-1", str(error))


class FixedTests(SynchronousTestCase):
    def test_words_become_offsets(self) -> None:
        """-2 and -1 become what the log has; other offsets stay."""
        log = Available(100, 200)
        self.assertEqual(fixed(T1, EARLIEST, LATEST, log), OffsetRange("t", 1, 100, 200))
        self.assertEqual(fixed(T1, 5, 700, log), OffsetRange("t", 1, 5, 700))


class ClipTests(SynchronousTestCase):
    def test_truth_table(self) -> None:
        """A range is cut to what the log has; nothing is left of one beside it."""
        for start, end, expected in (
            (100, 200, (100, 200)),
            (120, 130, (120, 130)),
            (50, 150, (100, 150)),
            (150, 250, (150, 200)),
            (50, 250, (100, 200)),
            (10, 20, (20, 20)),
            (10, 100, (100, 100)),
            (200, 300, (300, 300)),
            (250, 300, (300, 300)),
            (130, 130, (130, 130)),
            (250, 200, (200, 200)),
        ):
            got = clip(OffsetRange("t", 0, start, end), Available(100, 200))
            self.assertEqual((got.start, got.end), expected)


class SplitTests(SynchronousTestCase):
    def test_without_number(self) -> None:
        """Without minPartitions every range is one task, and empty ones are none."""
        ranges = ranges_of([5, 0, 7])
        self.assertEqual(split(ranges, None), [ranges[0], ranges[2]])

    def test_enough_already(self) -> None:
        """Nothing is split where there are as many ranges as wanted."""
        ranges = ranges_of([5, 1_000_000])
        self.assertEqual(split(ranges, 2), ranges)

    def test_single_range(self) -> None:
        """One range is cut into equal pieces; the last ones take what does not divide."""
        pieces = split([OffsetRange("t", 0, 1, 12)], 3)
        self.assertEqual([(piece.start, piece.end) for piece in pieces], [(1, 4), (4, 8), (8, 12)])

    def test_small_stay_whole(self) -> None:
        """The worked example: what is small is not split, and does not count for the others' shares."""
        pieces = split(ranges_of([10, 1000, 1990]), 6)
        self.assertEqual([piece.partition for piece in pieces], [0, 1, 1, 2, 2, 2])

    def test_like_spark(self) -> None:
        """The number of tasks is what Spark's KafkaOffsetRangeCalculator gives, half rounded up."""
        for lengths, wanted, tasks in (
            ([10, 10], 3, 4),  # both 1.5 -> 2
            ([4, 4, 4], 4, 3),  # all 1.33 -> 1
            ([1, 100], 4, 4),  # 1 + 3
            ([3, 1], 10, 4),  # 8 + 3, were there offsets enough
        ):
            self.assertEqual(len(split(ranges_of(lengths), wanted)), tasks, lengths)

    def test_max_records(self) -> None:
        """No piece is larger than wanted; pieces of a range are equal, as Spark's calculator makes them."""
        for lengths, min_partitions, most, expected in (
            ([10], None, 4, [3, 3, 4]),
            ([10, 3, 0, 8], None, 4, [3, 3, 4, 3, 4, 4]),
            ([4, 5], None, 5, [4, 5]),
            ([10, 2], 2, 5, [5, 5, 2]),
            ([10, 2], 6, 5, [1, 2, 2, 1, 2, 2, 2]),  # 5 of 12 offsets: 2.5 of 6 tasks, rounded up
        ):
            pieces = split(ranges_of(lengths), min_partitions, most)
            self.assertEqual([piece.size for piece in pieces], expected)

    @settings(deadline=None, max_examples=200)
    @given(st.lists(st.integers(0, 200), max_size=6), st.integers(1, 40), st.integers(1, 300))
    def test_never_more_records(self, lengths: list[int], wanted: int, most: int) -> None:
        """With both options no piece is too large, and nothing is lost or doubled."""
        ranges = ranges_of(lengths)
        pieces = split(ranges, wanted, most)
        self.assertLessEqual(max((piece.size for piece in pieces), default=0), most)
        self.assertEqual(sum(piece.size for piece in pieces), sum(lengths))
        self.assertTrue(all(a.partition < b.partition or a.end == b.start for a, b in pairwise(pieces)))

    @settings(deadline=None, max_examples=200)
    @given(sizes, st.integers(1, 40))
    def test_nothing_lost_or_doubled(self, lengths: list[int], wanted: int) -> None:
        """The pieces, joined, are the ranges again; none is empty."""
        ranges = ranges_of(lengths)
        pieces = split(ranges, wanted)
        self.assertTrue(all(piece.size > 0 for piece in pieces))
        for item in ranges:
            own = [piece for piece in pieces if piece.partition == item.partition]
            edges = [(piece.start, piece.end) for piece in own]
            if item.size:
                self.assertEqual((edges[0][0], edges[-1][1]), (item.start, item.end))
                self.assertTrue(all(a[1] == b[0] for a, b in pairwise(edges)))
            else:
                self.assertEqual(edges, [])

    @settings(deadline=None, max_examples=200)
    @given(sizes, st.integers(1, 40))
    def test_about_as_many_as_wanted(self, lengths: list[int], wanted: int) -> None:
        """There are about as many tasks as wanted: off by at most one per range, half of it by rounding."""
        full = [size for size in lengths if size >= 40]
        pieces = split(ranges_of(full), wanted)
        self.assertGreaterEqual(len(pieces), len(full))
        if full:
            self.assertLessEqual(abs(len(pieces) - max(wanted, len(full))), len(full))
