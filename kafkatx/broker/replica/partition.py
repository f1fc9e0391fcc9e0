"""A partition of which this broker has a replica: a log, a role, and the state that replication adds.

It touches its log only. :mod:`kafkatx.broker.replica.roles` says which role this broker has for it,
:mod:`kafkatx.broker.replica.topics` makes partitions, :mod:`kafkatx.broker.replica.manager` writes to them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from twisted.internet.interfaces import IDelayedCall

from kafkatx.broker.replica.offline_log import OfflineLog
from kafkatx.broker.replica.roles import OFFLINE, Role, choose_role
from kafkatx.config.log_config import LogConfig
from kafkatx.interfaces import IPartitionLog
from kafkatx.names import INTERNAL_TOPICS
from kafkatx.types import PartitionState, TopicPartition

if TYPE_CHECKING:
    from kafkatx.broker.requests.produce_reply import ProduceReply

NEVER = 2**63 - 1
"""The default of ``flush.messages`` and ``flush.ms``."""

EXPOSE_AFTER_MS = 1000
"""Used for ``flush.ms`` where only flushed records are exposed and it is not set: otherwise the last records
would never become visible."""


class Waiter(Protocol):
    """An operation that waits for data, such as :class:`kafkatx.broker.replica.purgatory.DelayedFetch`."""

    def wake(self) -> None:
        """Look whether there is enough now."""


class Partition:
    """A log with a leader, a leader epoch, in-sync replicas and a high watermark.

    While this broker is the only in-sync replica everything written is replicated: the high watermark is the
    log's end. With ``log.expose=flushed`` it is the flushed offset: the paper's rule that a message is
    exposed to consumers only after it is flushed.

    :ivar log: the records.
    :ivar leads: True if this broker leads the partition by the cluster's state, even if the log is offline.
    :ivar role: what this broker does for the partition.
    :ivar error: NONE if this broker leads the partition; otherwise the answer to all requests for it:
        NOT_LEADER_OR_FOLLOWER or KAFKA_STORAGE_ERROR.
    :ivar offline: True if the log's directory has failed; ``log`` refuses everything then.
    :ivar internal: True for the broker's own topics.
    :ivar writable: True if clients may produce: this broker leads it, and it is not internal.
    :ivar delayed_fetches: the fetches that wait for more data of this partition.
    :ivar min_insync_replicas: with fewer in-sync replicas, acks=all is refused.
    :ivar flush_messages: with this many unflushed records, a produce request waits for the disk.
    :ivar flush_s: a record is flushed this long after it was written, in seconds; None: no such limit.
    :ivar flush_timer: the timer of that flush; None while nothing is scheduled.
    :ivar produce_replies: encoded replies to produce requests for this partition alone, by their version.
    """

    __slots__ = (
        "delayed_fetches",
        "error",
        "exposes_flushed",
        "flush_messages",
        "flush_s",
        "flush_timer",
        "high_watermark",
        "internal",
        "isr",
        "leader",
        "leader_epoch",
        "leads",
        "log",
        "min_insync_replicas",
        "offline",
        "produce_replies",
        "replicas",
        "role",
        "writable",
    )

    def __init__(
        self, log: IPartitionLog, state: PartitionState, leads: bool = True, min_insync_replicas: int = 1
    ) -> None:
        self.log: IPartitionLog = log
        self.offline = isinstance(log, OfflineLog)
        self.internal = log.topic_partition.topic in INTERNAL_TOPICS
        self.delayed_fetches: set[Waiter] = set()
        self.high_watermark: int = -1
        self.min_insync_replicas = min_insync_replicas
        self.flush_timer: IDelayedCall | None = None
        self.produce_replies: dict[int, ProduceReply] = {}
        self.leads, self.leader_epoch = False, state.leader_epoch
        self.apply(state, leads)
        self.configure(log.config)
        self.advance()

    @property
    def topic_partition(self) -> TopicPartition:
        """The topic and the number of the partition."""
        name: TopicPartition = self.log.topic_partition
        return name

    def apply(self, state: PartitionState, leads: bool) -> bool:
        """Take over the partition's state in the cluster, and the role that follows from it.

        :param leads: True if this broker leads the partition by that state.
        :return: True if this broker begins or ceases to lead, or leads in another epoch: then the caller
            wakes the delayed fetches.
        """
        before = (self.leads, self.leader_epoch)
        self.leads = leads
        self.leader = state.leader
        self.leader_epoch = state.leader_epoch
        self.replicas = state.replicas
        self.isr = state.isr
        self._take_on(choose_role(state.leader_epoch, leads, self.offline))
        return leads != before[0] or (leads and state.leader_epoch != before[1])

    def resign(self) -> None:
        """Refuse all requests from now on: the topic was deleted."""
        self.leads = False
        self._take_on(choose_role(self.leader_epoch, False, self.offline))

    def _take_on(self, role: Role) -> None:
        self.role = role
        self.error = role.error
        self.writable = not role.error and not self.internal

    def configure(self, config: LogConfig) -> None:
        """Take over the settings of the log, which uses them already."""
        self.flush_messages = config.flush_messages
        self.exposes_flushed = config.exposes_flushed
        self.flush_s: float | None = None
        if config.flush_ms != NEVER:
            self.flush_s = config.flush_ms / 1000
        elif config.exposes_flushed:
            self.flush_s = EXPOSE_AFTER_MS / 1000
        self.log.on_flushed = self._flushed if config.exposes_flushed else None

    def reconfigure(self, config: LogConfig) -> None:
        """Use other settings, in the log as well, from now on."""
        self.log.configure(config)
        self.configure(config)
        before = self.high_watermark
        self.advance()
        if self.high_watermark != before:
            self.wake()

    def advance(self) -> None:
        """Move the high watermark as far as the in-sync replicas have the log.

        It never moves back, not even when only flushed records are exposed from now on.
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
        """True if as many records are unflushed as ``flush.messages`` allows."""
        return bool(self.log.log_end_offset - self.log.flushed_offset >= self.flush_messages)

    @property
    def last_stable_offset(self) -> int:
        """The end for read_committed readers, exclusive: the high watermark, without transactions."""
        return self.high_watermark

    def wake(self) -> None:
        """Wake the delayed fetches."""
        for fetch in tuple(self.delayed_fetches):
            fetch.wake()

    def go_offline(self) -> None:
        """Replace the log by one that refuses everything; the caller wakes the delayed fetches."""
        self.log = OfflineLog(self.log.topic_partition, self.log.config)
        self.offline = True
        self._take_on(OFFLINE)
        self.high_watermark = -1
        self.stop_timer()

    def stop_timer(self) -> None:
        """Cancel the scheduled flush, if there is one."""
        if self.flush_timer is not None:
            self.flush_timer.cancel()
            self.flush_timer = None
