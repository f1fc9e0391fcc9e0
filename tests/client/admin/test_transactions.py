"""Tests of kafkatx.client.admin.transactions."""

from __future__ import annotations

import attrs

from kafkatx.clientcore.errors import ConnectionFailed, UnknownTopic
from kafkatx.clientcore.transactions.values import PartitionProducer, TransactionListing
from kafkatx.errors import ErrorCode, RequestError
from kafkatx.types import TopicPartition
from kafkatx.wire.messages.describe_producers import DescribeProducersRequest
from kafkatx.wire.messages.describe_transactions import DescribeTransactionsRequest
from kafkatx.wire.messages.find_coordinator import FindCoordinatorRequest
from kafkatx.wire.messages.init_producer_id import InitProducerIdRequest
from kafkatx.wire.messages.list_transactions import ListTransactionsRequest
from kafkatx.wire.messages.write_txn_markers import WriteTxnMarkersRequest
from tests.blocking.fake_transactions import BILLING, HANGING, IDLE, KNOWN, T0, T1, FakeTransactions
from tests.client.admins import AdminTestCase

BOTH = [TransactionListing("billing", 2, 7, "Ongoing"), TransactionListing("idle", 2, 8, "Empty")]
PATIENT_S = 3.0


class TransactionsTests(AdminTestCase):
    def setUp(self) -> None:
        """Two transactional ids of broker 2, an open transaction and a hanging one."""
        self.fake = FakeTransactions()
        self.open(self.fake)
        self.transactions = self.admin.transactions

    def test_listings(self) -> None:
        """All brokers are asked; one that loads is asked again, and an error of one is that of all."""
        self.fake.faults[ListTransactionsRequest].append(ErrorCode.COORDINATOR_LOAD_IN_PROGRESS)
        self.assertEqual(self.result(self.transactions.listings(), PATIENT_S), BOTH)
        self.assertEqual(sorted(self.asked(ListTransactionsRequest))[-1], 2)
        self.network.down.add(1)
        for link in self.network.live():
            link.lose()
        self.error(ConnectionFailed, self.transactions.listings(), 70)

    def test_filters(self) -> None:
        """The filters are the brokers'; one that a broker does not know is an error."""
        self.assertEqual(self.result(self.transactions.listings(["Empty"])), BOTH[1:])
        self.assertEqual(self.result(self.transactions.listings([], [7], 5, "b.*")), BOTH[:1])
        request = self.network.sent(ListTransactionsRequest)[-1]
        self.assertEqual(request.producer_id_filters, [7])
        self.assertEqual((request.duration_filter, request.transactional_id_pattern), (5, "b.*"))
        self.network.newest[ListTransactionsRequest] = 1
        for link in self.network.live():
            link.lose()
        error = self.error(RequestError, self.transactions.listings(pattern="b.*"), PATIENT_S)
        self.assertIs(error.code, ErrorCode.UNSUPPORTED_VERSION)

    def test_describe(self) -> None:
        """The coordinator of the transactional id tells; it is looked up again when it has moved."""
        self.fake.faults[DescribeTransactionsRequest].append(ErrorCode.NOT_COORDINATOR)
        self.assertEqual(self.result(self.transactions.describe("billing"), PATIENT_S), BILLING)
        self.assertEqual(len(self.asked(FindCoordinatorRequest)), 2)
        self.assertEqual(self.result(self.transactions.describe("idle")), IDLE)
        error = self.error(RequestError, self.transactions.describe("none"))
        self.assertIs(error.code, ErrorCode.TRANSACTIONAL_ID_NOT_FOUND)

    def test_producers(self) -> None:
        """Each leader tells the producers of its partitions, and the open transactions among them."""
        self.fake.faults[DescribeProducersRequest].append(ErrorCode.NOT_LEADER_OR_FOLLOWER)
        found = self.result(self.transactions.producers([T0, T1]), PATIENT_S)
        plain = PartitionProducer(1, 0, 5, 1_000, -1, -1)
        self.assertEqual(found[T0], [plain, PartitionProducer(7, 3, 5, 5_000, 4, 10)])
        self.assertEqual([one.producer_id for one in found[T1]], [1, 9])
        self.assertEqual(self.result(self.transactions.open([T0, T1])), [KNOWN, HANGING])
        self.error(UnknownTopic, self.transactions.producers([TopicPartition("nope", 0)]))

    def test_abort(self) -> None:
        """The partition's leader gets the marker; its refusal is the error of the call."""
        self.result(self.transactions.abort(HANGING))
        self.assertEqual(self.asked(WriteTxnMarkersRequest), [2])
        self.assertFalse(self.fake.markers[0].transaction_result)
        self.assertEqual(self.result(self.transactions.open([T0, T1])), [KNOWN])
        self.fake.faults[WriteTxnMarkersRequest].append(ErrorCode.INVALID_PRODUCER_EPOCH)
        error = self.error(RequestError, self.transactions.abort(attrs.evolve(KNOWN, producer_epoch=2)))
        self.assertIs(error.code, ErrorCode.INVALID_PRODUCER_EPOCH)

    def test_fence(self) -> None:
        """The coordinator raises the epoch; while a transaction ends it is asked again."""
        self.fake.faults[InitProducerIdRequest].append(ErrorCode.CONCURRENT_TRANSACTIONS)
        self.assertEqual(self.result(self.transactions.fence("billing"), PATIENT_S), (7, 0))
        self.assertEqual(self.asked(InitProducerIdRequest), [2, 2])
        request = self.network.sent(InitProducerIdRequest)[-1]
        self.assertEqual(
            (request.transactional_id, request.producer_id, request.producer_epoch), ("billing", -1, -1)
        )
        self.assertEqual(request.transaction_timeout_ms, 30_000)
