"""The sender of markers: to every leader, until all are written."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from twisted.internet.defer import Deferred
from twisted.internet.task import Clock
from twisted.logger import Logger
from twisted.trial.unittest import SynchronousTestCase

from kafkatx.broker.coordinator.transactions.markers import FIRST_PAUSE_S, LONGEST_PAUSE_S, MarkerSender
from kafkatx.errors import ErrorCode
from kafkatx.net.limited_log import LimitedLog
from kafkatx.transactions.actions import Marker, WriteMarkers
from kafkatx.transactions.metadata import Producer
from kafkatx.types import BrokerNode, TopicPartition

MARKER = Marker(Producer(7, 3), True, 0)
OWN, OTHER = BrokerNode(1, "b1", 1), BrokerNode(2, "b2", 2)
A, B, C = (TopicPartition("t", number) for number in range(3))
NONE, NOT_LEADER = ErrorCode.NONE, ErrorCode.NOT_LEADER_OR_FOLLOWER


class Named:
    """An object with some attributes."""

    def __init__(self, **values: Any) -> None:
        self.__dict__.update(values)


class FakeMetadata:
    """The leaders of the partitions of ``t``, by number; -1 has none."""

    def __init__(self) -> None:
        self.leaders = [1, 2, 1]
        self.topics = {"t"}

    @property
    def state(self) -> Any:
        """The cluster's state."""
        partitions = [Named(leader=leader) for leader in self.leaders]
        return Named(
            topics={name: Named(partitions=partitions) for name in self.topics}, brokers={1: OWN, 2: OTHER}
        )


class FakeLocal:
    """Own partitions; the test says what becomes of a marker."""

    def __init__(self) -> None:
        self.result: ErrorCode | Deferred[ErrorCode] = NONE
        self.written: list[TopicPartition] = []

    def write(self, partition: TopicPartition, marker: Marker, epoch: int) -> ErrorCode | Deferred[ErrorCode]:
        """Note a marker."""
        assert (marker, epoch) == (MARKER, 5)
        self.written.append(partition)
        return self.result


class FakeRemote:
    """Other brokers; the test settles what was sent."""

    def __init__(self) -> None:
        self.sent: list[tuple[int, list[TopicPartition], Callable[[TopicPartition, ErrorCode], None]]] = []

    def send(
        self,
        node: BrokerNode,
        partitions: list[TopicPartition],
        marker: Marker,
        epoch: int,
        settle: Callable[[TopicPartition, ErrorCode], None],
    ) -> None:
        """Note a marker."""
        assert (marker, epoch) == (MARKER, 5)
        self.sent.append((node.id, partitions, settle))

    def stop(self) -> Any:
        """Note the stop."""
        self.sent.append((-1, [], lambda partition, error: None))


