"""Tests of kafkatx.client.producer.transactions.transactions."""

from __future__ import annotations

from kafkatx.clientcore.errors import ClientClosed, ConnectionFailed, ProduceFailed
from kafkatx.clientcore.producer.transactions.errors import AbortRequired, ProducerFenced, TransactionMisuse
from kafkatx.errors import ErrorCode
from kafkatx.records.batch import parse_header
from kafkatx.wire.messages.add_offsets_to_txn import AddOffsetsToTxnRequest
from kafkatx.wire.messages.add_partitions_to_txn import AddPartitionsToTxnRequest
from kafkatx.wire.messages.end_txn import EndTxnRequest
from kafkatx.wire.messages.init_producer_id import InitProducerIdRequest
from kafkatx.wire.messages.txn_offset_commit import TxnOffsetCommitRequest
from tests.blocking.fakes import LOSE_REPLY
from tests.client.fakes import NOTHING
from tests.client.producer.transactions.brokers import T0, TransactionTestCase


class TransactionsTests(TransactionTestCase):
    def test_implicit(self) -> None:
        """In protocol 2 only the end is asked of the coordinator; each transaction has its epoch."""
        producer = self.transactional()
        for _ in range(2):
            producer.begin()
            producer.produce("one", b"x")
            self.result(producer.send_offsets({T0: 3}, "g"))
            self.result(producer.commit())
        self.assertNotIn(AddPartitionsToTxnRequest, [kind for kind, _ in self.seen])
        self.assertIn((TxnOffsetCommitRequest, ("g", 5)), self.seen)
        headers = [parse_header(data) for data in self.log().batches]
        self.assertEqual([(h.producer_epoch, h.base_sequence) for h in headers], [(0, 0), (1, 0)])
        self.assertTrue(all(header.transactional for header in headers))
        self.assertEqual({request.transactional_id for request in self.requests()}, {"id"})

    def test_explicit(self) -> None:
        """In protocol 1 partitions and groups are added first, once for each transaction; the epoch stays."""
        producer = self.transactional(level=1)
        for _ in range(2):
            producer.begin()
            for _ in range(2):
                self.result(producer.send("one", b"x"))
                self.result(producer.send_offsets({T0: 3}, "g"))
            self.result(producer.commit())
        kinds = [kind for kind, _ in self.seen]
        self.assertEqual(kinds.count(AddPartitionsToTxnRequest), 2)
        self.assertEqual(kinds.count(AddOffsetsToTxnRequest), 2)
        self.assertIn((TxnOffsetCommitRequest, ("g", 4)), self.seen)
        headers = [parse_header(data) for data in self.log().batches]
        self.assertEqual([(h.producer_epoch, h.base_sequence) for h in headers], [(0, n) for n in range(4)])

    def test_empty(self) -> None:
        """A transaction of which the coordinator knows nothing is ended without it."""
        producer = self.transactional()
        producer.begin()
        self.result(producer.commit())
        producer.begin()
        self.result(producer.abort())
        self.assertEqual(self.ends(), [])

    def test_abort_drops(self) -> None:
        """An abort fails what waits, and waits for what is in flight, before it ends the transaction."""
        producer = self.transactional(level=1, linger_ms=1000)
        producer.begin()
        self.network.answers[AddPartitionsToTxnRequest] = lambda node, request, version: NOTHING
        waiting = producer.send("one", b"x")
        self.network.pump()
        self.network.pump(1.1)
        aborting = producer.abort()
        self.assertIsInstance(self.error(waiting), TransactionMisuse)
        self.assertFalse(aborting.called)
        self.network.answers[AddPartitionsToTxnRequest] = self.add_partitions
        self.result(aborting, 60)
        self.assertEqual(self.ends(), [False])
        self.assertEqual(self.log().batches, [])

    def test_gap(self) -> None:
        """In protocol 1 an abort after a failure asks for another epoch, with the present one."""
        producer = self.transactional(level=1)
        producer.begin()
        self.faults.append(ErrorCode.INVALID_RECORD)
        self.assertIsInstance(self.error(producer.send("one", b"x")), ProduceFailed)
        error = self.error(producer.commit())
        self.assertIsInstance(error, AbortRequired)
        self.assertIsInstance(self.error(producer.send("one", b"y")), AbortRequired)
        self.result(producer.abort())
        self.assertEqual(self.seen[-1], (InitProducerIdRequest, 0))
        producer.begin()
        self.result(producer.send("one", b"z"))
        self.result(producer.commit())
        header = parse_header(self.log().batches[-1])
        self.assertEqual((header.producer_epoch, header.base_sequence), (1, 0))

    def test_failure_drops_the_others(self) -> None:
        """After the failure of a record no other of its transaction is sent."""
        producer = self.transactional(linger_ms=500)
        producer.begin()
        self.faults.append(ErrorCode.INVALID_RECORD)
        self.result(producer.send_offsets({T0: 1}, "g"))
        other = producer.send("t", b"x", partition=0)
        refused = producer.send_batch("one", [b"x"])
        producer._sender.hurry += 1
        producer._accumulator.close(producer._accumulator.queue("one", 0))
        producer._sender.hurry -= 1
        self.network.pump(0)
        self.network.pump(0.6)
        self.error(refused)
        self.assertTrue(other.called)
        other.addErrback(lambda _: None)
        self.assertIsInstance(self.error(producer.commit()), AbortRequired)

    def test_outcome_unknown(self) -> None:
        """A commit without an answer is repeated, and can only be repeated."""
        producer = self.transactional(max_block_ms=300)
        producer.begin()
        self.result(producer.send("one", b"x"))
        self.errors[EndTxnRequest] = [LOSE_REPLY] * 50
        self.assertIsInstance(self.error(producer.commit(), 5), ConnectionFailed)
        self.assertIsInstance(self.error(producer.abort()), TransactionMisuse)
        self.errors.clear()
        self.result(producer.commit(), 5)
        self.assertEqual(set(self.ends()), {True})
        self.assertFalse(producer.in_transaction())

    def test_coordinator_moves(self) -> None:
        """After NOT_COORDINATOR it is looked up again; a transaction that still ends is waited for."""
        producer = self.transactional()
        producer.begin()
        self.result(producer.send("one", b"x"))
        self.errors[EndTxnRequest] = [ErrorCode.NOT_COORDINATOR, ErrorCode.CONCURRENT_TRANSACTIONS]
        self.result(producer.commit(), 5)
        finds = [asked for kind, asked in self.seen if kind.__name__ == "FindCoordinatorRequest"]
        self.assertEqual(finds, [1, 1])
        self.assertEqual(self.ends(), [True])

    def test_fenced(self) -> None:
        """A fenced producer fails each call, and its records."""
        producer = self.transactional()
        producer.begin()
        self.result(producer.send("one", b"x"))
        self.errors[EndTxnRequest] = [ErrorCode.INVALID_PRODUCER_EPOCH]
        for call in (producer.commit, producer.commit, producer.abort):
            self.assertIsInstance(self.error(call()), ProducerFenced)
        self.assertIsInstance(self.error(producer.send("one", b"y")), ProducerFenced)
        self.assertRaises(ProducerFenced, producer.begin)

    def test_close(self) -> None:
        """A producer that is closed aborts; one that is closed at once only fails its calls."""
        producer = self.transactional()
        producer.begin()
        self.result(producer.send("one", b"x"))
        self.result(producer.close())
        self.assertEqual(self.ends(), [False])
        producer = self.transactional(level=1)
        producer.begin()
        self.network.answers[AddPartitionsToTxnRequest] = lambda node, request, version: NOTHING
        producer.send("one", b"y").addErrback(lambda _: None)
        self.network.pump()
        aborting = producer.abort()
        self.close(producer)
        self.assertIsInstance(self.error(aborting), ClientClosed)
