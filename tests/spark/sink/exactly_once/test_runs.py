"""Runs of a query that overlap, come late, or go back."""

from __future__ import annotations

from typing import Any

from twisted.trial.unittest import SynchronousTestCase

from kafkatx.errors import ErrorCode, KafkaTXError, SettingError
from kafkatx.spark.sink.exactly_once.batch_start import start_batch
from kafkatx.spark.sink.exactly_once.settlement import BatchTorn
from kafkatx.wire.messages.describe_transactions import DescribeTransactionsRequest
from kafkatx.wire.messages.end_txn import EndTxnRequest
from kafkatx.wire.messages.list_transactions import ListTransactionsRequest
from kafkatx.wire.messages.produce import ProduceRequest
from kafkatx.wire.messages.txn_offset_commit import TxnOffsetCommitRequest
from tests.blocking.fakes import LOSE_REPLY, LOSE_REQUEST
from tests.blocking.transactional import TransactionalCluster
from tests.spark.sink.exactly_once.streams import QUERY, Run, options


class RunCase(SynchronousTestCase):
    def setUp(self) -> None:
        """A cluster, and a run of a query."""
        self.cluster = TransactionalCluster()
        self.query = Run(self.cluster, self.patch)

    def refused(self, call: Any, *arguments: Any) -> str:
        """Return the message of an error."""
        return str(self.assertRaises(KafkaTXError, call, *arguments))

    def whole(self, batch_id: int, *values: bytes) -> None:
        """Write a batch with one task."""
        self.query.commit([self.query.write(self.query.start(), batch_id, values)], batch_id)


class AtomicTests(RunCase):
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

    def test_once_more(self) -> None:
        """A batch that Spark runs again is read to its end, and written not again."""
        self.whole(0, b"a", b"b")
        left = iter([b"a", b"b"])
        again = self.query.write(self.query.start(), 0, list(left))
        self.assertIsNone(again.part)
        self.query.commit([again], 0)
        self.assertEqual((self.cluster.committed, list(left)), ([b"a", b"b"], []))

    def test_another_query(self) -> None:
        """A query with a new checkpoint writes its first batches, though another was further."""
        self.whole(5, b"a")
        self.query = Run(self.cluster, self.patch, "other")
        self.whole(0, b"b")
        self.assertEqual(self.cluster.committed, [b"a", b"b"])

    def test_older_checkpoint(self) -> None:
        """A checkpoint that went back is an error: nobody knows what its batches had in them."""
        self.whole(5, b"a")
        self.assertIn("batch 4 of query", self.refused(self.whole, 4, b"b"))
        self.assertEqual(self.cluster.committed, [b"a"])

    def test_not_together(self) -> None:
        """Nothing is committed of tasks of different batches."""
        one = self.query.write(self.query.start(), 0, [b"a"])
        other = self.query.write(self.query.start(), 0, [b"b"], 1)
        self.assertIn("nothing of batch 0", self.refused(self.query.commit, [one, other], 0))
        self.assertIn("nothing of batch 1", self.refused(self.query.commit, [one], 1))
        self.assertEqual(self.cluster.committed, [])


