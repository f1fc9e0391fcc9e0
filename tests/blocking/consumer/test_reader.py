"""Tests of kafkatx.blocking.consumer.reader."""

from __future__ import annotations

from typing import Any

from twisted.trial.unittest import SynchronousTestCase

from kafkatx.blocking.consumer.reader import Reader
from kafkatx.errors import CorruptRecords
from kafkatx.records.batch import CONTROL, Record
from kafkatx.records.builder import BatchBuilder, assemble, build_values
from kafkatx.records.compression import Codec
from tests.blocking.fakes import FakeCluster, Log


class ReaderTests(SynchronousTestCase):
    def setUp(self) -> None:
        """An empty partition."""
        self.log = Log()
        self.fake = FakeCluster({"t": [self.log]})

    def reader(self, start: int, end: int | None, **options: Any) -> Reader:
        """A reader of the partition."""
        return Reader(self.fake.client(), "t", 0, start_offset=start, end_offset=end, **options)

    def fill(self, batches: int, records: int) -> None:
        """Append batches of so many records each."""
        for number in range(batches):
            self.log.append(build_values([b"%d-%d" % (number, i) for i in range(records)], 5))

    def test_records(self) -> None:
        """Iteration gives every field of every record."""
        builder = BatchBuilder(Codec.GZIP)
        builder.append(b"k", b"v", 11, [("h", b"x"), ("n", None)])
        builder.append(None, None, 12)
        self.log.append(builder.build())
        self.assertEqual(
            list(self.reader(0, 2)),
            [Record(0, 11, b"k", b"v", [("h", b"x"), ("n", None)]), Record(1, 12, None, None, [])],
        )

    def test_only_the_range(self) -> None:
        """Records of a border batch that are outside of the range are dropped."""
        self.fill(3, 4)
        for start in range(12):
            for end in range(start, 13):
                offsets = [record.offset for record in self.reader(start, end)]
                self.assertEqual(offsets, list(range(start, end)))

    def test_chunks_are_what_is_stored(self) -> None:
        """chunks() gives the log's own bytes."""
        self.fill(3, 4)
        self.assertEqual(b"".join(self.reader(0, 12).chunks()), b"".join(self.log.batches))

    def test_columns_are_bounded(self) -> None:
        """A yield ends with the batch that fills it, by rows or by bytes; every row comes once."""
        self.fill(5, 4)
        for limits, sizes in (((8, 1 << 20), [8, 8, 4]), ((100, 13), [8, 8, 4]), ((100, 1 << 20), [20])):
            parts = list(self.reader(0, 20).read_columns(*limits))
            self.assertEqual([len(part.offsets) for part in parts], sizes)
            self.assertEqual([offset for part in parts for offset in part.offsets], list(range(20)))
            self.assertEqual({len(column) for part in parts for column in part}, set(sizes))

    def test_without_headers(self) -> None:
        """Headers that are not wanted are left out; all else is the same, also at the borders."""
        self.fill(2, 4)
        (columns,) = self.reader(1, 7).read_columns(with_headers=False)
        self.assertEqual(columns.offsets, [1, 2, 3, 4, 5, 6])
        self.assertEqual(columns.headers, [])

    def test_crc(self) -> None:
        """A flipped bit is an error, unless the caller does not want to know."""
        self.fill(1, 2)
        self.log.batches[0] = self.log.batches[0].replace(b"0-1", b"0-X")
        self.assertRaises(CorruptRecords, list, self.reader(0, 2))
        self.assertEqual([r.value for r in self.reader(0, 2, check_crcs=False)], [b"0-0", b"0-X"])

    def test_control_batches(self) -> None:
        """The end marker of a transaction is passed over, and the end behind it reached."""
        self.fill(1, 2)
        marker = BatchBuilder()
        marker.append(b"\0\0\0\1", b"\0\0\0\0\0\0", 5)
        data = marker.build()
        self.log.append(assemble(data[61:], 1, CONTROL, 5, 5))
        self.assertEqual([record.offset for record in self.reader(0, 3)], [0, 1])

    def test_close(self) -> None:
        """Leaving the context closes the connection of an iteration that was not finished."""
        self.fill(3, 4)
        self.fake.fetch_bytes = len(self.log.batches[0])
        with self.reader(0, 12) as reader:
            next(iter(reader))
        self.assertTrue(all(channel.closed for channel in self.fake.channels[1:]))
