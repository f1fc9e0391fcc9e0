"""Tests of kafkatx.client.producer.transactions.coordinator."""

from __future__ import annotations

from kafkatx.clientcore.errors import CommitFailed
from kafkatx.clientcore.producer.transactions.errors import AbortRequired
from kafkatx.errors import ErrorCode, RequestError
from kafkatx.wire.messages.init_producer_id import InitProducerIdRequest
from kafkatx.wire.messages.txn_offset_commit import TxnOffsetCommitRequest
from tests.client.producer.transactions.brokers import T0, TransactionTestCase


class CoordinatorTests(TransactionTestCase):
    def test_protocol(self) -> None:
        """The protocol is that of the cluster's feature."""
        for level, implicit in ((0, False), (1, False), (2, True)):
            producer = self.transactional(level)
            assert producer._transactions is not None
            self.assertEqual(producer._transactions.machine.implicit, implicit)

    def test_start(self) -> None:
        """The start waits while the transaction before is being ended; it fails if it is refused."""
        self.errors[InitProducerIdRequest] = [ErrorCode.CONCURRENT_TRANSACTIONS]
        producer = self.producer(start=False, transactional_id="id")
        self.result(producer.start(), 2)
        self.errors[InitProducerIdRequest] = [ErrorCode.INVALID_TRANSACTION_TIMEOUT]
        producer = self.producer(start=False, transactional_id="id", transaction_timeout_ms=1 << 30)
        error = self.error(producer.start())
        assert isinstance(error, RequestError)
        self.assertIs(error.code, ErrorCode.INVALID_TRANSACTION_TIMEOUT)
        self.assertEqual(self.network.sent(InitProducerIdRequest)[-1].transaction_timeout_ms, 1 << 30)

    def test_group(self) -> None:
        """The group's coordinator is asked for offsets; its refusal needs an abort."""
        producer = self.transactional()
        producer.begin()
        self.errors[TxnOffsetCommitRequest] = [ErrorCode.NOT_COORDINATOR, ErrorCode.ILLEGAL_GENERATION]
        error = self.error(producer.send_offsets({T0: 1}, "g"), 5)
        assert isinstance(error, AbortRequired)
        self.assertIsInstance(error.first, CommitFailed)
        finds = [asked for kind, asked in self.seen if kind.__name__ == "FindCoordinatorRequest"]
        self.assertEqual(finds, [1, 0, 0])
