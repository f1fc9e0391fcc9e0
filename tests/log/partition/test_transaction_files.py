"""Tests of kafkatx.log.partition.transaction_files: the files follow the log, whatever fails."""

from __future__ import annotations

import errno
import os
import shutil
import uuid
from typing import Any

from twisted.internet.defer import execute
from twisted.logger import capturedLogs
from twisted.trial.unittest import SynchronousTestCase

from kafkatx.config.log_config import LogConfig
from kafkatx.log.checkpoint import TRANSACTION_CHECKSUMS, decode_checksums
from kafkatx.log.partition.location import ignore
from kafkatx.log.transactions.aborted import decode_aborted
from kafkatx.records.checksum import crc32c
from kafkatx.testing.contracts.log.transactions import ABORT, COMMIT, in_transaction
from kafkatx.testing.contracts.partition_log import NOW_MS, TP, StoreCase, batch
from tests.log.fakes import FailingFiles, crash, file_store
from tests.log.transactions.oracle import aborted_of

SMALL = LogConfig(segment_bytes=600, file_delete_delay_ms=0)


class TransactionFilesTests(StoreCase, SynchronousTestCase):
    def setUp(self) -> None:
        """Make an empty log."""
        super().setUp()
        self.path = os.path.abspath(self.mktemp())
        self.files = FailingFiles()
        self.store = self.make_store()
        self.result(self.store.open(lambda topic: SMALL))
        self.addCleanup(crash, self.store)
        self.log: Any = self.result(self.store.create(TP, uuid.uuid4(), SMALL))
        self.sequence = 0

    def make_store(self) -> Any:
        """Return a store whose files can fail."""
        return file_store(self.clock, self.path, files=self.files)

    def transaction(self, aborted: bool = True) -> None:
        """Append a transaction of one record and its marker, in one write."""
        self.log.append(in_transaction(1, 7, self.sequence), 0, NOW_MS, True, None, True)
        self.log.append_marker(7, 0, ABORT if aborted else COMMIT, 0, NOW_MS)
        self.log.write()
        self.sequence += 1

    def in_files(self) -> dict[int, list[int]]:
        """Return base offset -> markers in the segment's index."""
        found = {}
        for name in sorted(os.listdir(self.log.directory)):
            if name.endswith(".txnindex"):
                with open(os.path.join(self.log.directory, name), "rb") as file:
                    found[int(name[:20])] = [one.last_offset for one in decode_aborted(file.read())]
        return found

    def expected(self) -> dict[int, list[int]]:
        """Return the same by what the log knows."""
        bases = [segment.base_offset for segment in self.log.segments]
        markers = [first + 1 for _, first in aborted_of(self.log)]
        found = {
            base: [one for one in markers if base <= one < end]
            for base, end in zip(bases, [*bases[1:], 10**9], strict=True)
        }
        return {base: markers for base, markers in found.items() if markers}

    def test_at_once(self) -> None:
        """An entry is in the file of the marker's segment as soon as the marker is written."""
        self.transaction(aborted=False)
        self.assertEqual(self.in_files(), {})
        for _ in range(10):
            self.transaction()
            self.assertEqual(self.in_files(), self.expected())
        self.assertGreater(len(self.in_files()), 2)

    def test_later_segment(self) -> None:
        """A reader of the first segment is told a transaction whose marker is in a later one."""
        self.log.append(in_transaction(1, 8, 0), 0, NOW_MS, True, None, True)
        for _ in range(10):
            self.log.append(batch([bytes(100)]), 0, NOW_MS, True)
            self.log.write()
        self.log.append_marker(8, 0, ABORT, 0, NOW_MS)
        self.log.write()
        self.assertGreater(len(self.log.segments), 2)
        self.assertEqual(list(self.in_files()), [self.log.segments[-1].base_offset])
        self.assertEqual(self.log.aborted_transactions(0, 1, 10), (1, [(8, 0)]))

    def test_synced(self) -> None:
        """A flush syncs the files, before the offset counts as flushed, and their names."""
        self.transaction()
        self.files.synced.clear()
        self.assertEqual(self.result(self.log.flush()), 2)
        self.assertIn("00000000000000000000.txnindex", self.files.synced)
        self.files.synced.clear()
        self.put(self.log, batch([b"a"]))
        self.result(self.log.flush())
        self.assertNotIn("00000000000000000000.txnindex", self.files.synced)

    def test_sync_failed(self) -> None:
        """The next flush syncs the files that one could not sync, since no file could be opened."""
        self.transaction()
        patch = self.patch(self.files, "sync_any", fail)
        with capturedLogs():
            self.failureResultOf(self.log.flush(), OSError)
        patch.restore()
        self.files.synced.clear()
        self.assertEqual(self.result(self.log.flush()), 2)
        self.assertIn("00000000000000000000.txnindex", self.files.synced)

    def test_full_disk(self) -> None:
        """An entry that cannot be written fails no append; the next flush writes it, or fails."""
        self.transaction()
        self.log.append(in_transaction(1, 7, self.sequence), 0, NOW_MS, True, None, True)
        self.log.append_marker(7, 0, ABORT, 0, NOW_MS)
        self.files.bytes_left = self.log._appender.staged.size_bytes + 10
        with capturedLogs():
            self.log.write()
            self.assertEqual(self.log.log_end_offset, 4)
            self.failureResultOf(self.log.flush(), OSError)
        self.assertEqual(self.log.flushed_offset, 0)
        self.files.bytes_left = None
        self.assertEqual(self.result(self.log.flush()), 4)
        self.assertEqual(self.in_files(), {0: [1, 3]})

    def test_cut(self) -> None:
        """The files are cut with the log, and go with their segments."""
        for _ in range(10):
            self.transaction()
        for offset in (19, 13, 12, 3, 2):
            self.log.truncate_to(offset)
            self.assertEqual({key: found for key, found in self.in_files().items() if found}, self.expected())
        self.sequence = 1
        self.transaction()
        self.assertEqual(aborted_of(self.log), [(7, 0), (7, 2)])
        for offset in (0, 100):  # the first is the base offset of a segment that goes
            self.log.restart_at(offset)
            self.clock.advance(1)
            self.assertEqual(self.in_files(), {})

    def test_deleted(self) -> None:
        """Segments that are deleted take their files and entries with them."""
        for _ in range(10):
            self.transaction()
        self.log.advance_log_start(11)
        self.clock.advance(1)
        self.assertEqual(self.in_files(), self.expected())
        self.assertGreaterEqual(min(first for _, first in aborted_of(self.log)), 6)

    def test_file_taken_away(self) -> None:
        """A file that someone has removed is written again as a whole."""
        self.transaction()
        os.unlink(os.path.join(self.log.directory, "00000000000000000000.txnindex"))
        self.transaction()
        self.assertEqual(self.in_files(), {0: [1, 3]})

    def test_moved(self) -> None:
        """The directory that a log moves to gets the entries that its files lack; a flush syncs them."""
        for _ in range(4):
            self.transaction()
        copy = os.path.abspath(self.mktemp())
        shutil.copytree(self.log.directory, copy)
        last = max(name for name in os.listdir(copy) if name.endswith(".txnindex"))
        os.truncate(os.path.join(copy, last), 0)
        self.log.move_to(copy, execute, ignore)
        self.assertEqual(self.in_files(), self.expected())
        self.files.synced.clear()
        self.result(self.log.flush())
        self.assertIn(last, self.files.synced)

    def test_checksums(self) -> None:
        """The checksums of all files are noted when a segment is closed, and with the log."""
        self.transaction()
        self.log.roll_if_due(NOW_MS + 10**13)
        path = os.path.join(self.log.directory, TRANSACTION_CHECKSUMS)
        for count in (1, 2):
            with open(path, "rb") as file:
                noted = decode_checksums(file.read())
            self.assertEqual(len(noted), count)
            for base, (entries, crc) in noted.items():
                with open(os.path.join(self.log.directory, f"{base:020d}.txnindex"), "rb") as file:
                    data = file.read()
                self.assertEqual((len(data), crc32c(data)), (34 * entries, crc))
            if count == 1:
                self.transaction()
                self.transaction()
                self.result(self.store.close())


def fail(path: str) -> None:
    """Fail as where there are too many open files."""
    raise OSError(errno.EMFILE, "too many open files", path)
