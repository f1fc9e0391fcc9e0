"""Tests of kafkatx.blocking.admin.transactions."""

from __future__ import annotations

import attrs
from twisted.trial.unittest import SynchronousTestCase

from kafkatx.blocking.admin.transactions import Transactions
from kafkatx.clientcore.transactions.values import TransactionListing
from kafkatx.errors import ErrorCode, RequestError
from kafkatx.wire.messages.describe_producers import DescribeProducersRequest
from kafkatx.wire.messages.describe_transactions import DescribeTransactionsRequest
from kafkatx.wire.messages.list_transactions import ListTransactionsRequest
from kafkatx.wire.messages.write_txn_markers import WriteTxnMarkersRequest
from tests.blocking.fake_transactions import BILLING, HANGING, IDLE, KNOWN, T0, T1, FakeTransactions


class TransactionsTests(SynchronousTestCase):
    def setUp(self) -> None:
        """Two transactional ids, an open transaction and a hanging one."""
        self.fake = FakeTransactions()
        self.transactions = Transactions(self.fake.client(retries=3))

    def test_listings(self) -> None:
        """All ids of all brokers, or those in a state; a coordinator that loads is asked again."""
        self.fake.faults[ListTransactionsRequest].append(ErrorCode.COORDINATOR_LOAD_IN_PROGRESS)
        both = [TransactionListing("billing", 2, 7, "Ongoing"), TransactionListing("idle", 2, 8, "Empty")]
        self.assertEqual(self.transactions.listings(), both)
        self.assertEqual(self.transactions.listings(["Empty"]), both[1:])

    def test_filters(self) -> None:
        """Pattern and age are the brokers' filters; one that does not know a filter would list all."""
        listed = self.transactions.listings(pattern="b.*", older_ms=5)
        self.assertEqual([one.transactional_id for one in listed], ["billing"])
        (request, *_) = self.fake.sent(ListTransactionsRequest)
        self.assertEqual((request.duration_filter, request.transactional_id_pattern), (5, "b.*"))
        for version in (0, 1):
            self.fake.versions[ListTransactionsRequest] = version
            older = Transactions(self.fake.client(retries=0))
            error = self.assertRaises(RequestError, older.listings, pattern="b")
            self.assertIs(error.code, ErrorCode.UNSUPPORTED_VERSION)
            self.assertIn(f"it has ListTransactions {version}, that takes 2", str(error))
            if version:
                self.assertEqual(len(older.listings(older_ms=5)), 2)
            else:
                self.assertRaises(RequestError, older.listings, older_ms=5)

    def test_describe(self) -> None:
        """The state, from the coordinator; an unknown id is an error."""
        self.fake.faults[DescribeTransactionsRequest].append(ErrorCode.NOT_COORDINATOR)
        self.assertEqual(self.transactions.describe("billing"), BILLING)
        self.assertEqual(self.transactions.describe("idle"), IDLE)
        error = self.assertRaises(RequestError, self.transactions.describe, "none")
        self.assertIs(error.code, ErrorCode.TRANSACTIONAL_ID_NOT_FOUND)

    def test_open(self) -> None:
        """Open transactions are told by the leader of each partition; other producers are left out."""
        self.fake.faults[DescribeProducersRequest].append(ErrorCode.NOT_LEADER_OR_FOLLOWER)
        self.assertEqual(self.transactions.open([T0, T1]), [KNOWN, HANGING])

    def test_hanging(self) -> None:
        """A transaction is hanging if its coordinator does not have the partition in it, and it is old."""
        self.assertEqual(self.transactions.hanging([T0, T1], 1_000, 10_000), [HANGING])
        self.assertEqual(self.transactions.hanging([T0, T1], 4_001, 10_000), [])
        self.fake.ids[0] = attrs.evolve(BILLING, partitions=(T1,))
        self.assertEqual(self.transactions.hanging([T0, T1], 1_000, 10_000), [KNOWN, HANGING])

    def test_abort(self) -> None:
        """The leader gets an abort marker with the epoch of the producer, and of the last coordinator."""
        for transaction, epoch in ((HANGING, 0), (KNOWN, 4)):
            self.transactions.abort(transaction)
            marker = self.fake.markers[-1]
            self.assertEqual(marker.producer_id, transaction.producer_id)
            self.assertEqual(marker.producer_epoch, transaction.producer_epoch)
            self.assertFalse(marker.transaction_result)
            self.assertEqual(marker.coordinator_epoch, epoch)
        self.assertEqual(self.transactions.open([T0, T1]), [])
        self.fake.faults[WriteTxnMarkersRequest].append(ErrorCode.CLUSTER_AUTHORIZATION_FAILED)
        self.assertRaises(RequestError, self.transactions.abort, KNOWN)
