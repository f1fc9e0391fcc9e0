"""Tests of kafkatx.spark.sink.exactly_once.batch_commit."""

from __future__ import annotations

from kafkatx.errors import ErrorCode
from kafkatx.wire.messages.describe_transactions import DescribeTransactionsRequest
from kafkatx.wire.messages.end_txn import EndTxnRequest
from kafkatx.wire.messages.produce import ProduceRequest
from kafkatx.wire.messages.txn_offset_commit import TxnOffsetCommitRequest
from tests.blocking.fakes import LOSE_REPLY, LOSE_REQUEST
from tests.spark.sink.exactly_once.streams import QUERY, RunCase


class CommitTests(RunCase):
    def test_nothing_before_the_commit(self) -> None:
        """Readers of committed records get the rows of all tasks when the driver commits, and not before."""
        batch = self.query.start()
        found = [self.query.write(batch, 0, [b"a", b"b", b"c"]), self.query.write(batch, 0, [b"d"], 1)]
        self.assertEqual(self.cluster.committed, [])
        self.assertEqual(sorted(self.cluster.open_ids()), ["query-task-0-0", "query-task-1-0"])
        self.query.commit(found, 0)
        self.assertEqual(sorted(self.cluster.committed), [b"a", b"b", b"c", b"d"])
        ((place, offset),) = self.cluster.groups["query"].items()
        self.assertEqual((place.topic, offset.offset, offset.metadata), ("t", 0, f"kafkatx {QUERY} complete"))
        for name in ("query-task-0-0", "query-task-1-0"):
            ((at, query, _),) = self.cluster.groups[name].values()
            self.assertEqual((at, query), (0, QUERY))

    def test_empty(self) -> None:
        """Tasks without rows have no transaction, and a batch without rows stores nothing."""
        batch = self.query.start()
        self.query.commit([self.query.write(batch, 0, []), self.query.write(batch, 0, [], 1)], 0)
        self.assertEqual((dict(self.cluster.groups), set(self.cluster.ids)), ({}, {"query"}))
        self.query.commit([], 1)

    def test_not_together(self) -> None:
        """Nothing is committed of tasks of different batches."""
        one = self.query.write(self.query.start(), 0, [b"a"])
        other = self.query.write(self.query.start(), 0, [b"b"], 1)
        self.assertIn("nothing of batch 0", self.refused(self.query.commit, [one, other], 0))
        self.assertIn("nothing of batch 1", self.refused(self.query.commit, [one], 1))
        self.assertEqual(self.cluster.committed, [])

    def test_killed_attempt(self) -> None:
        """The transaction that a killed attempt has left open is aborted when the batch is committed."""
        batch = self.query.start()
        self.query.write(batch, 0, [b"a"])  # its executor is lost before Spark hears of it
        self.query.commit([self.query.write(batch, 0, [b"a"], attempt=1)], 0)
        self.assertEqual((self.cluster.committed, self.cluster.open_ids()), ([b"a"], []))

    def test_lost_replies(self) -> None:
        """Replies that are lost change nothing."""
        for request in (EndTxnRequest, TxnOffsetCommitRequest, ProduceRequest, DescribeTransactionsRequest):
            self.cluster.faults[request].extend([LOSE_REPLY, None, LOSE_REPLY])
        self.whole(0, b"a", b"b", b"c")
        self.assertEqual(sorted(self.cluster.committed), [b"a", b"b", b"c"])

    def test_time_out(self) -> None:
        """A transaction that was aborted by time before the decision: nothing counts, the error says why."""
        batch = self.query.start()
        found = [self.query.write(batch, 0, [b"a"]), self.query.write(batch, 0, [b"b"], 1)]
        self.cluster.expire("query-task-1-0")
        self.assertIn("kafka.transaction.timeout.ms", self.refused(self.query.commit, found, 0))
        self.assertEqual(self.cluster.committed, [])
        self.whole(0, b"a", b"b")
        self.assertEqual(sorted(self.cluster.committed), [b"a", b"b"])

    def test_late_copy(self) -> None:
        """A copy of a task has its own transaction: it does not end the one that is committed."""
        batch = self.query.start()
        found = [self.query.write(batch, 0, [b"a"])]
        self.query.write(batch, 0, [b"a"], attempt=1)
        self.query.commit(found, 0)
        self.whole(1, b"b")
        self.assertEqual((self.cluster.committed, self.cluster.open_ids()), ([b"a", b"b"], []))


class AbortTests(RunCase):
    def test_abort(self) -> None:
        """A batch that Spark gives up is aborted; one that is decided is not, even if its commit fails."""
        found = [self.query.write(self.query.start(), 0, [b"a"])]
        self.query.abort(found, 0)
        self.assertEqual(self.cluster.open_ids(), [])
        found = [self.query.write(self.query.start(), 0, [b"a"])]
        self.cluster.faults[EndTxnRequest].extend([None, *[ErrorCode.COORDINATOR_NOT_AVAILABLE] * 9])
        self.assertIn("", self.refused(self.query.commit, found, 0))
        self.cluster.faults.clear()
        self.query.abort(found, 0)
        self.assertEqual((self.cluster.open_ids(), self.cluster.committed), (["query-task-0-0"], []))
        self.query.start()
        self.assertEqual((self.cluster.open_ids(), self.cluster.committed), ([], [b"a"]))
        self.query.abort([], 1)

    def test_abort_before_the_outcome(self) -> None:
        """A batch whose decision may still come through is not aborted: the next start finds it undecided."""
        found = [self.query.write(self.query.start(), 0, [b"a"])]
        self.cluster.faults[EndTxnRequest].extend([LOSE_REQUEST] * 9)
        self.refused(self.query.commit, found, 0)
        self.cluster.faults.clear()
        self.query.abort(found, 0)
        self.assertEqual(sorted(self.cluster.open_ids()), ["query", "query-task-0-0"])
        self.whole(0, b"a")
        self.assertEqual((self.cluster.committed, self.cluster.open_ids()), ([b"a"], []))
