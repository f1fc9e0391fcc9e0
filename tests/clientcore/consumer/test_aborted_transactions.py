"""Tests of kafkatx.clientcore.consumer.aborted_transactions."""

from __future__ import annotations

from twisted.trial.unittest import SynchronousTestCase

from kafkatx.clientcore.consumer.aborted_transactions import AbortedTransactions, committed_batches
from kafkatx.records.batch import CONTROL, TRANSACTIONAL, BatchHeader, parse_header
from kafkatx.records.builder import BatchBuilder, assemble
from kafkatx.records.conversion import down_convert
from kafkatx.wire.messages.fetch import AbortedTransaction

ABORT, COMMIT = b"\0\0\0\0", b"\0\0\0\1"


def batch(offset: int, producer_id: int, *values: bytes, transactional: bool = True) -> bytes:
    """Return a batch of a producer, in a transaction or not."""
    builder = BatchBuilder()
    for value in values:
        builder.append(None, value, 5)
    attributes = TRANSACTIONAL if transactional else 0
    return assemble(builder.build()[61:], len(values), attributes, 5, 5, producer_id, 0, 0, offset)


def marker(offset: int, producer_id: int, key: bytes) -> bytes:
    """Return the end marker of a transaction."""
    builder = BatchBuilder()
    builder.append(key, b"\0\0\0\0\0\0", 5)
    return assemble(builder.build()[61:], 1, CONTROL | TRANSACTIONAL, 5, 5, producer_id, 0, -1, offset)


def header(data: bytes) -> BatchHeader:
    """Return the header of a batch."""
    return parse_header(data)


class AbortedTests(SynchronousTestCase):
    def test_from_first_offset_to_marker(self) -> None:
        """Batches of an aborted transaction are skipped up to its marker, those before and after are not."""
        aborted = AbortedTransactions([AbortedTransaction(7, 4)])
        self.assertFalse(aborted.is_aborted(header(batch(2, 7, b"a"))))
        self.assertTrue(aborted.is_aborted(header(batch(4, 7, b"b"))))
        self.assertTrue(aborted.is_aborted(header(batch(6, 7, b"c"))))
        end = marker(8, 7, ABORT)
        aborted.end_transaction(header(end), memoryview(end))
        self.assertFalse(aborted.is_aborted(header(batch(9, 7, b"d"))))

    def test_others_are_kept(self) -> None:
        """Batches of other producers, and those outside of transactions, are not skipped."""
        aborted = AbortedTransactions([AbortedTransaction(7, 0)])
        self.assertFalse(aborted.is_aborted(header(batch(1, 8, b"a"))))
        self.assertFalse(aborted.is_aborted(header(batch(2, 7, b"b", transactional=False))))

    def test_two_transactions_of_one_producer(self) -> None:
        """A second transaction begins at its own first offset, in any order of the broker's list."""
        aborted = AbortedTransactions([AbortedTransaction(7, 20), AbortedTransaction(7, 0)])
        self.assertTrue(aborted.is_aborted(header(batch(0, 7, b"a"))))
        end = marker(1, 7, ABORT)
        aborted.end_transaction(header(end), memoryview(end))
        self.assertFalse(aborted.is_aborted(header(batch(10, 7, b"b"))))
        self.assertTrue(aborted.is_aborted(header(batch(20, 7, b"c"))))

    def test_commit_marker(self) -> None:
        """A COMMIT marker does not end the aborted range of a producer."""
        aborted = AbortedTransactions([AbortedTransaction(7, 0)])
        self.assertTrue(aborted.is_aborted(header(batch(0, 7, b"a"))))
        end = marker(1, 7, COMMIT)
        aborted.end_transaction(header(end), memoryview(end))
        self.assertTrue(aborted.is_aborted(header(batch(2, 7, b"b"))))

    def test_marker_alone(self) -> None:
        """A transaction of which compaction has left only the marker ends there, too."""
        aborted = AbortedTransactions([AbortedTransaction(7, 2)])
        end = marker(3, 7, ABORT)
        aborted.end_transaction(header(end), memoryview(end))
        self.assertFalse(aborted.is_aborted(header(batch(4, 7, b"a"))))


class CommittedTests(SynchronousTestCase):
    def test_whole_response(self) -> None:
        """Batches of aborted transactions are left out; others and markers stay, byte for byte."""
        kept = [
            batch(0, 8, b"a"),
            batch(1, 7, b"b"),
            batch(3, 8, b"d", transactional=False),
            marker(4, 7, ABORT),
            batch(5, 7, b"e"),
        ]
        records = b"".join([*kept[:2], batch(2, 7, b"c"), *kept[2:]])
        found = committed_batches(memoryview(records), [AbortedTransaction(7, 2)])
        self.assertEqual(bytes(found), b"".join(kept))

    def test_old_formats(self) -> None:
        """Message sets of old formats have no transactions, and stay."""
        old = down_convert(memoryview(batch(0, 7, b"a")), 1, start_offset=0, max_bytes=1 << 20)
        found = committed_batches(memoryview(bytes(old)), [AbortedTransaction(7, 0)])
        self.assertEqual(bytes(found), bytes(old))
