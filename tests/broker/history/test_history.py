"""The samples of a week."""

from __future__ import annotations

from math import isnan

from twisted.trial.unittest import SynchronousTestCase

from kafkatx.broker.history.history import MOST_NAMED, History, plan_window

BEGIN_MS = 1_700_000_100_000
"""The begin of a slot in all rings."""

HOUR_S, DAY_S = 3600, 86_400


class HistoryTests(SynchronousTestCase):
    def setUp(self) -> None:
        """Make a history."""
        self.history = History()
        self.assertEqual(BEGIN_MS % 300_000, 0)

    def fill(self, first_s: int, end_s: int, step_s: int = 1) -> None:
        """Add a sample for each second: its number."""
        for second in range(first_s, end_s, step_s):
            values = {"connections": float(second % 1000), "underReplicated": float(second % 1000)}
            self.history.add(BEGIN_MS + 1000 * second, values)

    def read(
        self, from_s: int, to_s: int, points: int = 300, name: str = "connections"
    ) -> list[float | None]:
        """Return a part of a series at the time of the newest sample; None where nothing is known."""
        now_ms = max(ring.last * ring.step_ms for ring in self.history.rings)
        window = plan_window([name], BEGIN_MS + 1000 * from_s, BEGIN_MS + 1000 * to_s, points, now_ms)
        self.step_ms = window.step_ms
        self.assertLessEqual(window.count, points)
        found = self.history.read(name, window)
        self.assertEqual((len(found), len(window.times_ms)), (window.count, window.count))
        return [None if isnan(value) else round(value, 3) for value in found]

    def test_seconds(self) -> None:
        """The last ten minutes are there by the second."""
        self.fill(0, 600)
        self.assertEqual((self.read(590, 593), self.step_ms), ([590, 591, 592, 593], 1000))
        self.assertEqual((self.read(0, 599, 60)[:2], self.step_ms), ([4.5, 14.5], 10_000))

    def test_coarser(self) -> None:
        """Older samples are there by ten seconds, then by five minutes: means, or peaks of trouble."""
        self.fill(0, 3000)
        self.assertEqual((self.read(0, 29), self.step_ms), ([4.5, 14.5, 24.5], 10_000))
        self.assertEqual(self.read(0, 29, name="underReplicated"), [9, 19, 29])
        self.fill(3000, 3000 + 2 * HOUR_S, 10)
        self.assertEqual((self.read(0, 599), self.step_ms), ([149.5, 449.5], 300_000))
        self.assertEqual(self.read(0, 599, name="underReplicated"), [299, 599])

    def test_week(self) -> None:
        """A week is there, and no more."""
        self.fill(0, 8 * DAY_S, 100)
        found = self.read(0, 8 * DAY_S, 2000)
        self.assertEqual((self.step_ms, len(found)), (600_000, 1009))
        self.assertNotIn(None, found[:-1])
        size = sum(
            len(column) * column.itemsize for ring in self.history.rings for column in ring.columns.values()
        )
        self.assertLess(size, 4 << 20)

    def test_named(self) -> None:
        """Topics and groups have samples each ten seconds; the number of their series is bounded."""
        for number in range(300):
            self.fill(10 * number, 10 * number + 10)
            self.history.add_named({f"lag:g{number}": float(number)})
        self.assertEqual(self.read(2970, 2979, name="lag:g297"), [297])
        self.assertEqual(self.read(0, 9, name="lag:g0"), [None])
        most = len([name for name in self.history.names() if ":" in name])
        self.assertLessEqual(most, 2 * MOST_NAMED + 30)

    def test_set_back(self) -> None:
        """A clock that was set back drops what would be later; the series goes on."""
        self.fill(0, 4000)
        self.history.set_back(BEGIN_MS + 1000 * 3000)
        self.assertEqual([value for value in self.read(3010, 3990) if value is not None], [])
        self.fill(3001, 3100)
        self.assertEqual(self.read(3050, 3052), [50, 51, 52])

    def test_nothing(self) -> None:
        """Without samples, or at impossible times, nothing is told."""
        self.assertEqual(self.read(0, 100), [])
        self.fill(0, 10)
        self.assertEqual(self.read(5000, 6000), [])
        self.assertEqual(self.read(100, 0), [])
        self.assertEqual(self.read(0, 5, name="nothing"), [None] * 6)
