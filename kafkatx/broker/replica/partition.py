"""A partition of which this broker has a replica: a log, a role, and the state that replication adds.

It touches its log only. :mod:`kafkatx.broker.replica.roles` says which role this broker has for it,
:mod:`kafkatx.broker.replica.leadership` what its leader knows of the other replicas,
:mod:`kafkatx.broker.replica.topics` makes partitions, :mod:`kafkatx.broker.replica.manager` writes to them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from twisted.internet.interfaces import IDelayedCall
from twisted.logger import Logger

from kafkatx.broker.replica.leadership import Cluster, Leadership
from kafkatx.broker.replica.logs.offline_log import OfflineLog
from kafkatx.broker.replica.roles import NO_ROLE, OFFLINE, Following, Leading, Role, choose_role
from kafkatx.broker.replica.waiters import Awaited, wake_each
from kafkatx.config.log_config import LogConfig
from kafkatx.interfaces import IPartitionLog
from kafkatx.interfaces.storage import NO_LIMIT
from kafkatx.names import INTERNAL_TOPICS
from kafkatx.types import PartitionState, TopicPartition

if TYPE_CHECKING:  # few topics are mirrors
    from kafkatx.broker.requests.produce_reply import ProduceReply
    from kafkatx.config.mirror_record import MirrorRecord

NEVER = 2**63 - 1
"""The default of ``flush.messages`` and ``flush.ms``."""

EXPOSE_AFTER_MS = 1000
"""Used for ``flush.ms`` where only flushed records are exposed and it is not set: otherwise the last records
would never become visible."""


class Partition(Awaited):
    """A log with a leader, a leader epoch, in-sync replicas and a high watermark.

    While this broker is the only replica everything written is replicated: the high watermark is the log's
    end. With ``log.expose=flushed`` it is the flushed offset: the paper's rule that a message is exposed to
    consumers only after it is flushed. Of a partition with more replicas the leader moves it by
    :meth:`Leadership.committed_end`, and followers are told (:meth:`followed`).

    :ivar log: the records.
    :ivar state: the partition's state in the cluster; ``leader``, ``leader_epoch``, ``replicas`` and ``isr``
        are parts of it.
    :ivar acts: False if this broker has no role whatever the state says; see :func:`choose_role`.
    :ivar leads: True if this broker leads the partition by the cluster's state, even if the log is offline.
    :ivar role: what this broker does for the partition.
    :ivar error: NONE if this broker leads the partition; otherwise the answer to all requests for it:
        NOT_LEADER_OR_FOLLOWER or KAFKA_STORAGE_ERROR.
    :ivar replicated: True unless this broker is the only replica.
    :ivar leadership: the progress of the other replicas; None unless this broker leads and there are some.
    :ivar kept_start: the log starts at this offset or later, also after a crash: what a follower tells.
    :ivar offline: True if the log's directory has failed; ``log`` refuses everything then.
    :ivar internal: True for the broker's own topics.
    :ivar mirror: the record of the mirror that the topic is; None for other topics.
    :ivar writable: True if clients may produce: :attr:`is_open`, and no ids of schemas are checked first.
    :ivar min_insync_replicas: the setting.
    :ivar min_insync: the same, at most the number of replicas: with fewer in-sync replicas nothing is
        committed, and acks=all is refused.
    :ivar flush_messages: with this many unflushed records, a produce request waits for the disk.
    :ivar flush_s: seconds from a write to its flush by :attr:`flush_timer`; None: no such limit.
    :ivar produce_replies: encoded replies to produce requests for this partition alone, by their version.
    """

    _log = Logger()
    __slots__ = (
        "_cluster",
        "_kept",
        "_replicas_seen",
        "acts",
        "exposes_flushed",
        "flush_messages",
        "flush_s",
        "flush_timer",
        "internal",
        "kept_start",
        "leader",
        "leadership",
        "leads",
        "log",
        "min_insync_replicas",
        "mirror",
        "offline",
        "produce_replies",
        "replicas",
        "role",
        "state",
        "topic_partition",
        "writable",
    )

    def __init__(
        self,
        log: IPartitionLog,
        state: PartitionState,
        cluster: Cluster[Partition],
        acts: bool = True,
        min_insync_replicas: int = 1,
        high_watermark: int = -1,
        mirror: MirrorRecord | None = None,
    ) -> None:
        """Make the partition of an open log; *high_watermark* was written to the disk last, -1: none was."""
        self.log: IPartitionLog = log
        self.topic_partition: TopicPartition = log.topic_partition
        self._cluster = cluster
        self._replicas_seen = cluster.replicas_of(self.topic_partition)
        self.offline = isinstance(log, OfflineLog)
        self.internal = self.topic_partition.topic in INTERNAL_TOPICS
        self.mirror = mirror
        Awaited.__init__(self)
        self.min_insync_replicas = min_insync_replicas
        self.flush_timer: IDelayedCall | None = None
        self.produce_replies: dict[int, ProduceReply] = {}
        self.leadership: Leadership | None = None
        self._kept: tuple[int, Leadership] | None = None
        self.high_watermark = -1
        self.kept_start = log.log_start_offset
        if not self.offline:
            self.high_watermark = min(max(high_watermark, log.log_start_offset), log.log_end_offset)
        self.leads, self.leader_epoch = False, state.leader_epoch
        self.role: Role = NO_ROLE
        self.configure(log.config)
        self.apply(state, acts)
        self.advance()
        self._woken_at = self.high_watermark

    # --- the state

    def apply(self, state: PartitionState, acts: bool) -> bool:
        """Take over the partition's state in the cluster, and the role that follows from it.

        The caller wakes those that wait, when all partitions have their roles: :meth:`change_ended`.

        :param acts: see :func:`choose_role`.
        :return: True if this broker begins or ceases to lead, or leads in another epoch.
        """
        before = (self.leads, self.leader_epoch)
        cluster = self._cluster
        self.state = state
        self.acts = acts
        self.leads = acts and state.leader == cluster.broker_id
        self.leader = state.leader
        self.leader_epoch = state.leader_epoch
        self.replicas = state.replicas
        self.isr = state.isr
        self.replicated = state.replicas != (cluster.broker_id,)
        self.min_insync = min(self.min_insync_replicas, len(state.replicas))
        self.log.deletable_end = self.high_watermark if self.replicated else NO_LIMIT
        self._take_on(choose_role(state, cluster.broker_id, acts, self.offline))
        return self.leads != before[0] or (self.leads and state.leader_epoch != before[1])

    def use_min_insync(self, min_insync_replicas: int) -> None:
        """Use another ``min.insync.replicas`` from now on."""
        self.min_insync_replicas = min_insync_replicas
        self.min_insync = min(min_insync_replicas, len(self.replicas))
        if self.leadership is not None and self.leadership.min_insync != self.min_insync:
            self.leadership.min_insync = self.min_insync
            self.change_ended()

    def resign(self) -> None:
        """Refuse all requests from now on: the topic was deleted, or the partition is another broker's."""
        self.acts = self.leads = False
        self._take_on(OFFLINE if self.offline else NO_ROLE)

    def _take_on(self, role: Role) -> None:
        self.role = role
        self.error = role.error
        self._allow_writes()
        leads = self.replicated and isinstance(role, Leading)
        self.leadership = self._lead() if leads else None

    @property
    def is_mirror(self) -> bool:
        """True if a link fills the topic, and clients may not write to it."""
        return self.mirror is not None and not self.mirror.writable

    @property
    def is_open(self) -> bool:
        """True if clients may produce: this broker leads it, it is not internal, and no link fills it."""
        return not (self.error or self.internal or self.is_mirror)

    def _allow_writes(self) -> None:
        self.writable = self.is_open and not self.log.config.checks_schemas

    def use_mirror(self, mirror: MirrorRecord | None) -> bool:
        """Take over the record of the mirror that the topic is; return True if it is another one.

        With the promotion the leader's own epoch begins in the log.
        """
        if mirror == self.mirror:
            return False
        self.mirror = mirror
        self._allow_writes()
        if self.leadership is not None and not (self.role.error or self.internal or self.is_mirror):
            self._begin_epoch(self.leader_epoch)
        return True

    def _lead(self) -> Leadership | None:
        """Return what is known of the other replicas in this epoch.

        It outlasts a pause of leading in one epoch: a change of the in-sync replicas may still be under way,
        and no other broker has led.
        """
        state, now_s = self.state, self._cluster.now_s()
        if self._kept is not None and self._kept[0] == state.leader_epoch:
            leadership = self._kept[1]
            leadership.apply(state, self.min_insync, now_s)
            if self.leadership is None:
                leadership.begin(now_s)
                if self.mirror is not None and self.mirror.writable:  # since then
                    self._begin_epoch(state.leader_epoch)
        else:
            if self.mirror is None or self.mirror.writable:
                self._begin_epoch(state.leader_epoch)
            if self.offline:
                return None
            end = self.log.log_end_offset
            leadership = Leadership(self._cluster.broker_id, state, self.min_insync, end, now_s)
            self._kept = (state.leader_epoch, leadership)
        leadership.forget_lives(self._cluster.epoch_of)
        return leadership

    def _begin_epoch(self, leader_epoch: int) -> None:
        """Note the epoch, so that followers find where it begins before its first record (KAFKA-7415).

        The log of a mirror has the leader epochs of its source, and no others.
        """
        try:
            self.log.begin_epoch(leader_epoch)
        except OSError as error:  # its log dir may be offline; if not, the first record notes the epoch
            self._log.error(
                "the leader epoch {epoch} of {partition} could not be noted: {error}",
                epoch=leader_epoch,
                partition=self.topic_partition,
                error=error,
            )

    def brokers_changed(self) -> None:
        """Note that brokers have come, gone, or registered again."""
        if self.leadership is not None:
            self.leadership.forget_lives(self._cluster.epoch_of)
            self.change_ended()

    def change_ended(self) -> None:
        """Move the high watermark after a change of the state, and wake those that wait for it."""
        if self.leadership is not None:
            self._cluster.look_at(self)
        if self.leads:
            self.advance()
        self._wake_committed()
        if self.commit_waiters:
            self.commit_waiters.advance(self)
        for delete in tuple(self.delayed_deletes):
            delete.wake()

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
        self._allow_writes()
        before = self.high_watermark
        self.advance()
        if self.high_watermark != before:
            self.wake_written()

    def advance(self) -> None:
        """Move the high watermark as far as the in-sync replicas have the log.

        It never moves back, not even when only flushed records are exposed from now on. A follower's is moved
        by :meth:`followed` alone.
        """
        if self.replicated:
            self._advance_replicated()
            return
        log = self.log
        if self.exposes_flushed:
            self.high_watermark = max(self.high_watermark, log.flushed_offset)
        else:
            self.high_watermark = log.log_end_offset

    def _advance_replicated(self) -> None:
        leadership, cluster = self.leadership, self._cluster
        if leadership is None:
            return
        own_end = self.log.flushed_offset if self.exposes_flushed else self.log.log_end_offset
        end = leadership.committed_end(own_end, cluster.now_s(), cluster.lag_s, self._replicas_seen)
        if end > self.high_watermark and cluster.has_lease():
            self.high_watermark = self.log.deletable_end = end

    def fetched_by(
        self, replica_id: int, broker_epoch: int, fetch_offset: int, log_start_offset: int, now_s: float
    ) -> None:
        """Note that a replica has everything below *fetch_offset*, as its fetch says.

        The request was checked: its leader epoch and broker epoch, and that the replica's log has not
        diverged. It is ignored if this broker does not lead, or the fetcher is no replica. *now_s* is
        the time of the monotonic clock.
        """
        leadership = self.leadership
        if leadership is None:
            return
        before = leadership.followers.get(replica_id)
        moved = before is None or before.log_start_offset != log_start_offset
        end = self.log.log_end_offset
        if leadership.fetched(replica_id, broker_epoch, fetch_offset, log_start_offset, end, now_s) is None:
            return
        if replica_id not in self.isr:
            self._cluster.look_at(self)
        self.advance()
        self._wake_committed()
        if moved:
            wake_each(self.delayed_deletes)

    # --- following

    def followed(self, high_watermark: int, log_start_offset: int) -> None:
        """Take over what the leader tells with the records, after these were written.

        :param high_watermark: the leader's; this one's is at most the log's end.
        :param log_start_offset: where the leader's log starts; records below it, and below the own high
            watermark, are deleted.
        """
        if not isinstance(self.role, Following):
            return
        log = self.log
        self.high_watermark = max(self.high_watermark, min(high_watermark, log.log_end_offset))
        log.deletable_end = self.high_watermark
        start = min(log_start_offset, self.high_watermark)
        if start > log.log_start_offset:
            log.advance_log_start(start)
        if log.log_start_offset > self.kept_start:
            self._cluster.log_start_moved(self)
        self._wake_committed()

    def truncated(self) -> None:
        """Put the high watermark into a follower's log, which was cut or has begun elsewhere (KAFKA-9491)."""
        log = self.log
        self.high_watermark = min(max(self.high_watermark, log.log_start_offset), log.log_end_offset)
        log.deletable_end = self.high_watermark

    def moved_back(self, high_watermark: int) -> None:
        """Put the high watermark into the log of a mirror that this broker leads, which was cut or emptied.

        Of the followers nothing is known any more until they fetch: their logs may have what was cut.
        """
        self.high_watermark = max(high_watermark, self.log.log_start_offset)
        if self.leadership is not None:
            self.log.deletable_end = self.high_watermark
            self.leadership.log_was_cut(self.log.log_end_offset)
        self.commit_waiters.advance(self)
        self.wake()

    def distrust(self) -> None:
        """Forget what is committed: after a power cut, the end of the log may be an old one."""
        if self.replicated and not self.offline:
            self.high_watermark = self._woken_at = self.log.deletable_end = self.log.log_start_offset

    # --- waiting

    def _flushed(self) -> None:
        self.advance()
        self.wake_written()

    @property
    def must_flush(self) -> bool:
        """True if as many records are unflushed as ``flush.messages`` allows."""
        return bool(self.log.log_end_offset - self.log.flushed_offset >= self.flush_messages)

    @property
    def last_stable_offset(self) -> int:
        """The end for readers of committed records, exclusive: open transactions hold them back."""
        return self.log.last_stable_offset(self.high_watermark)

    def go_offline(self) -> None:
        """Replace the log by one that refuses everything; the caller wakes the delayed fetches."""
        self.log = OfflineLog(self.topic_partition, self.log.config)
        self.offline = True
        self._take_on(OFFLINE)
        self.high_watermark = -1
        self.stop_timer()

    def stop_timer(self) -> None:
        """Cancel the scheduled flush, if there is one."""
        if self.flush_timer is not None:
            self.flush_timer.cancel()
            self.flush_timer = None
