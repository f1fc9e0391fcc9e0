"""A partition as this broker leads it: its log, and what replication adds to a log."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from kafkatx.types import PartitionState, TopicPartition

if TYPE_CHECKING:
    from kafkatx.broker.parked import ParkedFetch


class Partition:
    """A log with a leader, a leader epoch, in-sync replicas and a high watermark.

    With one replica everything written is replicated: the high watermark is the log's end.

    :ivar log: the ``IPartitionLog``; Any, because it is called per request and zope's types would cost.
    :ivar parked: the fetches that wait for more of this partition.
    """

    __slots__ = ("high_watermark", "isr", "leader", "leader_epoch", "log", "parked", "replicas")

    def __init__(self, log: Any, state: PartitionState) -> None:
        self.log = log
        self.parked: set[ParkedFetch] = set()
        self.high_watermark: int = log.log_end_offset
        self.apply(state)

    @property
    def topic_partition(self) -> TopicPartition:
        """Which partition this is."""
        name: TopicPartition = self.log.topic_partition
        return name

    def apply(self, state: PartitionState) -> None:
        """Take over what the coordinator says."""
        self.leader = state.leader
        self.leader_epoch = state.leader_epoch
        self.replicas = state.replicas
        self.isr = state.isr

    def advance(self) -> None:
        """The log has grown: move the high watermark as far as the in-sync replicas have it."""
        self.high_watermark = self.log.log_end_offset

    @property
    def last_stable_offset(self) -> int:
        """Where a read_committed reader ends; the high watermark while there are no transactions."""
        return self.high_watermark

    def wake(self) -> None:
        """Let the parked fetches look again."""
        for fetch in tuple(self.parked):
            fetch.wake()
