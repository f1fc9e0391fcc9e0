"""The check of one partition: segments together, and the small files beside them."""

from __future__ import annotations

import os

from kafkatx.log.inspect.faults import Remedy
from kafkatx.log.inspect.partition import ALWAYS_SPARSE, PartitionCheck, snapshot_problem
from tests.log.inspect.shared import LogCase


class PartitionTests(LogCase):
    def setUp(self) -> None:
        """Make a partition with 20 records in three segments."""
        super().setUp()
        self.fill()

    def check(self, sparse_below: int = -1) -> tuple[PartitionCheck, list[Remedy]]:
        """Check the partition; return also the remedies of its faults."""
        check = PartitionCheck(self.files, self.directory, clean=True, sparse_below=sparse_below)
        return check, [fault.remedy for fault in check.faults()]

    def test_sound(self) -> None:
        """A sound partition has no faults and ends after its last record."""
        check, remedies = self.check()
        self.assertEqual((remedies, check.end_offset, check.tally.segments), ([], 20, 3))
        self.assertEqual(check.size(), check.tally.sound.bytes)

    def test_missing_segment(self) -> None:
        """A missing segment is a gap, which only compaction could leave, and its indexes are orphans."""
        os.remove(self.file("00000000000000000008.log"))
        _, remedies = self.check()
        self.assertEqual(set(remedies), {Remedy.CUT, Remedy.REMOVE})
        _, remedies = self.check(ALWAYS_SPARSE)
        self.assertEqual(set(remedies), {Remedy.REMOVE})

    def test_epochs(self) -> None:
        """A leader epoch checkpoint that cannot be read is written anew."""
        self.write("leader-epoch-checkpoint", b"0\n1\nnonsense\n")
        check, remedies = self.check()
        self.assertIn(Remedy.EPOCHS, remedies)
        self.assertEqual(check.end_offset, 20)

    def test_one_segment(self) -> None:
        """A segment can be checked alone."""
        check = PartitionCheck(self.files, self.directory, clean=True)
        self.assertEqual(list(check.segment_faults(8)), [])
        self.assertEqual(check.tally.segments, 1)


class SnapshotTests(LogCase):
    def test_sound(self) -> None:
        """A snapshot that the log wrote has no problem at its own offset."""
        self.fill()
        (name,) = [name for name in os.listdir(self.directory) if name.endswith("20.snapshot")]
        data = self.read(name)
        self.assertEqual(snapshot_problem(data, 20), "")
        self.assertIn("after the snapshot", snapshot_problem(data, 10))
        self.assertIn("cannot be read", snapshot_problem(data[:-1], 20))
