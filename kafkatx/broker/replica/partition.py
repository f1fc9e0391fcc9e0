"""A partition as this broker leads it: its log, and what replication adds to a log."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from twisted.internet.interfaces import IDelayedCall

from kafkatx.broker.replica.offline_log import NoLog
from kafkatx.config.log_config import LogConfig
from kafkatx.names import INTERNAL_TOPICS
from kafkatx.types import PartitionState, TopicPartition

if TYPE_CHECKING:
    from kafkatx.broker.replica.purgatory import ParkedFetch
    from kafkatx.broker.requests.produce_reply import ProduceReply

NEVER = 2**63 - 1
"""The default of ``flush.messages`` and ``flush.ms``."""

EXPOSE_AFTER_MS = 1000
"""``flush.ms`` where only flushed records are exposed and none is set: else the last would stay unseen."""


class Partition:
    """A log with a leader, a leader epoch, in-sync replicas and a high watermark.

    With one replica everything written is replicated: the high watermark is the log's end. With
    ``log.expose=flushed`` it is the flushed offset: the paper's rule that a message is exposed to consumers
    only after it is flushed.

    :ivar log: the ``IPartitionLog``; Any, because it is called per request and zope's types would cost.
    :ivar offline: whether the log's directory has failed; ``log`` refuses everything then.
    :ivar internal: whether the topic is the broker's own.
    :ivar writable: whether clients may produce: neither of these.
    :ivar parked: the fetches that wait for more of this partition.
    :ivar min_insync_replicas: below it, acks=all is refused.
    :ivar flush_messages: so many unflushed records make a produce request wait for the disk.
    :ivar flush_s: so long after it was written a record is forced to the disk; None: no such limit.
    :ivar flush_timer: what will do that; whoever writes sets it.
    :ivar produce_replies: what produce requests for this partition alone are answered, by their version.
    """

    __slots__ = (
        "exposes_flushed",
        "flush_messages",
        "flush_s",
        "flush_timer",
        "high_watermark",
        "internal",
        "isr",
        "leader",
        "leader_epoch",
        "log",
        "min_insync_replicas",
        "offline",
        "parked",
        "produce_replies",
        "replicas",
        "writable",
    )

    def __init__(self, log: Any, state: PartitionState, min_insync_replicas: int = 1) -> None:
        self.log = log
        self.offline = isinstance(log, NoLog)
        self.internal = log.topic_partition.topic in INTERNAL_TOPICS
        self.writable = not self.offline and not self.internal
        self.parked: set[ParkedFetch] = set()
        self.high_watermark: int = -1
        self.min_insync_replicas = min_insync_replicas
        self.flush_timer: IDelayedCall | None = None
        self.produce_replies: dict[int, ProduceReply] = {}
        self.apply(state)
        self.configure(log.config)
        self.advance()

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

    def configure(self, config: LogConfig) -> None:
        """Take over the settings of the log, which has them already."""
        self.flush_messages = config.flush_messages
        self.exposes_flushed = config.exposes_flushed
        self.flush_s: float | None = None
        if config.flush_ms != NEVER:
            self.flush_s = config.flush_ms / 1000
        elif config.exposes_flushed:
            self.flush_s = EXPOSE_AFTER_MS / 1000
        self.log.on_flushed = self._flushed if config.exposes_flushed else None

    def reconfigure(self, config: LogConfig) -> None:
        """Let the log go by other settings from now on."""
        self.log.configure(config)
        self.configure(config)
        before = self.high_watermark
        self.advance()
        if self.high_watermark != before:
            self.wake()

    def advance(self) -> None:
        """The log has grown: move the high watermark as far as the in-sync replicas have it.

        It never goes back, as it would where flushed records only are exposed from now on.
        """
        log = self.log
        if self.exposes_flushed:
            self.high_watermark = max(self.high_watermark, log.flushed_offset)
        else:
            self.high_watermark = log.log_end_offset

    def _flushed(self) -> None:
        self.advance()
        self.wake()

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

    def go_offline(self) -> None:
        """The log can be used no more; whoever is parked here should be woken."""
        self.log = NoLog(self.log.topic_partition, self.log.config)
        self.offline = True
        self.writable = False
        self.high_watermark = -1
        self.stop_timer()

    def stop_timer(self) -> None:
        """Take back what would flush the log later."""
        if self.flush_timer is not None:
            self.flush_timer.cancel()
            self.flush_timer = None
