"""Tests of kafkatx.audit.comparison."""

from __future__ import annotations

from typing import Any

import attrs
from twisted.trial.unittest import SynchronousTestCase

from kafkatx.audit.comparison import Announced, Count, Window, between, compare
from kafkatx.clientcore.audit.counts import Announcement
from kafkatx.errors import SettingError

EVENT = Announcement("a", 0, "t", 5000, 1000, 7, 6100)
NOW_MS = 1_000_000


def announced(*changes: dict[str, Any], group: str | None = None) -> Announced:
    """Events that differ from one in these."""
    found = Announced(group)
    for change in changes:
        found.add(attrs.evolve(EVENT, **change).encode())
    return found


class AnnouncedTests(SynchronousTestCase):
    def test_sums(self) -> None:
        """Events of several producers, and several of one, add up; what was sent twice counts once."""
        found = announced(
            {}, {"sent_ms": 9000}, {"sequence": 1, "count": 2, "sent_ms": 8000}, {"producer": "b"}
        )
        self.assertEqual(found.sums({"t"}, 1000), {("t", 5000): (16, 8000)})

    def test_windows_of_many(self) -> None:
        """Windows of several lengths are put into the shortest that all fit into."""
        found = announced({}, {"producer": "b", "window_ms": 2500}, {"producer": "c", "topic": "u"})
        self.assertEqual(found.topics(), {"t", "u"})
        self.assertEqual(found.window_ms({"u"}), 1000)
        self.assertEqual(found.window_ms({"t", "u"}), 5000)
        self.assertIsNone(found.window_ms({"v"}))
        self.assertEqual(found.sums({"t"}, 5000), {("t", 5000): (14, 6100)})
        self.assertRaises(SettingError, found.window_ms, {"t"}, 1000)

    def test_consumers(self) -> None:
        """The counts of a group's consumers are apart from those of producers, and of other groups."""
        again = {"group": "g", "count": 3}
        events: list[dict[str, Any]] = [{}, again, {"group": "h"}, {"group": "g", "producer": "b"}, again]
        found = announced(*events, group="g")
        self.assertEqual(found.sums({"t"}, 1000), {("t", 5000): (7, 6100)})
        self.assertEqual(found.consumed({"t"}, 1000), {("t", 5000): (10, 6100)})
        found = announced(*events)
        self.assertEqual(found.sums({"t"}, 1000), {("t", 5000): (7, 6100)})
        self.assertIs(found.consumed({"t"}, 1000), None)
        self.assertEqual(found.unreadable, 0)

    def test_windows_of_consumers(self) -> None:
        """Windows are long enough for the group's consumers, too, and not for other groups'."""
        events: list[dict[str, Any]] = [
            {},
            {"group": "g", "window_ms": 2500},
            {"group": "h", "window_ms": 7, "window_start_ms": 0},
        ]
        self.assertEqual(announced(*events, group="g").window_ms({"t"}), 5000)
        self.assertEqual(announced(*events).window_ms({"t"}), 1000)

    def test_servers(self) -> None:
        """Producers' counts add up by server; old announcements have no server."""
        found = announced(
            {"server": "a"},
            {"server": "b", "sequence": 1},
            {"server": "a", "producer": "b", "window_start_ms": 6000},
            {"producer": "c", "count": 1},
            {"server": "c", "group": "g"},
            group="g",
        )
        self.assertEqual(
            found.servers({"t"}, 2000), {("t", 4000): {"a": 7, "b": 7, "": 1}, ("t", 6000): {"a": 7}}
        )
        self.assertEqual(found.sums({"t"}, 2000)["t", 4000], (15, 6100))

    def test_unreadable(self) -> None:
        """Records that are not announcements are counted, and have no other effect."""
        found = announced({})
        found.add(b"?")
        found.add(None)
        self.assertEqual((found.unreadable, found.sums({"t"}, 1000)), (2, {("t", 5000): (7, 6100)}))


