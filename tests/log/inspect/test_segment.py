"""The check of one segment: what is counted before and after its first fault."""

from __future__ import annotations

import os

from kafkatx.log.inspect.batch_check import BatchCheck
from kafkatx.log.inspect.faults import Amount, Fault, Remedy, Tally
from kafkatx.log.inspect.segment import SegmentCheck
from tests.log.inspect.shared import FIRST, LogCase


class SegmentTests(LogCase):
    def setUp(self) -> None:
        """Make a log whose first segment has four batches of two records."""
        super().setUp()
        self.fill()
        self.tally = Tally()
        self.size = os.path.getsize(self.file(FIRST))

    def check(self, growing: bool = False) -> tuple[SegmentCheck, list[Fault]]:
        """Check the segment."""
        seen: list[float] = []
        check = SegmentCheck(
            self.files,
            self.directory,
            0,
            BatchCheck(None, -1, 0),
            self.tally,
            growing=growing,
            closed=not growing,
            deep=True,
            advance=seen.append,
        )
        faults = list(check.faults())
        self.advanced = sum(seen)
        return check, faults

    def test_sound(self) -> None:
        """A sound segment has no faults; all of it is counted and reported."""
        _, faults = self.check()
        self.assertEqual((faults, self.advanced), ([], self.size))
        self.assertEqual((self.tally.sound, self.tally.cut), (Amount(4, 8, self.size), None))

    def test_damage(self) -> None:
        """After damage to the second batch one is sound, and two whole ones would be lost."""
        self.spoil(FIRST, self.size // 4 + 70)
        _, faults = self.check()
        self.assertEqual([fault.remedy for fault in faults], [Remedy.CUT])
        self.assertEqual((self.tally.sound.batches, self.tally.lost.batches), (1, 2))
        assert self.tally.cut is not None
        self.assertEqual(self.tally.cut.end_offset, 2)
        self.assertEqual(self.tally.cut.position, self.tally.sound.bytes)

    def test_growing(self) -> None:
        """A batch that is being written is no fault; in a segment that is not written to it is."""
        self.write(FIRST, self.read(FIRST)[:-5])
        check, faults = self.check(growing=True)
        self.assertTrue(check.being_written)
        self.assertEqual([fault for fault in faults if fault.remedy is Remedy.CUT], [])
        check, faults = self.check()
        self.assertFalse(check.being_written)
        self.assertEqual([fault.remedy for fault in faults][:1], [Remedy.CUT])
