"""Records of several partitions in the order of time."""

from __future__ import annotations

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from twisted.trial.unittest import SynchronousTestCase

from kafkatx.broker.console.messages.merge import Merge
from kafkatx.views.requests import Found


def at(timestamp: int, offset: int = 0) -> Found:
    """Return a record."""
    return Found(timestamp, offset, b"")


SLOW = [HealthCheck.too_slow]


class MergeTests(SynchronousTestCase):
    def ready(self, merge: Merge) -> list[tuple[int, int]]:
        """Return partition and timestamp of the records that may go."""
        return [(number, one.timestamp) for number, one in merge.ready()]

    def test_waits(self) -> None:
        """A record waits until no partition can bring an earlier one."""
        merge = Merge((0, 1))
        self.assertEqual(merge.next_partition(), 0)
        merge.add(0, [at(5), at(7)], 9, False)
        self.assertEqual(self.ready(merge), [])
        self.assertEqual(merge.next_partition(), 1)
        merge.add(1, [], 6, False)
        self.assertEqual(self.ready(merge), [(0, 5)])
        merge.add(1, [at(8)], 8, True)
        self.assertEqual(self.ready(merge), [(0, 7), (1, 8)])
        merge.add(0, [], None, True)
        self.assertIsNone(merge.next_partition())

    def test_newest_first(self) -> None:
        """The other direction is the same with later for earlier."""
        merge = Merge((0, 1), newest_first=True)
        merge.add(0, [at(9), at(5)], 5, False)
        merge.add(1, [at(7)], 7, False)
        self.assertEqual(self.ready(merge), [(0, 9), (1, 7)])
        self.assertEqual(merge.next_partition(), 1)
        merge.add(1, [at(4)], 4, True)
        self.assertEqual(self.ready(merge), [(0, 5)])

    def test_rest(self) -> None:
        """Records that are left can be had without waiting, or be named by their offsets."""
        merge = Merge((0, 1))
        merge.add(0, [at(5, 17)], 5, False)
        self.assertEqual((merge.head(0), merge.head(1), len(merge)), (17, None, 1))
        self.assertEqual(len(list(merge.rest())), 1)

    def test_out_of_order(self) -> None:
        """Records of one partition keep the order of the log, whatever their times."""
        merge = Merge((0,))
        merge.add(0, [at(9), at(1)], 9, True)
        self.assertEqual(self.ready(merge), [(0, 9), (0, 1)])

    @settings(deadline=None, suppress_health_check=SLOW)
    @given(st.lists(st.lists(st.integers(0, 9), max_size=6), min_size=1, max_size=4), st.booleans())
    def test_sorted(self, times: list[list[int]], newest_first: bool) -> None:
        """Records that partitions bring in pieces come out sorted and whole."""
        parts = [sorted(each, reverse=newest_first) for each in times]
        merge, out = Merge(range(len(parts)), newest_first), []
        left = [list(each) for each in parts]
        while (number := merge.next_partition()) is not None:
            piece, left[number] = left[number][:2], left[number][2:]
            merge.add(number, map(at, piece), piece[-1] if piece else None, not left[number])
            out += [one.timestamp for _, one in merge.ready()]
        self.assertEqual(out, sorted((one for each in parts for one in each), reverse=newest_first))
