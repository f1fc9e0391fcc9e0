"""Tests of kafkatx.log.partition.readable_log; the contract of logs has most of it."""

from __future__ import annotations

import os
import uuid
from typing import Any

from twisted.trial.unittest import SynchronousTestCase

from kafkatx.config.log_config import LogConfig
from kafkatx.errors import ErrorCode, RequestError
from kafkatx.testing.contracts.partition_log import ALL, TP, StoreCase, batch
from kafkatx.types import FileSlice
from tests.log.fakes import file_store


class ReadableLogTests(StoreCase, SynchronousTestCase):
    def make_store(self) -> Any:
        """Return a store in a dir of its own."""
        self.path = os.path.abspath(self.mktemp())
        return file_store(self.clock, self.path)

    def setUp(self) -> None:
        """Make a log of three batches in two epochs."""
        super().setUp()
        self.store = self.opened()
        self.log = self.result(self.store.create(TP, uuid.uuid4(), LogConfig()))
        for number, epoch in enumerate((2, 2, 4)):
            self.put(self.log, batch([b"%d" % number * 500]), leader_epoch=epoch)

    def test_facts(self) -> None:
        """The log says where it is, how large it is, and what is on the disk of it."""
        log = self.log
        self.assertEqual(log.directory, os.path.join(self.path, str(TP)))
        self.assertEqual(log.size_bytes, os.path.getsize(log.segments[0].path(".log")))
        self.assertEqual((log.flushed_offset, log.first_dirty_offset, log.cuts), (0, 0, 0))
        self.result(log.flush())
        log.truncate_to(1)
        log.restart_at(9)
        self.assertEqual((log.flushed_offset, log.cuts, log.latest_epoch), (9, 2, -1))

    def test_range(self) -> None:
        """A read beyond the end is refused with both offsets; one at the end is empty."""
        self.assertEqual(self.log.read(3, ALL, ALL, True), b"")
        self.assertEqual(self.log.read(2, ALL, 2, True), b"")
        error = self.assertRaises(RequestError, self.log.read, 4, ALL, ALL, True)
        self.assertEqual(error.code, ErrorCode.OFFSET_OUT_OF_RANGE)

    def test_epochs(self) -> None:
        """Epochs are those of the batches, and the ones that were noted."""
        self.assertEqual((self.log.latest_epoch, self.log.epoch_at(1), self.log.epoch_at(3)), (4, 2, 4))
        self.log.begin_epoch(6)
        self.assertEqual((self.log.latest_epoch, self.log.end_offset_for_epoch(5)), (6, (4, 3)))

    def test_slice_ends_early(self) -> None:
        """A slice of bytes that were cut is never completed by others, however much is appended later."""
        found = self.log.read(0, ALL, ALL, True)
        self.assertIsInstance(found, FileSlice)
        self.log.truncate_to(1)
        for number in range(5):
            self.put(self.log, batch([b"new %d" % number * 100]), leader_epoch=9)
        self.assertRaises(OSError, found.tobytes)
        self.assertEqual(os.fstat(found.file.fileno()).st_size, self.log.segments[0].size)
