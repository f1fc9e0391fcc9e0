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
    :ivar min_insync_replicas: below it, acks=all is refused.
    :ivar flush_messages: so many unflushed records make a produce request wait for the disk.
    """

    __slots__ = (
        "flush_messages",
        "high_watermark",
        "isr",
        "leader",
        "leader_epoch",
        "log",
        "min_insync_replicas",
        "parked",
        "replicas",
    )

    def __init__(self, log: Any, state: PartitionState, min_insync_replicas: int = 1) -> None:
        self.log = log
        self.parked: set[ParkedFetch] = set()
        self.high_watermark: int = log.log_end_offset
        self.min_insync_replicas = min_insync_replicas
        self.flush_messages: int = log.config.flush_messages
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
    def must_flush(self) -> bool:
        """Whether as many records are unflushed as ``flush.messages`` allows."""
        return bool(self.log.log_end_offset - self.log.flushed_offset >= self.flush_messages)

    @property
    def last_stable_offset(self) -> int:
        """Where a read_committed reader ends; the high watermark while there are no transactions."""
        return self.high_watermark

    def wake(self) -> None:
        """Let the parked fetches look again."""
        for fetch in tuple(self.parked):
            fetch.wake()
