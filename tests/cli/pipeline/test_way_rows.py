"""Tests of kafkatx.cli.pipeline.way_rows."""

from __future__ import annotations

from twisted.trial.unittest import SynchronousTestCase

from kafkatx.audit.tallies import Tally
from kafkatx.audit.way import WayWindow, judge, way
from kafkatx.cli.pipeline.way_rows import as_object, drawing, state
from kafkatx.clientcore.audit.tiers import Tier

TIERS = [
    Tier("producer"),
    Tier("broker", "dc1"),
    Tier("consumer", "billing"),
    Tier("consumer", "mail"),
    Tier("ingest", "web"),
]
STEPS = way(TIERS)


def window(*counts: int, now_ms: int = 100_000) -> WayWindow:
    """Return a closed window with these counts."""
    found = {tier: {5000: Tally(count)} for tier, count in zip(TIERS, counts, strict=True)}
    return next(judge("t", STEPS, found, 1000, now_ms, 0))


class DrawingTests(SynchronousTestCase):
    def test_way(self) -> None:
        """Tiers stand from left to right with their sums below; readers of the same tier below each other."""
        windows = [window(1000, 999, 999, 990, 0), window(20, 20, 20, 20, 0)]
        self.assertEqual(
            drawing("t", STEPS, windows),
            [
                "t",
                "  producer --> broker:dc1 --> consumer:billing",
                "      1020           1019                 1019",
                "                          --> consumer:mail",
                "                                       1010",
                "                          --> ingest:web",
                "                                       0",
            ],
        )

    def test_two_clusters(self) -> None:
        """A reader stands at the end of the tier that it reads from, also if the way goes on behind that."""
        tiers = [
            Tier("producer"),
            Tier("broker", "dc1"),
            Tier("consumer", "billing"),
            Tier("mirror", "link", 1),
            Tier("broker", "dc2", 1),
            Tier("ingest", "web", 1),
            Tier("ingest", "old", 1),
        ]
        steps = way(tiers)
        found = {tier: {0: Tally(7)} for tier in tiers}
        self.assertEqual(
            drawing("t", steps, list(judge("t", steps, found, 1000, 100_000, 0))),
            [
                "t",
                "  producer --> broker:dc1 --> mirror:link --> broker:dc2 --> ingest:old",
                "         7              7               7              7              7",
                "                                                         --> ingest:web",
                "                                                                      7",
                "                          --> consumer:billing",
                "                                             7",
            ],
        )

    def test_reader_of_nothing(self) -> None:
        """Readers alone are drawn below each other."""
        steps = way(TIERS[2:4])
        lines = drawing("t", steps, [window(5, 5, 5, 5, 5)])
        self.assertEqual(lines[1::2], ["  consumer:billing", "   --> consumer:mail"])

    def test_last_cluster_unread(self) -> None:
        """The row ends with the last brokers if nothing reads from them."""
        tiers = [*TIERS[:3], Tier("broker", "dc2", 1)]
        steps = way(tiers)
        found = {tier: {0: Tally(7)} for tier in tiers}
        lines = drawing("t", steps, list(judge("t", steps, found, 1000, 100_000, 0)))
        self.assertEqual(lines[1], "  producer --> broker:dc1 --> broker:dc2")
        self.assertEqual(lines[3], "                          --> consumer:billing")

    def test_one_tier(self) -> None:
        """A tier alone is drawn without an arrow."""
        steps = way(TIERS[:1])
        self.assertEqual(drawing("t", steps, [window(5, 5, 5, 5, 5)]), ["t", "  producer", "         5"])


class StateTests(SynchronousTestCase):
    def test_states(self) -> None:
        """A window is open, equal, has more at the brokers only, or is wrong."""
        self.assertEqual(state(window(5, 5, 5, 5, 5)), "ok")
        self.assertEqual(state(window(5, 6, 6, 6, 6)), "more")
        self.assertEqual(state(window(5, 5, 4, 5, 5)), "wrong")
        self.assertEqual(state(window(5, 5, 4, 5, 5, now_ms=0)), "open")

    def test_json(self) -> None:
        """An object names all tiers, and those that differ."""
        found = as_object(window(5, 5, 4, 5, 5), STEPS)
        self.assertEqual(found["tiers"], {str(tier): 4 if tier is TIERS[2] else 5 for tier in TIERS})
        fault = {"tier": "consumer:billing", "expected": 5, "count": 4, "missing": 1, "more": 0}
        self.assertEqual(found["faults"], [fault])
        self.assertEqual((found["state"], found["window_start"]), ("wrong", "1970-01-01T00:00:05Z"))
