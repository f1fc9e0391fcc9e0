"""Tests of kafkatx.client.producer.flush and producer_id, with the parts of a producer around them."""

from __future__ import annotations

from typing import Any

from twisted.internet.defer import Deferred
from twisted.trial.unittest import SynchronousTestCase

from kafkatx.client.producer.buffer_pool import BufferPool
from kafkatx.client.producer.flush import Flusher
from kafkatx.client.producer.preparation import PreparationLine, RecordEncoder
from kafkatx.client.producer.receipts import LostRecords
from kafkatx.client.producer.sender import Sender
from kafkatx.client.producer.topic_queues import TopicQueues
from kafkatx.clientcore.errors import ClientClosed, RecordsLost
from kafkatx.clientcore.producer.config import SenderConfig
from kafkatx.errors import ErrorCode
from kafkatx.partitioners import DefaultPartitioner
from tests.client.producer.fake_cluster import FakeCluster, accumulator


class FlusherTests(SynchronousTestCase):
    def setUp(self) -> None:
        """Make a flusher of a producer whose batches linger for a second."""
        self.cluster = FakeCluster()
        self.clock = self.cluster.reactor
        self.accumulator = accumulator()
        self.lost = LostRecords()
        cluster: Any = self.cluster
        self.sender = Sender(cluster, self.accumulator, SenderConfig(), self.lost)
        partitioner: Any = DefaultPartitioner()
        self.queues = TopicQueues(cluster, self.accumulator, self.sender, partitioner, self.lost, block_s=5.0)
        self.pool = BufferPool(self.clock, self.accumulator, 5.0, self.lost, self.sender.set_waiting)
        self.sender.settled = self.pool.admit
        none = RecordEncoder()
        self.line = PreparationLine(self.clock, none, none, self.lost, 5.0)
        self.flusher = Flusher(self.line, self.pool, self.queues, self.accumulator, self.sender, self.lost)

    def put(self, receipt: Any = None) -> None:
        """Append a record."""
        self.queues.put("t", None, b"v", 0, (), 5, 50, receipt)

    def flush(self) -> Deferred[None]:
        """Begin a flush, and let the sender run."""
        flushed = Deferred.fromCoroutine(self.flusher.flush())
        self.settle()
        return flushed

    def settle(self) -> None:
        """Run the sender as often as it wants to run at once."""
        for _ in range(4):
            self.clock.advance(0)

    def test_nothing(self) -> None:
        """A flush without records ends at once."""
        self.successResultOf(self.flush())

    def test_metadata_and_batches(self) -> None:
        """A flush waits for metadata, sends without lingering, and ends when the batch is in the log."""
        self.put()
        flushed = self.flush()
        self.cluster.learn("t", 3)
        self.settle()
        self.assertEqual(len(self.cluster.sent), 1)
        self.assertNoResult(flushed)
        self.cluster.sent[0].answer()
        self.successResultOf(flushed)
        self.assertEqual(self.sender.hurry, 0)

    def test_callers_that_wait_for_memory(self) -> None:
        """A flush also waits for callers that wait for memory."""
        self.put()
        self.cluster.learn("t", 3)
        self.accumulator.used_bytes += 5000
        self.pool.reserve(50, None, self.put, (), None)
        flushed = self.flush()
        self.accumulator.used_bytes -= 5000
        self.cluster.sent[0].answer()
        self.settle()
        self.assertNoResult(flushed)
        self.cluster.sent[1].answer()
        self.settle()
        self.successResultOf(flushed)

    def test_lost_records(self) -> None:
        """A flush fails with RecordsLost if records without a receipt have failed; the next one does not."""
        self.put()
        self.cluster.learn("t", 3)
        flushed = self.flush()
        self.cluster.sent[0].answer(ErrorCode.INVALID_RECORD)
        self.assertEqual(self.failureResultOf(flushed, RecordsLost).value.count, 1)
        self.successResultOf(self.flush())

    def test_fork(self) -> None:
        """A flush fails in a fork."""
        self.pool.forked(ClientClosed("fork"))
        self.failureResultOf(self.flush(), ClientClosed)
