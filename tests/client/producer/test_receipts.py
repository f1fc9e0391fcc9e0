"""Tests of kafkatx.client.producer.receipts."""

from __future__ import annotations

from typing import Any

from twisted.internet.defer import CancelledError, Deferred, fail, succeed
from twisted.trial.unittest import SynchronousTestCase

from kafkatx.client.producer.receipts import (
    AnyReceipt,
    CallbackReceipt,
    FlushReceipt,
    ListReceipt,
    LostRecords,
    all_settled,
    deliver_batch,
    fail_batch,
    reject_records,
)
from kafkatx.clientcore.producer.batch import ProducerBatch
from kafkatx.clientcore.producer.values import BatchMetadata, RecordMetadata


def batch(*entries: tuple[AnyReceipt, int, int, int], records: int = 10) -> ProducerBatch:
    """Return a batch of partition 3 with these entries."""
    made = ProducerBatch("t", 3, records=records)
    for entry in entries:
        made.entries += entry
    return made


class DeliverTests(SynchronousTestCase):
    def test_offsets(self) -> None:
        """Each receipt gets the offset of its record, and the record's timestamp or the broker's."""
        first: Deferred[RecordMetadata] = Deferred()
        second: Deferred[RecordMetadata] = Deferred()
        deliver_batch(batch((first, 0, 1, 77)), 40, -1)
        deliver_batch(batch((second, 2, 1, 77)), 40, 99)
        self.assertEqual(self.successResultOf(first), RecordMetadata("t", 3, 40, 77))
        self.assertEqual(self.successResultOf(second), RecordMetadata("t", 3, 42, 99))

    def test_unknown_offset(self) -> None:
        """Offsets are unknown without a base offset."""
        receipt: Deferred[RecordMetadata] = Deferred()
        deliver_batch(batch((receipt, 2, 1, 5)), -1, -1)
        self.assertEqual(self.successResultOf(receipt).offset, -1)

    def test_callback(self) -> None:
        """A callback gets (None, metadata) or (error, None)."""
        heard: list[Any] = []
        receipt = CallbackReceipt(lambda *args: heard.append(args))
        error = ValueError("no")
        deliver_batch(batch((receipt, 1, 1, 5)), 40, -1)
        fail_batch(batch((receipt, 1, 1, 5), records=1), error, LostRecords())
        self.assertEqual(heard, [(None, RecordMetadata("t", 3, 41, 5)), (error, None)])

    def test_failing_callback(self) -> None:
        """An exception of one callback is logged, and the next receipt still fires."""
        receipt: Deferred[RecordMetadata] = Deferred()
        nothing: dict[str, int] = {}
        broken = CallbackReceipt(lambda *_: nothing["missing"])
        deliver_batch(batch((broken, 0, 1, 5), (receipt, 1, 1, 5)), 0, -1)
        self.successResultOf(receipt)
        self.assertEqual(len(self.flushLoggedErrors(KeyError)), 1)


class ListReceiptTests(SynchronousTestCase):
    def setUp(self) -> None:
        """Make a list of five records in two batches."""
        self.receipt = ListReceipt(5)
        self.receipt.add_batch()

    def test_range(self) -> None:
        """The receipt fires when both batches are in the log, with the range of both, in any order."""
        deliver_batch(batch((self.receipt, 0, 2, 5)), 20, -1)
        self.assertNoResult(self.receipt.deferred)
        deliver_batch(batch((self.receipt, 4, 3, 5)), 0, -1)
        self.assertEqual(self.successResultOf(self.receipt.deferred), BatchMetadata("t", 3, 4, 21, 5, 5))

    def test_unknown(self) -> None:
        """The range is unknown if one batch's offset is."""
        deliver_batch(batch((self.receipt, 0, 2, 5)), -1, -1)
        deliver_batch(batch((self.receipt, 0, 3, 5)), 7, -1)
        found = self.successResultOf(self.receipt.deferred)
        self.assertEqual((found.base_offset, found.last_offset), (-1, -1))

    def test_failed(self) -> None:
        """The receipt fails with the first error when both batches are settled."""
        for failed_first in (True, False):
            self.setUp()
            steps = [
                lambda: fail_batch(batch((self.receipt, 0, 2, 5)), ValueError("no"), LostRecords()),
                lambda: deliver_batch(batch((self.receipt, 0, 3, 5)), 7, -1),
            ]
            for step in steps if failed_first else reversed(steps):
                self.assertNoResult(self.receipt.deferred)
                step()
            self.failureResultOf(self.receipt.deferred, ValueError)


class LostRecordsTests(SynchronousTestCase):
    def test_count(self) -> None:
        """Records of failed batches without a receipt are counted, with the first error."""
        lost = LostRecords()
        receipt: Deferred[RecordMetadata] = Deferred()
        fail_batch(batch((receipt, 0, 1, 5), records=4), ValueError("first"), lost)
        fail_batch(batch(records=2), ValueError("second"), lost)
        self.failureResultOf(receipt, ValueError)
        found = lost.take()
        assert found is not None
        self.assertEqual((found.count, str(found.first)), (5, "first"))
        self.assertIsNone(lost.take())

    def test_flush_receipt(self) -> None:
        """A flush that waits for a batch does not hide its lost records, and ends after them."""
        lost, flush = LostRecords(), FlushReceipt()
        found: list[Any] = []
        flush.deferred.addCallback(lambda _: found.append(lost.take()))
        fail_batch(batch((flush, 0, 4, 0), records=4), ValueError("no"), lost)
        self.assertEqual([error.count for error in found], [4])


class RejectTests(SynchronousTestCase):
    def test_each_kind(self) -> None:
        """Each kind of receipt fails; records without one are counted; a cancelled one is left alone."""
        lost, heard = LostRecords(), list[Any]()
        plain: Deferred[RecordMetadata] = Deferred()
        many = ListReceipt(3)
        gone: Deferred[RecordMetadata] = Deferred()
        gone.cancel()
        for receipt in (plain, many, gone, None, CallbackReceipt(lambda *args: heard.append(args))):
            reject_records(receipt, ValueError("no"), lost)
        self.failureResultOf(plain, ValueError)
        self.failureResultOf(many.deferred, ValueError)
        self.failureResultOf(gone, CancelledError)
        self.assertEqual(len(heard), 1)
        found = lost.take()
        assert found is not None
        self.assertEqual(found.count, 1)


class AllSettledTests(SynchronousTestCase):
    def test_results(self) -> None:
        """Results come in order; with errors the first one, after all have fired."""
        self.assertEqual(self.successResultOf(all_settled([succeed(1), succeed(2)])), [1, 2])
        late: Deferred[int] = Deferred()
        waiting = all_settled([fail(ValueError("first")), late])
        self.assertNoResult(waiting)
        late.errback(KeyError("second"))
        self.failureResultOf(waiting, ValueError)
