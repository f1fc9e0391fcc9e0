"""Tests of kafkatx.blocking.producer.transaction, and of the writer in one."""

from __future__ import annotations

import pickle

from twisted.trial.unittest import SynchronousTestCase

from kafkatx.blocking.admin.groups import Groups
from kafkatx.blocking.producer.encoded_writer import EncodedWriter
from kafkatx.blocking.producer.transaction import Transaction
from kafkatx.clientcore.group.offsets import OffsetAndMetadata
from kafkatx.clientcore.settings import ClientSettings
from kafkatx.errors import ErrorCode, RequestError
from kafkatx.records.builder import encode_values
from kafkatx.types import TopicPartition
from kafkatx.wire.messages.add_offsets_to_txn import AddOffsetsToTxnRequest
from kafkatx.wire.messages.add_partitions_to_txn import AddPartitionsToTxnRequest
from kafkatx.wire.messages.end_txn import EndTxnRequest
from kafkatx.wire.messages.init_producer_id import InitProducerIdRequest
from kafkatx.wire.messages.offset_fetch import OffsetFetchRequest
from kafkatx.wire.messages.produce import ProduceRequest
from kafkatx.wire.messages.txn_offset_commit import TxnOffsetCommitRequest
from tests.blocking.fakes import LOSE_REPLY, LOSE_REQUEST
from tests.blocking.transactional import TransactionalCluster

PLACE = TopicPartition("t", 0)


class TransactionCase(SynchronousTestCase):
    implicit = True

    def setUp(self) -> None:
        """A cluster that can lose requests and replies."""
        self.fake = TransactionalCluster(self.implicit)
        self.client = self.fake.client(retries=3)

    def begun(self, name: str = "id") -> Transaction:
        """Begin a transaction."""
        return Transaction.begun(self.client, name, 60_000)

    def write(self, transaction: Transaction, *values: bytes, partition: int = 0) -> None:
        """Write values, a batch for each."""
        settings = ClientSettings.load("producer", {"bootstrap.servers": "h:1", "transactional.id": "id"})
        with EncodedWriter(self.client, settings, lambda: 1.0, transaction) as writer:
            for value in values:
                records = memoryview(encode_values([value]))
                writer.send(TopicPartition("t", partition), records, 1, len(value))


