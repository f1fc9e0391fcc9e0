"""The cluster of a partition, as a test says it is."""

from __future__ import annotations

from kafkatx.broker.replica.partition import Partition
from kafkatx.types import PartitionState, TopicPartition


class FakeCluster:
    """A cluster of which a test decides everything.

    :ivar time_s: the present time.
    :ivar lease: True if no other broker can lead.
    :ivar epochs: the broker epochs of the live brokers.
    :ivar unfit: brokers whose replicas may not join.
    :ivar went_down: the revisions at which brokers registered whose machines had gone down.
    :ivar looked_at: the partitions that want other in-sync replicas.
    """

    def __init__(self, broker_id: int = 1, lag_s: float = 30.0) -> None:
        self.broker_id = broker_id
        self.lag_s = lag_s
        self.time_s = 1000.0
        self.lease = True
        self.epochs: dict[int, int] = {1: 11, 2: 12, 3: 13, 4: 14}
        self.unfit: set[int] = set()
        self.went_down: dict[int, int] = {}
        self.looked_at: list[Partition] = []

    def now_s(self) -> float:
        """Return the time that the test says it is."""
        return self.time_s

    def has_lease(self) -> bool:
        """Return :attr:`lease`."""
        return self.lease

    def epoch_of(self, broker_id: int) -> int | None:
        """Return the epoch of a live broker."""
        return self.epochs.get(broker_id)

    def replicas_of(self, name: TopicPartition) -> FakeCluster:
        """Return this cluster: the test says the same for all partitions."""
        return self

    def may_join(self, broker_id: int, broker_epoch: int) -> bool:
        """Return True for a live broker in its present life, unless it is unfit."""
        return self.epochs.get(broker_id) == broker_epoch and broker_id not in self.unfit

    def is_whole(self, broker_id: int, state: PartitionState) -> bool:
        """Return True for a live broker whose machine did not go down after the state was written."""
        return broker_id in self.epochs and self.went_down.get(broker_id, -1) < state.revision

    def look_at(self, partition: Partition) -> None:
        """Remember the call."""
        self.looked_at.append(partition)

    def log_start_moved(self, partition: Partition) -> None:
        """Take it that it is on the disk at once."""
        partition.kept_start = partition.log.log_start_offset
