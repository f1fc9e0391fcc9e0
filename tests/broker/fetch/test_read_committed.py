"""Fetches of committed records: they end at the last stable offset and name the aborted transactions."""

from __future__ import annotations

from typing import Any

from twisted.internet.defer import Deferred

from kafkatx.broker.fetch import fetch_round
from kafkatx.broker.replica.partition import Partition
from kafkatx.clientcore.consumer.aborted_transactions import AbortedTransactions
from kafkatx.records.batch import iter_records, parse_header
from kafkatx.records.conversion import batches
from kafkatx.testing.contracts.log.transactions import ABORT, COMMIT, in_transaction
from kafkatx.wire.messages.fetch import PartitionData
from tests.broker.fetch.case import FetchTestCase, asking, raw
from tests.broker.running import NOW_MS, values


class CommittedTestCase(FetchTestCase):
    """A partition into which transactions are written as a coordinator would."""

    def setUp(self) -> None:
        """Find the partition."""
        super().setUp()
        found = self.broker.topics.find("t", 0)
        assert found is not None
        self.partition: Partition = found
        self.sequences: dict[int, int] = {}

    def written(self) -> None:
        """Write what is staged, and wake those that wait for it."""
        self.partition.log.write()
        self.partition.advance()
        self.partition.wake_written()

    def begin(self, producer_id: int, count: int = 1) -> None:
        """Write a batch of a transaction."""
        sequence = self.sequences.get(producer_id, 0)
        self.sequences[producer_id] = sequence + count
        sent = in_transaction(count, producer_id, sequence)
        self.assertEqual(self.partition.log.append(sent, 0, NOW_MS, True, None, True).error, 0)
        self.written()

    def end(self, producer_id: int, marker: Any) -> None:
        """Write a marker."""
        self.assertEqual(self.partition.log.append_marker(producer_id, 0, marker, 0, NOW_MS).error, 0)
        self.written()

    def committed(self, offset: int = 0, **fields: Any) -> PartitionData:
        """Return the answer to a read_committed fetch."""
        (part,) = self.parts(asking(offset), isolation_level=1, **fields)
        return part

    def listed(self, part: PartitionData) -> list[tuple[int, int]]:
        """Return the aborted transactions that an answer lists."""
        return [(one.producer_id, one.first_offset) for one in part.aborted_transactions or ()]

    def consumed(self) -> list[bytes | None]:
        """Return the values that a consumer gets, in small answers."""
        at = 0
        found: list[bytes | None] = []
        while True:
            part = self.committed(at, max_bytes=150)
            data, known = bytes(raw(part)), AbortedTransactions(part.aborted_transactions or ())
            if not data:
                return found
            for one in batches(data):
                part_of = memoryview(data)[one.position : one.position + one.size]
                header = parse_header(part_of)
                if header.control:
                    known.end_transaction(header, part_of)
                elif not known.is_aborted(header):
                    found += [record.value for record in iter_records(part_of)]
                at = one.last_offset + 1


