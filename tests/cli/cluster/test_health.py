"""The state of a cluster from the answers of its brokers."""

from __future__ import annotations

from twisted.trial.unittest import SynchronousTestCase

from kafkatx.cli.cluster.health import (
    AWAY,
    FENCED,
    LIVE,
    SILENT,
    Answer,
    BrokerHealth,
    LaggingPartition,
    OfflinePartition,
    health,
    with_min_isr,
)
from kafkatx.clientcore.metadata import ClusterMetadata, PartitionMetadata, TopicMetadata
from kafkatx.errors import ErrorCode
from kafkatx.types import BrokerNode

STORAGE = ErrorCode.KAFKA_STORAGE_ERROR


def view(*partitions: PartitionMetadata, brokers: tuple[int, ...] = (1, 2)) -> ClusterMetadata:
    """Return the metadata of a cluster with topic ``t``."""
    nodes = {one: BrokerNode(one, f"h{one}", 9092, f"r{one}") for one in brokers}
    topic = TopicMetadata("t", {one.partition: one for one in partitions})
    return ClusterMetadata(nodes, 2, "c", {"t": topic})


def led(number: int, leader: int, error: ErrorCode = ErrorCode.NONE, epoch: int = 0) -> PartitionMetadata:
    """Return a partition with one replica."""
    return PartitionMetadata(number, leader, epoch, (leader,), (leader,), error)


class HealthTests(SynchronousTestCase):
    def test_healthy(self) -> None:
        """Each broker has its address, its rack, and the numbers of what it leads and has."""
        found = view(led(0, 1), led(1, 2), led(2, 2))
        state = health(found, {1: Answer(found), 2: Answer(found)})
        self.assertEqual((state.cluster_id, state.controller, state.partitions, state.led), ("c", 2, 3, 3))
        self.assertEqual(
            state.brokers,
            [BrokerHealth(1, "h1:9092", "r1", 1, 1, LIVE), BrokerHealth(2, "h2:9092", "r2", 2, 2, LIVE)],
        )
        self.assertEqual((state.offline, state.under_replicated), ([], []))

    def test_no_leader(self) -> None:
        """A partition without a leader is offline; the broker that has its replica is away."""
        gone = PartitionMetadata(1, -1, 4, (3,), (3,), ErrorCode.LEADER_NOT_AVAILABLE)
        found = view(led(0, 1), gone)
        state = health(found, {1: Answer(found), 2: Answer(found)})
        self.assertEqual(state.offline, [OfflinePartition("t", 1, [3], "LEADER_NOT_AVAILABLE", -1, [3])])
        self.assertEqual(state.brokers[2], BrokerHealth(3, None, None, 0, 1, AWAY))
        self.assertEqual(state.led, 1)

    def test_silent_broker(self) -> None:
        """A registered broker that does not answer is told from one that is away."""
        found = view(led(0, 1), led(1, 2))
        state = health(found, {1: Answer(found), 2: None})
        self.assertEqual([broker.state for broker in state.brokers], [LIVE, SILENT])
        self.assertEqual(state.offline, [])

    def test_fenced_broker(self) -> None:
        """The partitions of a broker that says that it leads nothing are offline, whatever others say."""
        found = view(led(0, 1), led(1, 2))
        state = health(found, {1: Answer(found), 2: Answer(found, fenced=True)})
        self.assertEqual([broker.state for broker in state.brokers], [LIVE, FENCED])
        self.assertEqual(state.offline, [OfflinePartition("t", 1, [2], "NOT_LEADER_OR_FOLLOWER", 2, [2])])

    def test_failed_log_dir(self) -> None:
        """Only the leader knows that its log dir has failed, and it is believed."""
        found = view(led(0, 1), led(1, 2))
        own = view(led(0, 1), led(1, 2, STORAGE))
        self.assertEqual(
            health(found, {1: Answer(found), 2: Answer(own)}).offline,
            [OfflinePartition("t", 1, [2], "KAFKA_STORAGE_ERROR", 2, [2])],
        )
        self.assertEqual(health(found, {1: Answer(own), 2: Answer(found)}).offline, [])

    def test_leader_behind(self) -> None:
        """A leader that does not know of its last election yet is not believed."""
        found = view(led(0, 1, epoch=5))
        own = view(PartitionMetadata(0, -1, 4, (1,), (1,), ErrorCode.LEADER_NOT_AVAILABLE))
        self.assertEqual(health(found, {1: Answer(own)}).offline, [])

    def test_under_replicated(self) -> None:
        """A partition with a leader that lacks in-sync replicas is named."""
        found = view(PartitionMetadata(0, 1, 0, (1, 2), (1,)))
        state = health(found, {1: Answer(found), 2: Answer(found)})
        self.assertEqual(state.under_replicated, [LaggingPartition("t", 0, 1, [1, 2], [1])])
        self.assertEqual((state.under_min_isr, state.led), ([], 1))

    def test_min_isr(self) -> None:
        """The minimum is at most the number of replicas; where it is unknown, nothing is under it."""
        lacking = [PartitionMetadata(0, 1, 0, (1, 2), (1,)), PartitionMetadata(1, 1, 0, (1, 2, 3), (1, 2))]
        state = health(view(*lacking), {})
        known = with_min_isr(state, {"t": "3"})
        self.assertEqual([one.min_isr for one in known.under_replicated], [2, 3])
        self.assertEqual(known.under_min_isr, known.under_replicated)
        enough = with_min_isr(state, {"t": "2"})
        self.assertEqual([one.partition for one in enough.under_min_isr], [0])
        self.assertEqual(with_min_isr(state, {}), state)
