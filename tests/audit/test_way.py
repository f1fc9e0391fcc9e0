"""Tests of kafkatx.audit.way."""

from __future__ import annotations

from twisted.trial.unittest import SynchronousTestCase

from kafkatx.audit.tallies import Tally
from kafkatx.audit.way import Fault, Step, WayWindow, judge, way
from kafkatx.clientcore.audit.tiers import Tier

PRODUCER, BROKER = Tier("producer"), Tier("broker", "dc1")
MIRROR, TARGET = Tier("mirror", "m", 1), Tier("broker", "dc2", 1)
READER, LOADER = Tier("consumer", "g", 1), Tier("ingest", "web", 1)
NOW_MS = 1_000_000


class WayTests(SynchronousTestCase):
    """The order of the tiers, and what each is compared with."""

    def test_whole(self) -> None:
        """From producers over two clusters to the readers of the second."""
        steps = way([LOADER, READER, TARGET, MIRROR, BROKER, PRODUCER])
        expected = [
            Step(PRODUCER),
            Step(BROKER, (PRODUCER,)),
            Step(MIRROR, (BROKER,)),
            Step(TARGET, (MIRROR,)),
            Step(READER, (TARGET,)),
            Step(LOADER, (TARGET,)),
        ]
        self.assertEqual(steps, expected)

    def test_exact_mirror(self) -> None:
        """A target without a mirror's announcements is compared with the source's brokers."""
        self.assertEqual(way([TARGET, BROKER])[1], Step(TARGET, (BROKER,)))

    def test_tiers_left_out(self) -> None:
        """A tier without announcements is left out."""
        self.assertEqual(way([READER, PRODUCER]), [Step(PRODUCER), Step(READER, (PRODUCER,))])
        self.assertEqual(way([MIRROR]), [Step(MIRROR)])
        self.assertEqual(way([]), [])

    def test_two_sources(self) -> None:
        """Brokers should have the sum of what producers wrote to them, and mirrors."""
        own = Tier("producer", cluster=1)
        self.assertEqual(way([own, MIRROR, TARGET])[-1], Step(TARGET, (own, MIRROR)))


class JudgeTests(SynchronousTestCase):
    """Windows, and what is wrong in them."""

    def judge(self, *counts: int, sent_ms: int = 0, now_ms: int = NOW_MS) -> WayWindow:
        """Return the one window that producers, brokers and a reader have counted."""
        tiers = [PRODUCER, BROKER, Tier("consumer", "g")]
        found = {tier: {5000: Tally(count, sent_ms)} for tier, count in zip(tiers, counts, strict=True)}
        (window,) = judge("t", way(tiers), found, 1000, now_ms, 100)
        return window

    def test_equal(self) -> None:
        """Equal numbers are no fault."""
        window = self.judge(5, 5, 5)
        self.assertEqual((window.faults, window.wrong, window.end_ms), ((), False, 6000))

    def test_where(self) -> None:
        """A record that is lost is missing in the first tier that lacks it, not in those behind it."""
        window = self.judge(5, 4, 4)
        self.assertEqual(window.faults, (Fault(BROKER, 5, 4),))
        self.assertEqual((window.faults[0].missing, window.faults[0].more, window.wrong), (1, 0, True))

    def test_more(self) -> None:
        """Records without an announcement are no fault of brokers; a reader that has more has read twice."""
        window = self.judge(4, 5, 5)
        self.assertEqual((window.faults[0].more, window.wrong), (1, False))
        self.assertTrue(self.judge(5, 5, 6).wrong)

    def test_open(self) -> None:
        """A window is not judged until all announcements have had time to arrive."""
        self.assertTrue(self.judge(5, 4, 4, now_ms=7099).open)
        self.assertFalse(self.judge(5, 4, 4, now_ms=7100).open)
        late = self.judge(5, 4, 4, sent_ms=9000, now_ms=9099)
        self.assertEqual((late.open, late.wrong), (True, False))

    def test_no_announcement(self) -> None:
        """A tier that has announced other windows only has none of the records."""
        counts = {PRODUCER: {0: Tally(1), 1000: Tally(2)}, BROKER: {0: Tally(1)}}
        windows = list(judge("t", way(counts), counts, 1000, NOW_MS))
        self.assertEqual([window.faults for window in windows], [(), (Fault(BROKER, 2, 0),)])
