"""Times of batches: from headers, from the disk a bounded number at a time, and not twice."""

from __future__ import annotations

from typing import Any
from unittest import mock

from twisted.internet.defer import Deferred, fail

from kafkatx.broker.metrics.collectors.batch_times import MOST_COLD, BatchTimes
from kafkatx.broker.replica.partition import Partition
from kafkatx.errors import CorruptRecords
from kafkatx.types import FileSlice, SharedFile
from tests.broker.running import NOW_MS, BrokerTestCase
from tests.broker.stored import in_memory


class BatchTimesTests(BrokerTestCase):
    def setUp(self) -> None:
        """Write two batches, of two records and of one."""
        super().setUp()
        (self.partition,) = self.make_topic()
        self.fill(b"a", b"b")
        self.fill(b"c", timestamp_ms=NOW_MS + 5)
        self.times = BatchTimes()

    def first_ms(self, offset: int, partition: Partition | None = None) -> int | None:
        """Load a time, and return it."""
        partition = partition or self.partition
        self.assertEqual(list(self.times.load(partition, offset)), [])
        return self.times.first_ms(partition, offset)

    def test_offsets(self) -> None:
        """The time is that of the batch which holds the offset; beyond the end there is none."""
        self.assertEqual([self.first_ms(offset) for offset in (0, 1, 2)], [NOW_MS, NOW_MS, NOW_MS + 5])
        self.assertIsNone(self.first_ms(3))
        self.assertIsNone(self.first_ms(99))

    def test_files(self) -> None:
        """Only the header is read of a log in files."""
        path = self.mktemp()
        records = self.partition.log.read(0, 1, 3, True)
        with open(path, "wb") as file:
            file.write(b"before" + in_memory(records))
        piece = FileSlice(SharedFile(path, 0), 6, 10_000)  # larger than the file: reading all would fail
        with mock.patch.object(self.partition.log, "read", lambda *_: piece):
            self.assertEqual(self.first_ms(0), NOW_MS)

    def test_damaged(self) -> None:
        """A damaged batch, and one of an old format, have no time."""

        def refuse(*_: object) -> Any:
            raise CorruptRecords("damaged")

        with mock.patch.object(self.partition.log, "read", refuse):
            self.assertIsNone(self.first_ms(0))
        for records in (b"", bytes(100), b"\xff" * 100):
            with mock.patch.object(self.partition.log, "read", lambda *_, found=records: found):
                self.assertIsNone(self.first_ms(1))

    def test_known(self) -> None:
        """The next scrape does not read again what is known, and forgets what nothing asks for."""
        self.first_ms(0)
        with mock.patch.object(self.partition.log, "read", side_effect=AssertionError):
            self.times.begin()
            self.assertEqual(self.first_ms(0), NOW_MS)
            self.times.begin()
            self.times.begin()
            self.assertIsNone(self.times.first_ms(self.partition, 0))

    def test_cold(self) -> None:
        """The log's worker loads cold headers, a bounded number in a scrape; a failure is no time."""
        loading: list[Deferred[None]] = []

        def warm(offset: int, size: int) -> Deferred[None]:
            loading.append(Deferred())
            return loading[-1]

        with mock.patch.object(self.partition.log, "warm", warm):
            steps = self.times.load(self.partition, 0)
            waiting = next(steps)
            self.assertIsNone(self.times.first_ms(self.partition, 0))
            loading[0].callback(None)
            self.successResultOf(waiting)
            self.assertEqual((list(steps), self.times.first_ms(self.partition, 0)), ([], NOW_MS))
            for offset in range(1, MOST_COLD + 50):
                list(self.times.load(self.partition, offset))
            self.assertEqual(len(loading), MOST_COLD)
        self.times.begin()
        with mock.patch.object(self.partition.log, "warm", lambda *_: fail(OSError("disk"))):
            for waited in self.times.load(self.partition, 2):
                self.successResultOf(waited)
