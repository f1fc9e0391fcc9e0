"""Tests of kafkatx.audit.tallies."""

from __future__ import annotations

from typing import Any

import attrs
from twisted.trial.unittest import SynchronousTestCase

from kafkatx.audit.tallies import CLOCK_MS, Tallies, Tally, Uncounted
from kafkatx.clientcore.audit.counts import Announcement
from kafkatx.clientcore.audit.ranges import RangeAnnouncement
from kafkatx.clientcore.audit.tiers import Tier
from kafkatx.errors import SettingError

SUM = Announcement("p", 0, "t", 5000, 1000, 7, 6100, "web-1")
RANGE = RangeAnnouncement("broker", "dc1", "broker-1", "t", "id", 0, 0, 10, 1000, ((5000, 10),), 0, 6500)
BROKER = Tier("broker", "dc1")


def tallies(*events: Announcement | RangeAnnouncement, cluster: int = 0) -> Tallies:
    """Return the tallies of these announcements."""
    found = Tallies()
    for event in events:
        found.add(event.encode(), cluster)
    return found


def changed(**changes: Any) -> RangeAnnouncement:
    """Return another range."""
    return attrs.evolve(RANGE, **changes)


class SumTests(SynchronousTestCase):
    """Announcements of producers and consumers."""

    def test_sums(self) -> None:
        """Announcements add up by tier and window; one that was sent twice counts once."""
        group = attrs.evolve(SUM, group="g", count=3)
        found = tallies(SUM, SUM, attrs.evolve(SUM, sequence=1, count=2, sent_ms=6200), group)
        self.assertEqual(found.tiers("t"), [Tier("producer"), Tier("consumer", "g")])
        self.assertEqual(found.counts(Tier("producer"), "t", 1000), {5000: Tally(9, 6200)})
        self.assertEqual(found.counts(Tier("consumer", "g"), "t", 5000), {5000: Tally(3, 6100)})
        self.assertEqual(found.topics(), {"t"})

    def test_restart(self) -> None:
        """A server that was restarted under its name has another producer: both count."""
        found = tallies(SUM, attrs.evolve(SUM, producer="q"))
        self.assertEqual(found.counts(Tier("producer"), "t", 1000)[5000].count, 14)

    def test_two_clusters(self) -> None:
        """Announcements in another cluster are another tier; copied ones count in the first cluster."""
        found = tallies(SUM, RANGE)
        for event in (SUM, attrs.evolve(SUM, producer="q"), RANGE, changed(place="dc2")):
            found.add(event.encode(), 1)
        tiers = {Tier("producer"), Tier("producer", cluster=1), BROKER, Tier("broker", "dc2", 1)}
        self.assertEqual(set(found.tiers("t")), tiers)
        self.assertEqual(found.counts(Tier("producer", cluster=1), "t", 1000)[5000].count, 7)
        self.assertEqual(found.counts(BROKER, "t", 1000)[5000].count, 10)

    def test_lengths(self) -> None:
        """Windows are as long as those of all tiers need."""
        found = tallies(SUM, changed(window_ms=2500))
        self.assertEqual(found.window_ms({"t"}), 5000)
        self.assertIsNone(found.window_ms({"u"}))
        self.assertRaises(SettingError, found.window_ms, {"t"}, 1000)

    def test_unreadable(self) -> None:
        """Other records are counted, and do no harm."""
        found = tallies(SUM)
        found.add(b"{}")
        found.add(None)
        self.assertEqual(found.unreadable, 2)

    def test_clocks(self) -> None:
        """A clock that is far from the broker's is told, the furthest time; a slow network is not."""
        found = tallies()
        for number, ahead_ms in enumerate((5000, CLOCK_MS + 1000, CLOCK_MS + 500, -1000)):
            event = attrs.evolve(SUM, sequence=number, sent_ms=1_000_000 + ahead_ms)
            found.add(event.encode(), 0, 1_000_000)
        found.add(attrs.evolve(RANGE, sent_ms=0).encode(), 0, 1_000_000)
        self.assertEqual(found.clocks, {"web-1": CLOCK_MS + 1000, "broker-1": -1_000_000})
        self.assertEqual(found.counts(Tier("producer"), "t", 1000)[5000].last_ms, 1_000_000)


class RangeTests(SynchronousTestCase):
    """Announcements of ranges."""

    def test_again(self) -> None:
        """A range that is announced again, in another length, counts once."""
        longer = changed(server="broker-2", end=15, windows=((5000, 12), (6000, 3)))
        found = tallies(RANGE, longer, changed(start=15, end=16, windows=((6000, 1),)))
        counts = found.counts(BROKER, "t", 1000)
        self.assertEqual({start: tally.count for start, tally in counts.items()}, {5000: 12, 6000: 4})
        self.assertEqual(found.uncounted(BROKER, "t"), [])

    def test_another_topic(self) -> None:
        """A topic that was created anew under its name begins at offset 0 again, and both count."""
        found = tallies(RANGE, changed(topic_id="new"), changed(partition=1))
        self.assertEqual(found.counts(BROKER, "t", 1000)[5000].count, 30)

    def test_uncounted(self) -> None:
        """Holes between ranges, and offsets without records, are told by partition."""
        found = tallies(RANGE, changed(start=12, end=20, windows=((5000, 5),), absent=3))
        self.assertEqual(found.uncounted(BROKER, "t"), [Uncounted("t", 0, ((10, 12),), 3)])

    def test_after_counts(self) -> None:
        """Later announcements count, although the tallies were looked at before."""
        found = tallies(RANGE)
        found.counts(BROKER, "t", 1000)
        found.add(changed(start=10, end=11, windows=((5000, 1),)).encode())
        self.assertEqual(found.counts(BROKER, "t", 1000)[5000].count, 11)

    def test_many(self) -> None:
        """Very many ranges are joined in memory, and an overlap among the last ones counts once."""
        parts = [
            changed(start=n, end=n + 1, windows=((5000 + n // 100 * 1000, 1),), absent=0) for n in range(1000)
        ]
        found = tallies(*parts, changed(start=990, end=1010, windows=((14_000, 20),)))
        counts = {start: tally.count for start, tally in found.counts(BROKER, "t", 1000).items()}
        self.assertEqual(counts, {5000 + n * 1000: 100 for n in range(9)} | {14_000: 110})
        self.assertEqual(found.uncounted(BROKER, "t"), [])
        self.assertLess(max(map(len, found._ranges.values())), 64)

    def test_behind(self) -> None:
        """A tier that reads what brokers have counted is behind by the offsets that it has not announced."""
        loaded = changed(tier="ingest", place="web", end=4, windows=((5000, 4),))
        found = tallies(RANGE, loaded, changed(partition=1))
        self.assertEqual(found.behind(Tier("ingest", "web"), BROKER, "t"), 6)
        self.assertEqual(found.behind(BROKER, Tier("ingest", "web"), "t"), 0)
