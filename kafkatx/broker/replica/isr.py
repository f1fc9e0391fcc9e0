"""The in-sync replicas of the partitions that this broker leads: it asks the cluster for their changes.

It touches the cluster's metadata, and the clock that it is handed.
:mod:`kafkatx.broker.replica.leadership` decides who is in sync; partitions say when to look
(:meth:`IsrManager.look_at`), and every half of ``replica.lag.time.max.ms`` all led partitions are looked at.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import islice

import attrs
from twisted.internet.defer import CancelledError
from twisted.internet.interfaces import IDelayedCall, IReactorTime
from twisted.logger import Logger
from twisted.python.failure import Failure

from kafkatx.broker.replica.leadership import Asked, Leadership, Replicas
from kafkatx.broker.replica.logs.log_starts import LogStarts
from kafkatx.broker.replica.partition import Partition
from kafkatx.config import BrokerConfig
from kafkatx.config.table import replication
from kafkatx.errors import ErrorCode
from kafkatx.interfaces import IMetadataStore
from kafkatx.metadata.controller.isr import is_lost
from kafkatx.types import BrokerNode, IsrChange, PartitionState, Topic, TopicPartition

AT_ONCE = 1000
"""Partitions that are looked at in one turn of the reactor."""

LATE = 1.5
"""A pass that is late by more than half of its interval finds followers late, too: the process stood still.
The next one decides."""


@attrs.frozen
class SeenReplicas:
    """The brokers with replicas of one partition, as the cluster's present state shows them."""

    _metadata: IMetadataStore
    _name: TopicPartition

    def may_join(self, broker_id: int, broker_epoch: int) -> bool:
        """See :class:`kafkatx.broker.replica.leadership.Replicas`."""
        state = self._metadata.state
        node: BrokerNode | None = state.brokers.get(broker_id)
        return (
            node is not None
            and node.epoch == broker_epoch
            and not node.stopping
            and state.has_live(broker_id, self._name)
        )

    def is_whole(self, broker_id: int, state: PartitionState) -> bool:
        """See :class:`kafkatx.broker.replica.leadership.Replicas`."""
        cluster = self._metadata.state
        return broker_id in cluster.brokers and not is_lost(broker_id, state, cluster)


_Pending = tuple[Partition, Leadership, Asked]


