"""Windows of time."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from twisted.trial.unittest import SynchronousTestCase

from kafkatx.broker.history.window import Grain, Window, plan

GRAINS = (Grain(1000, 600), Grain(10_000, 720), Grain(300_000, 2016))
NOW_MS = 1_700_000_123_456


class WindowTests(SynchronousTestCase):
    def test_times(self) -> None:
        """The intervals begin at multiples of their length."""
        window = Window(2000, 5, 3)
        self.assertEqual((window.begin_ms, window.times_ms), (10_000, [10_000, 12_000, 14_000]))

    def test_finest(self) -> None:
        """A window has the distance of the finest samples that go back to its begin, or a multiple."""
        for back_s, points, step_ms in (
            (500, 1000, 1000),
            (600, 1000, 10_000),
            (500, 100, 6000),
            (3600, 1000, 10_000),
            (7200, 1000, 300_000),
            (604_800, 300, 2_100_000),
        ):
            window = plan(GRAINS, NOW_MS - 1000 * back_s, NOW_MS, points, NOW_MS)
            self.assertEqual(window.step_ms, step_ms, back_s)

    def test_nothing(self) -> None:
        """A time that has not come, or ends before it begins, has no intervals."""
        for from_ms, to_ms in ((NOW_MS + 10_000, NOW_MS + 20_000), (NOW_MS, NOW_MS - 10_000), (0, 1)):
            self.assertEqual(plan(GRAINS, from_ms, to_ms, 100, NOW_MS).count, 0)

    @given(st.integers(0, 2**53), st.integers(0, 2**53), st.integers(1, 1000))
    def test_bounds(self, from_ms: int, to_ms: int, points: int) -> None:
        """There are never more intervals than points, and none begins after now."""
        window = plan(GRAINS, from_ms, to_ms, points, NOW_MS)
        self.assertLessEqual(window.count, points)
        self.assertTrue(all(time_ms <= min(to_ms, NOW_MS) for time_ms in window.times_ms))
        self.assertTrue(all(time_ms > NOW_MS - 8 * 86_400_000 for time_ms in window.times_ms))