class SenderTests(SynchronousTestCase):
    def setUp(self) -> None:
        """Make a sender with fakes around it."""
        self.clock, self.metadata = Clock(), FakeMetadata()
        self.local, self.remote = FakeLocal(), FakeRemote()
        self.done: list[Any] = []
        metadata: Any = self.metadata
        self.sender = MarkerSender(
            1,
            metadata,
            self.local,
            self.remote,
            lambda shard, transaction: self.done.append(transaction),
            self.clock,
            LimitedLog(Logger(), self.clock),
        )
        self.shard: Any = Named(coordinator_epoch=5)

    def write(self, *partitions: TopicPartition, name: str = "tx") -> bool:
        """Write the markers of a transaction."""
        transaction: Any = Named(transactional_id=name)
        return self.sender.write(self.shard, transaction, WriteMarkers(MARKER, frozenset(partitions)))

    def test_own(self) -> None:
        """Own partitions are written at once; no call comes later."""
        self.assertTrue(self.write(A, C))
        self.assertEqual(sorted(self.local.written), [A, C])
        self.assertEqual((self.sender.count, self.done, self.clock.getDelayedCalls()), (0, [], []))

    def test_many(self) -> None:
        """The markers of many own partitions are written in several turns."""
        self.metadata.leaders = [1] * 500
        self.assertFalse(self.write(*(TopicPartition("t", number) for number in range(500))))
        self.assertEqual((len(self.local.written), len(self.done)), (200, 0))
        self.clock.advance(0)
        self.assertEqual((len(self.local.written), len(self.done)), (500, 1))
        self.assertEqual(self.clock.getDelayedCalls(), [])

    def test_own_later(self) -> None:
        """A marker that waits for its replicas ends the transaction when it is there."""
        self.local.result = Deferred()
        self.assertFalse(self.write(A))
        self.assertEqual(self.sender.count, 1)
        self.local.result.callback(NONE)
        self.assertEqual((len(self.done), self.sender.count), (1, 0))

    def test_remote(self) -> None:
        """The partitions of another broker are sent to it, and the last result ends the transaction."""
        self.assertFalse(self.write(A, B))
        ((node, partitions, settle),) = self.remote.sent
        self.assertEqual((node, partitions, self.local.written), (2, [B], [A]))
        settle(B, NONE)
        self.assertEqual(len(self.done), 1)
        self.clock.advance(10)
        self.assertEqual(len(self.remote.sent), 1)

    def test_again(self) -> None:
        """A failed marker is sent again, to the leader of that time, with longer and longer pauses."""
        self.write(B)
        pause_s = FIRST_PAUSE_S
        for _ in range(8):
            self.remote.sent.pop()[2](B, NOT_LEADER)
            self.clock.advance(pause_s - 0.001)
            self.assertEqual(self.remote.sent, [])
            self.clock.advance(0.002)
            pause_s = min(2 * pause_s, LONGEST_PAUSE_S)
            self.assertEqual(len(self.remote.sent), 1)
        self.metadata.leaders[1] = 1
        self.remote.sent.pop()[2](B, NOT_LEADER)
        self.clock.advance(LONGEST_PAUSE_S)
        self.assertEqual((self.local.written, len(self.done)), ([B], 1))

    def test_failed_alone(self) -> None:
        """Only what has failed is sent again; results that are awaited are not asked for twice."""
        self.metadata.leaders = [1, 2, 2]
        self.write(B, C)
        (_, partitions, settle) = self.remote.sent.pop()
        self.assertEqual(sorted(partitions), [B, C])
        settle(C, NOT_LEADER)
        self.clock.advance(LONGEST_PAUSE_S)
        self.assertEqual([sent[1] for sent in self.remote.sent], [[C]])
        self.remote.sent[0][2](C, NONE)
        self.assertEqual(self.done, [])
        settle(B, NONE)
        self.assertEqual(len(self.done), 1)

    def test_without_leader(self) -> None:
        """A partition without a leader waits for one."""
        self.metadata.leaders[1] = -1
        self.assertFalse(self.write(B))
        self.assertEqual(self.remote.sent, [])
        self.metadata.leaders[1] = 2
        self.clock.advance(FIRST_PAUSE_S)
        self.assertEqual(len(self.remote.sent), 1)

    def test_deleted(self) -> None:
        """A deleted topic needs no marker, at once or later."""
        self.assertTrue(self.write(TopicPartition("gone", 0), TopicPartition("t", 9)))
        self.write(B)
        self.metadata.topics.clear()
        self.remote.sent[0][2](B, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
        self.clock.advance(FIRST_PAUSE_S)
        self.assertEqual(len(self.done), 1)

    def test_obsolete(self) -> None:
        """A partition that knows a later epoch has been told the end of the transaction before."""
        self.local.result = ErrorCode.INVALID_PRODUCER_EPOCH
        self.assertTrue(self.write(A))
        self.local.result = ErrorCode.TRANSACTION_COORDINATOR_FENCED
        self.assertFalse(self.write(A))
        self.assertEqual(self.sender.count, 1)

    def test_mirror(self) -> None:
        """A partition that a mirror link fills has no records of the transaction, and needs no marker."""
        self.local.result = ErrorCode.POLICY_VIOLATION
        self.assertTrue(self.write(A))
        self.assertEqual(self.sender.count, 0)

    def test_dropped(self) -> None:
        """The markers of a dropped shard are not sent any more, and their results count for nothing."""
        self.write(B)
        self.remote.sent[0][2](B, NOT_LEADER)
        other, self.shard = self.shard, Named(coordinator_epoch=5)
        self.write(B)
        self.sender.drop(other)
        self.assertEqual(self.sender.count, 1)
        self.remote.sent[0][2](B, NONE)
        self.assertEqual(self.done, [])
        self.sender.stop()
        self.assertEqual((self.sender.count, self.clock.getDelayedCalls()), (0, []))
        self.remote.sent[1][2](B, NONE)
        self.assertEqual(self.done, [])
