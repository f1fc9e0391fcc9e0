"""Tests of kafkatx.client.producer.topic_queues: partitioning, and records that wait for metadata."""

from __future__ import annotations

from typing import Any

from twisted.internet.defer import Deferred
from twisted.trial.unittest import SynchronousTestCase

from kafkatx.client.producer.receipts import ListReceipt, LostRecords
from kafkatx.client.producer.sender import Sender
from kafkatx.client.producer.topic_queues import TopicQueues
from kafkatx.clientcore.errors import ClientClosed, RequestTimedOut, UnknownTopic
from kafkatx.clientcore.metadata import ClusterMetadata
from kafkatx.clientcore.producer.config import SenderConfig
from kafkatx.clientcore.producer.values import RecordMetadata
from kafkatx.errors import RequestError
from kafkatx.partitioners import DefaultPartitioner, RoundRobinPartitioner
from tests.client.producer.fake_cluster import FakeCluster, accumulator, topic_metadata


class TopicQueuesTests(SynchronousTestCase):
    def setUp(self) -> None:
        """Make queues of topic t, whose metadata is not known yet."""
        self.make()

    def make(self, partitioner: Any = None, **more: Any) -> None:
        """Make other queues."""
        self.cluster = FakeCluster()
        self.clock = self.cluster.reactor
        self.accumulator = accumulator()
        self.lost = LostRecords()
        cluster: Any = self.cluster
        self.sender = Sender(cluster, self.accumulator, SenderConfig(), self.lost)
        chosen: Any = partitioner or DefaultPartitioner()
        self.queues = TopicQueues(
            cluster, self.accumulator, self.sender, chosen, self.lost, block_s=5.0, **more
        )

    def put(
        self, key: bytes | None = None, partition: int | None = None, value: bytes = b"v"
    ) -> Deferred[RecordMetadata]:
        """Put a record; return its receipt."""
        receipt: Deferred[RecordMetadata] = Deferred()
        self.queues.put("t", key, value, partition, (), 5, 50, receipt)
        return receipt

    def learn(self) -> None:
        """Learn of three partitions."""
        self.put(partition=0)
        self.cluster.learn("t", 3)

    def counts(self) -> list[int]:
        """Return the number of records in each partition's open batch."""
        queues = [self.accumulator.queue("t", partition) for partition in range(3)]
        return [queue.open.count if queue.open is not None else 0 for queue in queues]

    # -- records that wait for metadata

    def test_wait_for_metadata(self) -> None:
        """Records wait for one lookup, keep their order, and count as used memory meanwhile."""
        self.put(partition=1, value=b"a")
        self.put(partition=1, value=b"b")
        self.assertEqual((list(self.cluster.lookups), self.accumulator.used_bytes), (["t"], 100))
        self.cluster.learn("t", 3)
        batch = self.accumulator.queue("t", 1).open
        assert batch is not None
        self.assertEqual(batch.rows.values, [b"a", b"b"])
        self.assertEqual(self.accumulator.used_bytes, batch.size_bytes)

    def test_unknown_topic(self) -> None:
        """A failed lookup fails its records, and the next record begins another lookup."""
        receipt = self.put()
        self.cluster.lookups.pop("t").errback(UnknownTopic("t"))
        self.failureResultOf(receipt, UnknownTopic)
        self.assertEqual(self.accumulator.used_bytes, 0)
        self.put()
        self.assertEqual(list(self.cluster.lookups), ["t"])

    def test_bad_name(self) -> None:
        """A name that no topic can have is refused without a lookup."""
        self.assertRaises(RequestError, self.queues.put, "a/b", None, b"v", None, (), 5, 50, None)
        self.assertEqual(self.cluster.lookups, {})

    def test_too_long(self) -> None:
        """A record waits for metadata for five seconds; a later one waits longer."""
        first = self.put()
        self.clock.advance(3)
        second = self.put()
        self.clock.advance(2)
        error = self.failureResultOf(first, RequestTimedOut).value
        self.assertEqual(
            str(error),
            "the partitions of topic 't' are not known after 5 s (max.block.ms): no broker has answered",
        )
        self.assertNoResult(second)
        self.cluster.learn("t", 3)
        self.assertEqual(sum(self.counts()), 1)

    def test_wait_for_topics(self) -> None:
        """wait_for_topics() ends when no record waits for metadata any more."""
        self.put()
        waiting = Deferred.fromCoroutine(self.queues.wait_for_topics())
        self.assertNoResult(waiting)
        self.cluster.learn("t", 3)
        self.successResultOf(waiting)

    def test_close(self) -> None:
        """close() fails the records that wait, and stops timers and lookups."""
        receipt = self.put()
        self.queues.close(ClientClosed("closed"))
        self.failureResultOf(receipt, ClientClosed)
        self.assertEqual((self.clock.getDelayedCalls(), self.accumulator.used_bytes), ([], 0))

    # -- partitions

    def test_no_such_partition(self) -> None:
        """A partition that the topic does not have is refused, until the topic has grown."""
        self.learn()
        self.assertRaises(RequestError, self.put, None, 3)
        self.cluster.leaders[3] = 1
        assert self.cluster.listener is not None
        grown = ClusterMetadata(topics={"t": topic_metadata("t", 4)})
        self.cluster.listener(ClusterMetadata(), grown)
        self.put(partition=3)

    def test_key(self) -> None:
        """Records with one key go to one partition."""
        self.learn()
        before = self.counts()
        for _ in range(3):
            self.put(key=b"k")
        gained = [after - old for old, after in zip(before, self.counts(), strict=True)]
        self.assertEqual(sorted(gained), [0, 0, 3])

    def test_ignore_keys(self) -> None:
        """With partitioner.ignore.keys records with a key are partitioned as if they had none."""
        self.make(ignore_keys=True)
        self.put(key=b"k")
        self.cluster.learn("t", 3)
        (partition,) = [number for number, count in enumerate(self.counts()) if count]
        for number in range(3):
            self.put(key=b"%d" % number)
        self.assertEqual(self.counts()[partition], 4, "all in the sticky partition's batch")
        self.assertIn("t", self.queues.open_batches)

    def test_full_batch(self) -> None:
        """A record that does not fit in the open batch makes the partitioner choose again."""

        class Turns(RoundRobinPartitioner):
            turn = 0

            def partition(self, topic: str, key: bytes | None, partitions: int) -> int:
                return self.turn % partitions

            def batch_sent(self, topic: str) -> None:
                self.turn += 1

        self.make(Turns())
        self.learn()
        for _ in range(2):
            self.queues.put("t", None, b"x" * 150, None, (), 5, 174, None)
        self.assertEqual(self.counts(), [0, 1, 0])
        self.assertEqual(len(self.accumulator.queue("t", 0).waiting), 1)

    def test_sticky(self) -> None:
        """Records without a key stay in one batch; when it is full another partition is chosen."""
        self.put()
        self.cluster.learn("t", 3)
        for _ in range(3):
            self.put()
        self.assertEqual(sorted(self.counts()), [0, 0, 4])
        self.assertIs(self.queues.open_batches["t"], self.accumulator.queue("t", self.counts().index(4)).open)
        for _ in range(100):
            self.put(value=b"x" * 100)
        used = [bool(self.accumulator.queue("t", partition).waiting) for partition in range(3)]
        self.assertGreater(sum(used), 1)

    def test_partitioner_that_fails(self) -> None:
        """An exception of batch_sent is logged."""

        class Broken(RoundRobinPartitioner):
            def batch_sent(self, topic: str) -> None:
                raise ZeroDivisionError

        self.make(Broken())
        self.learn()
        self.accumulator.close_all()
        self.assertEqual(len(self.flushLoggedErrors(ZeroDivisionError)), 1)

    # -- lists

    def test_list(self) -> None:
        """A list without a key goes to one partition in few batches; the receipt waits for each."""
        self.learn()
        receipt = ListReceipt(100)
        self.queues.put_values("t", None, [b"x" * 40] * 100, 1, 5, receipt)
        batches = list(self.accumulator.unsettled())
        self.assertEqual(sum(batch.count for batch in batches if batch.partition == 1), 100)
        for batch in batches:
            if batch.partition == 1:
                self.assertNoResult(receipt.deferred)
                receipt.delivered(batch, 0, batch.count, 5)
        self.successResultOf(receipt.deferred)

    def test_list_that_changes(self) -> None:
        """A list that waits for metadata is copied: the caller may change it."""
        values = [b"a"]
        self.queues.put_values("t", b"k", values, 0, 5, ListReceipt(1))
        values.append(b"b")
        self.cluster.learn("t", 3)
        self.assertEqual(self.counts(), [1, 0, 0])

    # -- producer.type=sync

    def test_sync(self) -> None:
        """With sync each call's records are sent before it returns."""
        self.make(sync=True)
        self.learn()
        self.clock.advance(0)
        self.put(partition=1)
        self.put(partition=1)
        self.assertEqual([request.partitions for request in self.cluster.sent], [[0], [1], [1]])

    def test_hold(self) -> None:
        """Between hold() and release() nothing is sent, and then all together."""
        self.make(sync=True)
        self.learn()
        self.clock.advance(0)
        self.queues.hold()
        self.put(partition=1)
        self.put(partition=2)
        self.assertEqual(len(self.cluster.sent), 1)
        self.queues.release()
        self.assertEqual(self.cluster.sent[1].partitions, [1, 2])