class ReadTests(CommittedTestCase):
    def test_end(self) -> None:
        """The records end before the first open transaction; without isolation all are returned."""
        self.fill(b"a")
        self.begin(1)
        self.fill(b"b")
        part = self.committed()
        self.assertEqual((part.high_watermark, part.last_stable_offset), (3, 1))
        self.assertEqual((values(part.records), part.aborted_transactions), ([b"a"], []))
        (part,) = self.parts()
        self.assertEqual((part.last_stable_offset, part.aborted_transactions), (1, None))
        self.assertEqual(values(part.records), [b"a", b"1", b"b"])
        part = self.committed(2)
        self.assertEqual((part.error_code, bytes(raw(part))), (0, b""))

    def test_aborted(self) -> None:
        """Aborted transactions are listed by first offset, with the records of which they are."""
        for producer_id in (2, 1, 3):
            self.begin(producer_id)
        self.fill(b"a")
        self.end(1, ABORT)
        self.end(3, COMMIT)
        self.end(2, ABORT)
        for version in range(4, 13):
            self.assertEqual(self.listed(self.committed(version=version)), [(2, 0), (1, 1)])
        self.assertEqual(self.listed(self.committed(5)), [(2, 0)])
        self.assertEqual(self.listed(self.committed(7)), [])
        self.assertEqual(self.consumed(), [b"3", b"a"])

    def test_old_clients(self) -> None:
        """Clients from before transactions get all records, and no markers."""
        self.begin(1)
        self.end(1, ABORT)
        self.fill(b"a")
        for version in range(4):
            (part,) = self.parts(version=version)
            self.assertEqual(values(part.records), [b"1", b"a"])

    def test_many(self) -> None:
        """An answer lists a bounded number of transactions, and ends before the others."""
        self.patch(fetch_round, "MOST_ABORTED", 3)
        for number in range(10):
            self.begin(1)
            self.end(1, COMMIT if number == 8 else ABORT)
        part = self.committed()
        self.assertEqual(len(self.listed(part)), 3)
        self.assertEqual(list(batches(raw(part)))[-1].last_offset, 5)
        self.assertEqual(self.consumed(), [b"1"])

    def test_listed_ones_count(self) -> None:
        """The list counts in the size of the answer, so that others get fewer records."""
        for _ in range(200):
            self.begin(1)
            self.end(1, ABORT)
        self.fill(b"b" * 1000, partition=1)
        limit = self.partition.log.size_bytes + 2000
        first, second = self.parts(asking(0, 0), isolation_level=1, max_bytes=limit)
        self.assertEqual(len(self.listed(first)), 200)
        self.assertEqual(values(second.records), [])

    def test_quota(self) -> None:
        """Markers and aborted records count for a consumer's quota: they are sent as well."""
        self.begin(1, 100)
        self.end(1, ABORT)
        charged: list[int] = []

        class Rates:
            """A quota that allows everything."""

            def largest(self, principal: str, client_id: str | None) -> float:
                """Allow any reply."""
                return 1e9

            def charge_reply(self, principal: str, client_id: str | None, size: int) -> tuple[int, bool]:
                """Note the size."""
                charged.append(size)
                return 0, True

        self.patch(self.broker.quotas, "consumer", Rates())
        part = self.committed()
        self.assertGreater(charged[0], len(raw(part)))

    def test_nothing_left(self) -> None:
        """The whole range is read where compaction has left no record of a shorter one."""
        self.patch(fetch_round, "MOST_ABORTED", 1)
        for producer_id in (1, 2, 3):
            self.begin(producer_id)
        for producer_id in (1, 2, 3):
            self.end(producer_id, ABORT)
        log, read = self.partition.log, self.partition.log.read

        def compacted(offset: int, max_bytes: int, end_offset: int, first: bool) -> Any:
            return b"" if end_offset < 3 else read(max(offset, 3), max_bytes, end_offset, first)

        self.patch(log, "read", compacted)
        self.assertEqual(len(self.listed(self.committed())), 3)

    def test_deleted(self) -> None:
        """Past a transaction whose first records were deleted readers wait at the log's start."""
        self.begin(1)
        self.begin(1)
        self.partition.log.advance_log_start(1)
        self.assertEqual(self.committed(1).last_stable_offset, 1)
        self.end(1, ABORT)
        part = self.committed(1)
        self.assertEqual((part.last_stable_offset, self.listed(part)), (3, [(1, 0)]))


class WaitTests(CommittedTestCase):
    def waiting(self, offset: int, min_bytes: int = 1) -> Deferred[Any]:
        """Send a read_committed fetch that waits."""
        return self.park(asking(offset), min_bytes, isolation_level=1)

    def test_marker_ends_it(self) -> None:
        """A fetch that waits for a transaction is answered when the marker is written, not before."""
        self.begin(1)
        waiting = self.waiting(0)
        self.begin(1)
        self.fill(b"b")
        self.assertNoResult(waiting)
        self.end(1, COMMIT)
        (part,) = self.came(waiting)
        self.assertEqual(part.last_stable_offset, 4)
        self.assertEqual(len(list(batches(raw(part)))), 4)

    def test_min_bytes(self) -> None:
        """Only bytes below the last stable offset count for min_bytes."""
        self.fill(b"a")
        self.begin(1, 100)
        waiting = self.waiting(0, 500)
        self.assertNoResult(waiting)
        self.end(1, COMMIT)
        self.assertEqual(len(values(self.came(waiting)[0].records)), 101)

    def test_marker_below_the_high_watermark(self) -> None:
        """A marker counts when the high watermark has passed it."""
        self.partition.replicated = True
        self.begin(1)
        self.partition.log.append_marker(1, 0, COMMIT, 0, NOW_MS)
        self.partition.log.write()
        for high_watermark, stable in ((1, 0), (2, 2)):
            self.partition.high_watermark = high_watermark
            self.assertEqual(self.partition.last_stable_offset, stable)
