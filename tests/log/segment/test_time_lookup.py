"""Tests of kafkatx.log.segment.time_lookup: records by timestamp over several segments."""

from __future__ import annotations

from collections.abc import Callable

from hypothesis import given, settings
from hypothesis import strategies as st
from twisted.trial.unittest import SynchronousTestCase

from kafkatx.errors import CorruptRecords
from kafkatx.log.segment import time_lookup
from kafkatx.log.segment.segment import LogSegment
from kafkatx.testing.contracts.partition_log import NOW_MS
from tests.log.segments import make_segment, stored


class Ended(Exception):
    """The caller has gone."""


def ended() -> None:
    """End the search."""
    raise Ended


class TimeLookupTests(SynchronousTestCase):
    def log(self, times: list[int], interval: int = 0) -> list[LogSegment]:
        """Twins of segments of two batches of two records, with these times of records."""
        segments = []
        for first in range(0, len(times), 4):
            batches = []
            for offset in range(first, min(first + 4, len(times)), 2):
                values = [NOW_MS + time for time in times[offset : offset + 2]]
                batches.append(stored([b"x"] * len(values), offset, values))
            segment = make_segment(self.mktemp(), *batches, base_offset=first, interval=interval)
            segment.finish()
            segments.append(segment.twin())
        return segments

    @settings(deadline=None, max_examples=60)
    @given(times=st.lists(st.integers(0, 9), min_size=1, max_size=12), start=st.integers(0, 11))
    def test_same_as_a_scan(self, times: list[int], start: int) -> None:
        """Both searches find the same as a scan of all records, for any order of timestamps."""
        segments = self.log(times)
        start = min(start, len(times) - 1)
        rest = list(enumerate(times))[start:]
        for wanted in range(11):
            expected = next((offset for offset, time in rest if time >= wanted), None)
            found = time_lookup.first_at_or_after(segments, NOW_MS + wanted, start)
            self.assertEqual(None if found is None else found.offset, expected)
        holding = [one for one in segments if one.next_offset() > start]
        newest = time_lookup.newest(holding, start)
        assert newest is not None
        self.assertEqual(newest.timestamp - NOW_MS, max(time for _, time in rest))

    def test_damaged(self) -> None:
        """A batch on the way that is damaged is an error: its own timestamp may be wrong."""
        segments = self.log([0, 1, 2, 3], interval=1 << 20)
        with open(segments[0].path(".log"), "r+b") as file:
            file.seek(segments[0].position_of(2) - 2)  # a value, which only the checksum covers
            file.write(b"y")
        self.assertRaises(CorruptRecords, time_lookup.first_at_or_after, segments, NOW_MS + 3, 0)
        segments[0].incomplete = True
        self.assertRaises(CorruptRecords, time_lookup.newest, segments, 0)

    def test_deleted_meanwhile(self) -> None:
        """A segment that retention has taken is passed."""
        segments = self.log([5, 5, 5, 5, 6, 6])
        segments[0].release()
        segments[0].remove()
        found = time_lookup.first_at_or_after(segments, NOW_MS, 0)
        assert found is not None
        self.assertEqual(found.offset, 4)

    def test_ended(self) -> None:
        """A search ends where its caller has gone."""
        searches: list[Callable[[], object]] = [
            lambda: time_lookup.first_at_or_after(self.log([1, 2]), NOW_MS, 0, check=ended),
            lambda: time_lookup.newest(self.log([1, 2]), 0, check=ended),
        ]
        for search in searches:
            self.assertRaises(Ended, search)