class ImplicitTests(TransactionCase):
    def test_commit(self) -> None:
        """Records and offsets count when the transaction is committed, and not before."""
        transaction = self.begun()
        self.write(transaction, b"a", b"b")
        self.write(transaction, b"c", partition=1)
        self.assertEqual(transaction.topics, ["t"])
        transaction.send_offset("group", PLACE, OffsetAndMetadata(7, "m"))
        self.assertEqual((self.fake.committed, dict(self.fake.groups)), ([], {}))
        transaction.end(True)
        self.assertEqual(self.fake.committed, [b"a", b"b", b"c"])
        self.assertEqual(
            Groups(self.client).offsets("group", stable=True), {PLACE: OffsetAndMetadata(7, "m")}
        )
        self.assertEqual([request.transactional_id for request in self.fake.sent(ProduceRequest)], ["id"] * 3)

    def test_abort(self) -> None:
        """Nothing counts of a transaction that is aborted; the next one of this id does."""
        transaction = self.begun()
        self.write(transaction, b"a")
        transaction.end(False)
        self.assertEqual((self.fake.committed, self.fake.open_ids()), ([], []))
        self.assertEqual(transaction.topics, [])
        self.write(transaction, b"b")
        transaction.end(True)
        self.assertEqual(self.fake.committed, [b"b"])

    def test_by_another_process(self) -> None:
        """Another process that has the handle can go on and end it."""
        transaction = self.begun()
        self.write(transaction, b"a")
        handle = pickle.loads(pickle.dumps(transaction.handle))
        other = Transaction.resumed(self.fake.client(), handle)
        other.send_offset("group", PLACE, OffsetAndMetadata(1))
        other.end(True)
        self.assertEqual((self.fake.committed, self.fake.groups["group"][PLACE].offset), ([b"a"], 1))

    def test_fenced(self) -> None:
        """A transaction of an id aborts the one before, whose producer can do nothing more."""
        old = self.begun()
        self.write(old, b"a")
        new = self.begun()
        self.write(new, b"b")
        for call in (lambda: old.end(True), lambda: old.send_offset("g", PLACE, OffsetAndMetadata(1))):
            self.assertIs(self.assertRaises(RequestError, call).code, ErrorCode.PRODUCER_FENCED)
        error = self.assertRaises(
            RequestError, self.write, Transaction.resumed(self.client, old.handle), b"c"
        )
        self.assertIn(error.code, (ErrorCode.PRODUCER_FENCED, ErrorCode.INVALID_PRODUCER_EPOCH))
        new.end(True)
        self.assertEqual(self.fake.committed, [b"b"])

    def test_lost_messages(self) -> None:
        """Lost requests and replies are repeated, and nothing is done twice."""
        for request in (InitProducerIdRequest, TxnOffsetCommitRequest, EndTxnRequest, ProduceRequest):
            self.fake.faults[request].extend([LOSE_REQUEST, LOSE_REPLY])
        transaction = self.begun()
        self.write(transaction, b"a", b"b")
        transaction.send_offset("group", PLACE, OffsetAndMetadata(1))
        transaction.end(True)
        self.assertEqual(self.fake.committed, [b"a", b"b"])

    def test_pending_offsets(self) -> None:
        """A reader of stable offsets waits for a transaction; another one does not."""
        transaction = self.begun()
        transaction.send_offset("group", PLACE, OffsetAndMetadata(1))
        self.assertEqual(Groups(self.client).offsets("group"), {})
        error = self.assertRaises(RequestError, Groups(self.client).offsets, "group", True)
        self.assertIs(error.code, ErrorCode.UNSTABLE_OFFSET_COMMIT)
        self.assertFalse(next(one.require_stable for one in self.fake.sent(OffsetFetchRequest)))

    def test_refused(self) -> None:
        """A time-out above the broker's maximum is an error."""
        error = self.assertRaises(RequestError, Transaction.begun, self.client, "id", 900_001)
        self.assertIs(error.code, ErrorCode.INVALID_TRANSACTION_TIMEOUT)


class ExplicitTests(TransactionCase):
    implicit = False

    def test_commit(self) -> None:
        """In protocol 1 each partition and group is added once, before its first request."""
        transaction = self.begun()
        self.write(transaction, b"a", b"b")
        self.write(transaction, b"c", partition=1)
        for offset in (1, 2):
            transaction.send_offset("group", PLACE, OffsetAndMetadata(offset))
        transaction.end(True)
        self.assertEqual(len(self.fake.sent(AddPartitionsToTxnRequest)), 2)
        self.assertEqual(len(self.fake.sent(AddOffsetsToTxnRequest)), 1)
        self.assertEqual(self.fake.committed, [b"a", b"b", b"c"])
        self.assertEqual(transaction.produce_at_most, 11)
        transaction.send_offset("group", PLACE, OffsetAndMetadata(3))
        transaction.end(True)
        self.assertEqual(len(self.fake.sent(AddOffsetsToTxnRequest)), 2)

    def test_retried(self) -> None:
        """A partition that cannot be added yet is added later; one that must not be fails its batch."""
        self.fake.faults[AddPartitionsToTxnRequest].append(ErrorCode.CONCURRENT_TRANSACTIONS)
        transaction = self.begun()
        self.write(transaction, b"a")
        self.fake.faults[AddPartitionsToTxnRequest].append(ErrorCode.TOPIC_AUTHORIZATION_FAILED)
        error = self.assertRaises(RequestError, self.write, transaction, b"b", partition=1)
        self.assertIs(error.code, ErrorCode.TOPIC_AUTHORIZATION_FAILED)
        transaction.end(False)
        self.assertEqual((self.fake.committed, self.fake.open_ids()), ([], []))
