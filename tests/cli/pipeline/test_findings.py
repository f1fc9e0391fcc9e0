"""Tests of kafkatx.cli.pipeline.findings."""

from __future__ import annotations

import attrs
from twisted.trial.unittest import SynchronousTestCase

from kafkatx.audit.tallies import Tallies, Tally
from kafkatx.audit.way import WayWindow, judge, way
from kafkatx.cli.pipeline.findings import clock_remarks, findings, remarks
from kafkatx.clientcore.audit.ranges import RangeAnnouncement
from kafkatx.clientcore.audit.tiers import Tier

PRODUCER, BROKER, READER = Tier("producer"), Tier("broker", "dc1"), Tier("consumer", "g")
STEPS = way([PRODUCER, BROKER, READER])
NOW_MS = 1_000_000_000


def windows(*counts: tuple[int, int, int], now_ms: int = NOW_MS) -> list[WayWindow]:
    """Return the windows of a second each with these counts of the three tiers."""
    found = {
        tier: {number * 1000: Tally(count[place]) for number, count in enumerate(counts)}
        for place, tier in enumerate((PRODUCER, BROKER, READER))
    }
    return list(judge("t", STEPS, found, 1000, now_ms, 0))


def said(*counts: tuple[int, int, int], now_ms: int = NOW_MS) -> list[str]:
    """Return the sentences about such windows."""
    return list(findings("t", STEPS, windows(*counts, now_ms=now_ms)))


class FindingsTests(SynchronousTestCase):
    def test_one_window(self) -> None:
        """A record that is missing in one tier and window is said with all three."""
        (sentence,) = said((5, 5, 5), (5, 4, 4), (5, 5, 5))
        self.assertEqual(
            sentence,
            "t: broker:dc1 lacks 1 of the 5 records of producer in the window from 1970-01-01T00:00:01Z to"
            " 1970-01-01T00:00:02Z (lost, or removed by retention or compaction before they were counted)",
        )

    def test_since(self) -> None:
        """A fault that goes on is told with its beginning, one that has ended with both ends."""
        (sentence,) = said((5, 5, 5), (5, 5, 4), (5, 5, 5), (5, 5, 3))
        self.assertIn(
            "consumer:g lacks 3 of the 10 records of broker:dc1 since 1970-01-01T00:00:01Z", sentence
        )
        self.assertIn("in 2 windows, the last closed one among them", sentence)
        (sentence,) = said((5, 5, 4), (5, 5, 3), (5, 5, 5))
        self.assertIn("from 1970-01-01T00:00:00Z to 1970-01-01T00:00:02Z, in 2 windows", sentence)

    def test_more(self) -> None:
        """Missing records and superfluous ones of a tier are two sentences."""
        one, other = said((5, 5, 6), (5, 5, 4))
        self.assertIn("consumer:g lacks 1 of the 5 records", one)
        self.assertIn("consumer:g has 1 record more than broker:dc1", other)

    def test_equal(self) -> None:
        """Equal numbers are said, too, and open windows are not judged."""
        expected = ["t: the numbers of producer, broker:dc1, consumer:g are equal in the closed window"]
        self.assertEqual(said((5, 5, 5), (5, 4, 4), now_ms=2500), expected)
        self.assertEqual(said((5, 5, 5), now_ms=0), [])


class RemarkTests(SynchronousTestCase):
    def test_uncounted(self) -> None:
        """Offsets that a tier has not counted are named, and how far a tier is behind."""
        event = RangeAnnouncement("broker", "dc1", "b", "t", "i", 0, 0, 5, 1000, ((0, 3),), 2, 0)
        tallies = Tallies()
        for start in (0, 10, 20, 30, 40):
            tallies.add(attrs.evolve(event, start=start, end=start + 5).encode())
        tallies.add(attrs.evolve(event, tier="ingest", place="web", end=40, absent=0).encode())
        steps = way(tallies.tiers("t"))
        holes, absent, lag = remarks("t", steps, tallies)
        self.assertEqual(
            holes, "t-0: broker:dc1 has not announced the offsets 5 to 9, 15 to 19, 25 to 29 and 1 more"
        )
        self.assertIn("t-0: 10 offsets have no record in broker:dc1: retention or compaction", absent)
        self.assertEqual(lag, "t: ingest:web is 5 offsets behind broker:dc1")

    def test_clocks(self) -> None:
        """A server whose clock is wrong is named, with the direction."""
        one, other = clock_remarks({"web-1": 3_600_000, "": -90_000})
        self.assertIn("the clock of an unnamed server was 90 s behind the brokers'", one)
        self.assertIn("the clock of web-1 was 3600 s ahead of the brokers'", other)
