"""Tests of kafkatx.log.partition.reader: which bytes of which segment a read gives."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import TypeVar

from twisted.internet.defer import CancelledError, Deferred, execute
from twisted.logger import capturedLogs
from twisted.trial.unittest import SynchronousTestCase

from kafkatx.errors import CorruptRecords, ErrorCode
from kafkatx.log.files import Files
from kafkatx.log.partition.location import LogLocation
from kafkatx.log.partition.reader import LogReader, out_of_range
from kafkatx.records.conversion import iter_any
from kafkatx.testing.contracts.partition_log import ALL, NOW_MS, TP
from kafkatx.types import FileSlice, Records
from tests.log.segments import make_segment, stored

T = TypeVar("T")
END = 8
BATCHES = [stored([b"%d" % first, b"x" * 50], first, [NOW_MS + first, NOW_MS]) for first in range(0, END, 2)]
ONE = len(BATCHES[0])


class ColdFiles(Files):
    """The real file system, of which nothing is in the page cache at first."""

    def __init__(self) -> None:
        self.cold = True

    def is_cached(self, file: object, position: int, size: int) -> bool:
        """Return True if something was loaded."""
        return not self.cold

    def load(self, file: object, position: int, size: int, ahead: int = 0) -> None:
        """Record that it was loaded."""
        self.cold = False


class ReaderCase(SynchronousTestCase):
    def setUp(self) -> None:
        """Make a log of two segments with two batches of two records each."""
        self.directory = os.path.abspath(self.mktemp())
        self.files = ColdFiles()
        self.segments = [
            make_segment(self.directory, *BATCHES[:2], files=self.files),
            make_segment(self.directory, *BATCHES[2:], base_offset=4, files=self.files),
        ]
        for segment in self.segments:
            segment.sparse_below = 0
            segment.written_from = segment.size
        location = LogLocation(TP, self.directory, self.files, execute)
        self.reader = LogReader(TP, location, self.segments, execute)

    def read(self, offset: int, max_bytes: int = ALL, end: int = END, at_least_one: bool = False) -> bytes:
        """Return the bytes of a read."""
        return self.content(self.reader.read(offset, max_bytes, end, at_least_one, END))

    def content(self, records: Records) -> bytes:
        """Return the bytes of a slice of a file."""
        if not isinstance(records, FileSlice):
            return bytes(records)
        return os.pread(records.file.fileno(), records.size, records.position)

    def damage(self, number: int) -> None:
        """Change a byte in the header of the second batch of a segment."""
        with open(self.segments[number].path(".log"), "r+b") as file:
            file.seek(ONE + 16)
            file.write(b"\x09")


class ReadTests(ReaderCase):
    def test_from_the_batch(self) -> None:
        """A read begins with the batch that holds the offset, and ends with its segment."""
        for offset in range(4):
            self.assertEqual(self.read(offset), b"".join(BATCHES[offset // 2 : 2]), offset)
        self.assertEqual(self.read(5), b"".join(BATCHES[2:]))

    def test_end_offset(self) -> None:
        """No batch with an offset at or above the end is read."""
        self.assertEqual(self.read(0, end=2), BATCHES[0])
        self.assertEqual(self.read(4, end=6), BATCHES[2])

    def test_max_bytes(self) -> None:
        """Only whole batches are read, and the first one however large if it is asked for."""
        self.assertEqual(self.read(0, 2 * ONE - 1), BATCHES[0])
        self.assertEqual(self.read(0, ONE - 1), b"")
        self.assertEqual(self.read(0, ONE - 1, at_least_one=True), BATCHES[0])

    def test_end_is_not_in_memory(self) -> None:
        """A read is cut off at its limit if the end of the last batch is not in memory."""
        self.patch(type(self.segments[0]), "whole_until", lambda segment, position, limit: None)
        self.assertEqual(self.read(0, ONE + 5), b"".join(BATCHES[:2])[: ONE + 5])

    def test_remembered(self) -> None:
        """The next position of a reader at the end is remembered."""
        self.read(6)
        self.assertEqual(self.segments[1].known[END], self.segments[1].size)

    def test_damaged(self) -> None:
        """Damage is an error, and logged once."""
        self.damage(0)
        with capturedLogs() as events:
            for _ in range(3):
                self.assertRaises(CorruptRecords, self.read, 2)
        (event,) = events
        self.assertIn("CORRUPT_MESSAGE", event["log_format"])

    def test_out_of_range(self) -> None:
        """The error names the partition and its range."""
        error = out_of_range(TP, 9, 2, 8)
        self.assertEqual(error.code, ErrorCode.OFFSET_OUT_OF_RANGE)
        self.assertEqual(str(error), f"offset 9 of {TP}, which has 2 to 8")

    def test_readable_bytes(self) -> None:
        """Bytes are counted over segments, exactly between known positions."""
        self.assertEqual(self.reader.readable_bytes(0, END, END), 4 * ONE)
        self.assertEqual(self.reader.readable_bytes(4, END, END), 2 * ONE)
        self.read(2)
        self.assertEqual(self.reader.readable_bytes(2, 4, END), ONE)
        self.assertEqual(self.reader.readable_bytes(7, END, END), ONE)


class WarmTests(ReaderCase):
    def test_cold(self) -> None:
        """Bytes that are not in the page cache are loaded in the worker, once."""
        waiting = self.reader.warm(0, ALL)
        assert waiting is not None
        self.successResultOf(waiting)
        self.assertFalse(self.files.cold)
        self.assertIsNone(self.reader.warm(0, ALL))

    def test_damage_is_left_to_the_read(self) -> None:
        """A load does not fail for damage, which the read reports."""
        self.damage(0)
        waiting = self.reader.warm(2, ALL)
        assert waiting is not None
        self.successResultOf(waiting)


class TimeTests(ReaderCase):
    def test_first_at_or_after(self) -> None:
        """A search by time finds the first record by offset that is not older, from the log start on."""
        for time, start, expected in ((0, 0, 0), (1, 0, 2), (4, 0, 4), (0, 3, 3), (7, 0, None)):
            waiting = self.reader.first_at_or_after(NOW_MS + time, start, END, ALL)
            record = self.successResultOf(waiting)
            self.assertEqual(None if record is None else record.offset, expected, (time, start))

    def test_newest(self) -> None:
        """A search for the newest finds the record with the largest timestamp."""
        record = self.successResultOf(self.reader.newest(0, END, ALL))
        assert record is not None
        self.assertEqual((record.offset, record.timestamp), (6, NOW_MS + 6))
        self.assertIsNone(self.successResultOf(self.reader.newest(END, END, ALL)))

    def test_cancelled(self) -> None:
        """A search whose caller is gone does not begin."""
        work: list[Callable[[], object]] = []

        def worker(function: Callable[[], T]) -> Deferred[T]:
            work.append(function)
            return Deferred()

        self.reader.worker = worker
        waiting = self.reader.newest(0, END, ALL)
        waiting.addErrback(lambda failure: None)
        waiting.cancel()
        self.assertRaises(CancelledError, work[0])

    def test_same_as_the_records(self) -> None:
        """Searches agree with what the batches hold."""
        records = [record for data in BATCHES for record in iter_any(memoryview(data))]
        newest = max(records, key=lambda record: record.timestamp)
        found = self.successResultOf(self.reader.newest(0, END, ALL))
        assert found is not None
        self.assertEqual((found.offset, found.timestamp), (newest.offset, newest.timestamp))