class CompareTests(SynchronousTestCase):
    def one(self, announced: int, found: int, distinct: int, **more: int) -> Window:
        """The only window of a comparison."""
        counts = {("t", 5000): Count(found, distinct)} if found else {}
        sums = {("t", 5000): (announced, 6000)} if announced else {}
        (window,) = compare(sums, counts, 1000, more.get("now_ms", NOW_MS), 60_000)
        return window

    def test_truth_table(self) -> None:
        """Missing, doubled and unannounced, and which of them are wrong."""
        for numbers, told in {
            (5, 5, 5): (0, 0, 0, False, False),
            (5, 4, 4): (1, 0, 0, True, True),
            (5, 0, 0): (5, 0, 0, True, True),
            (5, 6, 5): (0, 1, 0, True, True),
            (5, 6, 4): (1, 2, 0, True, True),
            (5, 6, 6): (0, 0, 1, False, True),
            (0, 6, 6): (0, 0, 6, False, True),
            (4, 7, 5): (0, 2, 1, True, True),
        }.items():
            window = self.one(*numbers)
            found = (window.missing, window.doubled, window.unannounced, window.wrong, window.differs)
            self.assertEqual(found, told, numbers)

    def test_group(self) -> None:
        """Not consumed and read again, and that both are wrong; unannounced records are no second reading."""
        for (count, distinct, consumed), told in {
            (5, 5, 5): (0, 0, False, False),
            (5, 5, 3): (2, 0, True, True),
            (5, 5, 0): (5, 0, True, True),
            (5, 5, 8): (0, 3, True, True),
            (5, 6, 6): (0, 0, False, True),
            (5, 0, 5): (0, 0, True, True),
            (0, 0, 2): (0, 2, True, True),
        }.items():
            key = ("t", 5000)
            sums, found = {key: (count, 6000)}, {key: Count(distinct, distinct)}
            (window,) = compare(
                sums, found, 1000, NOW_MS, 0, consumed={key: (consumed, 0)} if consumed else {}
            )
            self.assertEqual(window.consumed, consumed)
            numbers = (window.unconsumed, window.reread, window.wrong, window.differs)
            self.assertEqual(numbers, told, (count, distinct, consumed))

    def test_open_by_consumers(self) -> None:
        """A window is open just after a consumer's announcement, even if it is the only one."""
        consumed = {("t", 5000): (5, NOW_MS)}
        (window,) = compare({}, {}, 1000, NOW_MS + 59_999, 60_000, consumed=consumed)
        self.assertTrue(window.open)
        (window,) = compare({}, {}, 1000, NOW_MS + 60_000, 60_000, consumed=consumed)
        self.assertEqual((window.wrong, window.reread), (True, 5))

    def test_open(self) -> None:
        """A window is open until records and announcements have had their time, and then never again."""
        last_ms = 5000 + 2 * 1000 + 60_000
        early = self.one(5, 4, 4, now_ms=last_ms - 1)
        self.assertEqual((early.open, early.wrong, early.differs, early.missing), (True, False, True, 1))
        self.assertTrue(self.one(5, 4, 4, now_ms=last_ms).wrong)

    def test_open_by_announcement(self) -> None:
        """Records of old times that were announced only now may be on their way, too."""
        sums = {("t", 5000): (5, NOW_MS)}
        (window,) = compare(sums, {}, 1000, NOW_MS + 59_999, 60_000)
        self.assertTrue(window.open)
        (window,) = compare(sums, {}, 1000, NOW_MS + 60_000, 60_000)
        self.assertTrue(window.wrong)

    def test_order(self) -> None:
        """Windows come in order of topic and time from all sources, and can be limited to a time range."""
        sums = {("u", 0): (1, 1), ("t", 2000): (1, 1)}
        found = {("t", 1000): Count(1, 1, 77)}
        windows = list(compare(sums, found, 1000, NOW_MS))
        self.assertEqual([(w.topic, w.start_ms) for w in windows], [("t", 1000), ("t", 2000), ("u", 0)])
        self.assertEqual([(w.sent_ms, w.written_ms) for w in windows], [(None, 77), (1, None), (1, None)])
        self.assertEqual([w.start_ms for w in between(windows, 1000, 2000)], [1000])
        self.assertEqual([w.start_ms for w in between(windows, None, None)], [1000, 2000, 0])