class FailureTests(RunCase):
    def test_failing_task(self) -> None:
        """A task that fails aborts its transaction at once; the next attempt has another one."""
        batch = self.query.start()
        self.cluster.faults[ProduceRequest].extend([None, ErrorCode.INVALID_RECORD])
        values = [b"%d" % n for n in range(4)]
        self.patch(self.cluster.topics["t"][0], "max_bytes", 1 << 20)
        self.assertIn("t [", self.refused(self.query.write, batch, 0, values + [b"x" * 900_000] * 2))
        self.assertEqual(self.cluster.open_ids(), [])
        self.query.commit([self.query.write(batch, 0, values, attempt=1)], 0)
        self.assertEqual(sorted(self.cluster.committed), values)

    def test_killed_attempt(self) -> None:
        """What a killed attempt has left open is aborted when the batch is committed."""
        batch = self.query.start()
        self.query.write(batch, 0, [b"a"])  # its executor is lost before Spark hears of it
        self.query.commit([self.query.write(batch, 0, [b"a"], attempt=1)], 0)
        self.assertEqual((self.cluster.committed, self.cluster.open_ids()), ([b"a"], []))

    def test_left_open(self) -> None:
        """A new batch aborts all that killed tasks have left, whatever their numbers."""
        batch = self.query.start()
        for number, attempt in ((0, 0), (7, 3)):
            self.query.write(batch, 0, [b"a"], number, attempt)
        self.query.start()
        self.assertEqual(self.cluster.open_ids(), [])

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

    def test_timeout_refused(self) -> None:
        """A time-out above the brokers' maximum is an error of each task."""
        self.query = Run(self.cluster, self.patch)
        with self.cluster.client() as client:
            error = self.assertRaises(KafkaTXError, start_batch, client, "query", 900_001)
        self.assertIn("INVALID_TRANSACTION_TIMEOUT", repr(error.code))

    def test_old_brokers(self) -> None:
        """Brokers that cannot list or describe transactions do without."""
        for request in (ListTransactionsRequest, DescribeTransactionsRequest):
            self.cluster.faults[request].extend([ErrorCode.UNSUPPORTED_VERSION] * 5)
        self.whole(0, b"a")
        self.assertEqual(self.cluster.committed, [b"a"])


class OverlapTests(RunCase):
    def test_old_driver(self) -> None:
        """A driver that goes on after another run has begun commits nothing."""
        batch = self.query.start()
        old = [self.query.write(batch, 0, [b"a"]), self.query.write(batch, 0, [b"b"], 1)]
        new = self.query.start()
        self.refused(self.query.commit, old, 0)
        self.query.commit([self.query.write(new, 0, [b"a", b"b"])], 0)
        self.refused(self.query.commit, old, 0)
        self.query.abort(old, 0)
        self.assertEqual(sorted(self.cluster.committed), [b"a", b"b"])

    def test_old_driver_with_new_tasks(self) -> None:
        """Tasks that have begun before another run, and write after it, are not committed either."""
        batch = self.query.start()
        new = self.query.start()
        old = [self.query.write(batch, 0, [b"a"], 5)]
        self.assertIn("another run of the query has begun", self.refused(self.query.commit, old, 0))
        self.query.commit([self.query.write(new, 0, [b"a"])], 0)
        self.assertEqual(self.cluster.committed, [b"a"])

    def test_late_copy(self) -> None:
        """A copy of a task has its own transaction: it does not end the one that is committed."""
        batch = self.query.start()
        found = [self.query.write(batch, 0, [b"a"])]
        self.query.write(batch, 0, [b"a"], attempt=1)
        self.query.commit(found, 0)
        self.whole(1, b"b")
        self.assertEqual((self.cluster.committed, self.cluster.open_ids()), ([b"a", b"b"], []))


class OptionTests(SynchronousTestCase):
    def test_needed(self) -> None:
        """An id is needed, and idempotence; the time-out is the longest that brokers allow by default."""
        from kafkatx.clientcore.tables import producer

        self.assertEqual(options().settings()[producer.TRANSACTION_TIMEOUT_MS], 900_000)
        given = options(kafka_transaction_timeout_ms="5000")
        self.assertEqual(given.settings()[producer.TRANSACTION_TIMEOUT_MS], 5000)
        error = self.assertRaises(SettingError, options, kafka_transactional_id=" ")
        self.assertIn("exactlyOnce=true needs kafka.transactional.id", str(error))
        error = self.assertRaises(SettingError, options, exactlyonce="false")
        self.assertIn("'transactional.id' needs exactlyOnce=true", str(error))
        self.assertIn("acks=all", str(self.assertRaises(SettingError, options, kafka_acks="1")))
        self.assertIn("exactlyOnce=x", str(self.assertRaises(SettingError, options, exactlyonce="x")))
