"""Rows of a dump: what each kind is called, and the fields of a batch."""

from __future__ import annotations

import os

from kafkatx.log.inspect import rows
from kafkatx.log.inspect.batch_scan import BatchScan, ScannedBatch
from kafkatx.log.inspect.rows import KINDS, batch_row
from tests.log.inspect.shared import FIRST, LogCase


class RowTests(LogCase):
    def test_kinds(self) -> None:
        """Each kind of row has a name of its own."""
        found = {one for name, one in vars(rows).items() if name.endswith("Row") and isinstance(one, type)}
        self.assertEqual((set(KINDS), len(set(KINDS.values()))), (found, len(found)))

    def test_file_first(self) -> None:
        """The file comes first in every row."""
        for kind in KINDS:
            self.assertEqual(next(iter(kind.__annotations__)), "file")

    def test_batch(self) -> None:
        """A batch has its offsets, count, producer and epoch; the checksum is told, not checked."""
        self.fill()
        path = self.file(FIRST)
        scan = BatchScan(self.files, self.files.open(path, os.O_RDONLY), 0, os.path.getsize(path))
        last = [item for item in scan if isinstance(item, ScannedBatch)][-1]
        row = batch_row(path, last.batch, last.head, False)
        self.assertEqual((row.base_offset, row.last_offset, row.count), (6, 7, 2))
        self.assertEqual((row.producer_id, row.base_sequence, row.leader_epoch), (1, 6, 1))
        self.assertEqual((row.codec, row.timestamp_type, row.transactional), ("none", "CreateTime", False))
        self.assertFalse(row.crc_ok)
