"""Tests of kafkatx.spark.sink.exactly_once.settlement."""

from __future__ import annotations

from kafkatx.errors import ErrorCode
from kafkatx.spark.sink.exactly_once.batch_start import start_batch
from kafkatx.spark.sink.exactly_once.settlement import BatchTorn
from kafkatx.wire.messages.describe_transactions import DescribeTransactionsRequest
from kafkatx.wire.messages.end_txn import EndTxnRequest
from kafkatx.wire.messages.list_transactions import ListTransactionsRequest
from tests.spark.sink.exactly_once.streams import RunCase


class SettlementTests(RunCase):
    def test_torn(self) -> None:
        """After the decision a time-out loses rows: each start says which tasks', until the id is another."""
        batch = self.query.start()
        found = [self.query.write(batch, 0, [b"a"]), self.query.write(batch, 0, [b"b"], 1)]
        # The decision, then the first part, then the driver is gone for good.
        self.cluster.faults[EndTxnRequest].extend([None, None, *[ErrorCode.COORDINATOR_NOT_AVAILABLE] * 9])
        self.refused(self.query.commit, found, 0)
        self.cluster.faults.clear()
        self.cluster.expire("query-task-1-0")
        for _ in range(2):
            said = self.refused(self.query.write, self.query.start(), 0, [b"a", b"b"])
            self.assertIn("batch 0 of query 6a3f is committed in part", said)
            self.assertIn("1 of 2 tasks (task 1)", said)
        with self.cluster.client() as client:
            self.assertRaises(BatchTorn, start_batch, client, "query", 1000)
        self.assertEqual(self.cluster.committed, [b"a"])

    def test_fenced_after_the_commit(self) -> None:
        """A part whose id was used since is known to be committed by its own group."""
        batch = self.query.start()
        found = [self.query.write(batch, 0, [b"a"])]
        self.cluster.faults[EndTxnRequest].extend([None, None, *[ErrorCode.COORDINATOR_NOT_AVAILABLE] * 9])
        self.refused(self.query.commit, found, 0)  # all is committed; that it is complete is not stored
        self.cluster.faults.clear()
        self.query.write(batch, 0, [b"a"])  # a copy of the task that comes late
        self.query.start()
        self.assertEqual((self.cluster.committed, self.cluster.open_ids()), ([b"a"], []))
        self.assertIn("complete", next(iter(self.cluster.groups["query"].values())).metadata)

    def test_old_brokers(self) -> None:
        """Brokers that cannot list or describe transactions do without."""
        for request in (ListTransactionsRequest, DescribeTransactionsRequest):
            self.cluster.faults[request].extend([ErrorCode.UNSUPPORTED_VERSION] * 5)
        self.whole(0, b"a")
        self.assertEqual(self.cluster.committed, [b"a"])
