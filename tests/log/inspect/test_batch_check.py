"""The check of batches: offsets follow on, epochs do not decrease, counts fit."""

from __future__ import annotations

import os

from kafkatx.log.inspect.batch_check import BatchCheck
from kafkatx.log.inspect.batch_scan import BatchScan, ScannedBatch
from tests.log.inspect.shared import FIRST, LogCase

NEVER_SPARSE = -1


class BatchCheckTests(LogCase):
    def setUp(self) -> None:
        """Read the four batches of a segment: offsets 0 to 7, two of each; epochs 0, 0, 0, 1."""
        super().setUp()
        self.fill()
        path = self.file(FIRST)
        scan = BatchScan(self.files, self.files.open(path, os.O_RDONLY), 0, os.path.getsize(path))
        self.batches = [item for item in scan if isinstance(item, ScannedBatch)]
        self.assertEqual([one.batch.base_offset for one in self.batches], [0, 2, 4, 6])

    def take(self, check: BatchCheck, number: int) -> str:
        """Check a batch by its number; return the problem."""
        batch = self.batches[number]
        return check.take(batch, check.first_offset(batch))

    def test_in_order(self) -> None:
        """Batches that follow on have no problem, and two records each."""
        check = BatchCheck(None, NEVER_SPARSE, 0)
        for number, batch in enumerate(self.batches):
            self.assertEqual((check.count(batch), self.take(check, number)), (2, ""))
        self.assertEqual(check.next_offset, 8)

    def test_gap(self) -> None:
        """A gap is a problem that names the missing offsets, but not up to where compaction was."""
        check = BatchCheck(None, NEVER_SPARSE, 0)
        self.take(check, 0)
        self.assertIn("offsets 2 to 3 are missing before 4", self.take(check, 2))
        check = BatchCheck(None, 4, 0)
        self.take(check, 0)
        self.assertEqual(self.take(check, 2), "")

    def test_repeated(self) -> None:
        """An offset that comes twice is a problem, also where gaps are allowed."""
        check = BatchCheck(None, 100, 0)
        self.take(check, 1)
        self.assertIn("offset 2 comes where 4 was expected", self.take(check, 1))

    def test_after_damage(self) -> None:
        """After damage the next offset is not known, so any later one will do."""
        check = BatchCheck(None, NEVER_SPARSE, 0)
        check.lose_track()
        self.assertEqual(self.take(check, 2), "")
        self.assertIn("missing", self.take(BatchCheck(None, NEVER_SPARSE, 0), 2))

    def test_restart(self) -> None:
        """A segment that begins at a wrong offset is checked from there on."""
        check = BatchCheck(None, NEVER_SPARSE, 0)
        check.restart(4)
        self.assertEqual((self.take(check, 2), self.take(check, 3)), ("", ""))

    def test_epochs(self) -> None:
        """A leader epoch that is lower than the one before is a problem."""
        check = BatchCheck(None, NEVER_SPARSE, 0)
        self.assertEqual([check.epoch_problem(batch) for batch in self.batches], [""] * 4)
        self.assertIn("leader epoch 0 at offset 0 after 1", check.epoch_problem(self.batches[0]))