class IsrManager:
    """Asks for changes of in-sync replicas; those of one turn of the reactor in one call.

    One change of a partition is under way at a time. If its outcome is not known it stays so, and counts,
    until a later state of the partition is seen.

    :ivar broker_id: the id of this broker.
    :ivar lag_s: ``replica.lag.time.max.ms`` in seconds.
    """

    _log = Logger()

    def __init__(
        self, config: BrokerConfig, metadata: IMetadataStore, clock: IReactorTime, log_starts: LogStarts
    ) -> None:
        self.broker_id: int = config.get("broker.id")
        self.lag_s: float = config[replication.REPLICA_LAG_TIME_MAX_MS] / 1000
        self.now_s = clock.seconds
        self.log_start_moved = log_starts.moved
        self._metadata = metadata
        self._clock = clock
        self._led: dict[Partition, None] = {}
        self._looking: dict[Partition, None] = {}
        self._asking: IDelayedCall | None = None
        self._timer: IDelayedCall | None = None
        self._checked_s = 0.0
        self._is_stopped = False

    # --- what partitions ask

    def has_lease(self) -> bool:
        """Return True if no other broker can lead this one's partitions now."""
        remaining_s = self._metadata.lease_remaining_s
        return remaining_s is None or remaining_s() > 0

    def epoch_of(self, broker_id: int) -> int | None:
        """Return the broker epoch of a live broker, None for others."""
        node: BrokerNode | None = self._metadata.state.brokers.get(broker_id)
        return None if node is None else node.epoch

    def replicas_of(self, name: TopicPartition) -> Replicas:
        """Return what the cluster says of the replicas of a partition."""
        return SeenReplicas(self._metadata, name)

    def look_at(self, partition: Partition) -> None:
        """Ask for other in-sync replicas of a partition at the end of this turn, if they must change."""
        self._looking[partition] = None
        if self._asking is None and not self._is_stopped:
            self._asking = self._clock.callLater(0, self._ask)

    # --- following

    def follow(self, partition: Partition) -> None:
        """Note that a partition has another role, leader or epoch."""
        if partition.leadership is None:
            self._led.pop(partition, None)
        else:
            self._led[partition] = None
            self.look_at(partition)
            if self._timer is None and not self._is_stopped:
                self._wait()

    def brokers_changed(self) -> None:
        """Note that brokers have come, gone, registered again, or lost replicas."""
        for partition in tuple(self._led):
            partition.brokers_changed()

    def stop(self) -> None:
        """Ask for nothing any more."""
        self._is_stopped = True
        for timer in (self._timer, self._asking):
            if timer is not None:
                timer.cancel()
        self._timer = self._asking = None

    def _wait(self) -> None:
        self._checked_s = self._clock.seconds()
        self._timer = self._clock.callLater(self.lag_s / 2, self._check)

    def _check(self) -> None:
        """Look at every partition, for members that do not keep up."""
        self._timer = None
        if not self._led:
            return
        late = self._clock.seconds() - self._checked_s > LATE * self.lag_s / 2
        for partition in self._led:
            leadership = partition.leadership
            if leadership is not None and not late:
                leadership.retry()
                self.look_at(partition)
        self._wait()

    # --- asking

    def _ask(self) -> None:
        self._asking = None
        looking = list(islice(self._looking, AT_ONCE))
        for partition in looking:
            del self._looking[partition]
        if self._looking:
            self._asking = self._clock.callLater(0, self._ask)
        if not self.has_lease():
            return
        changes: list[IsrChange] = []
        pending: list[_Pending] = []
        for partition in looking:
            change = self._change(partition)
            if change is not None:
                assert partition.leadership is not None
                changes.append(change)
                pending.append((partition, partition.leadership, partition.leadership.ask(change.isr)))
        if changes:
            self._metadata.alter_isr(changes).addCallbacks(
                self._settled, self._failed, callbackArgs=(pending,), errbackArgs=(pending,)
            )

    def _change(self, partition: Partition) -> IsrChange | None:
        leadership, name = partition.leadership, partition.topic_partition
        topic: Topic | None = self._metadata.state.topics.get(name.topic)
        if leadership is None or topic is None:
            return None
        isr = leadership.next_isr(
            partition.log.log_start_offset,
            partition.log.log_end_offset,
            partition.high_watermark,
            self._clock.seconds(),
            self.lag_s,
            SeenReplicas(self._metadata, name),
        )
        if isr is None:
            return None
        epochs = {one: leadership.followers[one].broker_epoch for one in isr if one != self.broker_id}
        return IsrChange(topic.topic_id, name, leadership.state, isr, epochs, leadership.min_insync)

    def _settled(self, answers: Sequence[PartitionState | ErrorCode], pending: list[_Pending]) -> None:
        for (partition, leadership, asked), answer in zip(pending, answers, strict=True):
            refused = not isinstance(answer, PartitionState)
            before = leadership.asked is asked
            leadership.settle(asked, refused)
            if refused:
                self._log.info(
                    "the in-sync replicas of {partition} stay: {isr} was refused with {code}",
                    partition=partition.topic_partition,
                    isr=list(asked.isr),
                    code=getattr(answer, "name", answer),
                )
            if before and partition.leadership is leadership:
                partition.change_ended()

    def _failed(self, failure: Failure, pending: list[_Pending]) -> None:
        """Leave the changes in doubt: they count until a later state of the partition is seen."""
        if not failure.check(CancelledError):
            self._log.failure("asking for other in-sync replicas failed", failure)
