"""The ends of transactions that were open when a mirror was promoted: its leaders abort them.

The coordinators of these transactions are in the source cluster, and their markers come no more: readers of
committed records would wait for ever. So the leader of a partition whose topic's record says *promoted*
writes an ABORT marker for each open transaction that began below the end in the record (:func:`left_open`).
This rule needs the log and the record alone: a leader that finds them aborted does nothing, one that takes
over before the markers were replicated writes them again, and transactions of the target's own producers,
which begin at the end or later, are left alone.

It happens in the turn of the reactor in which the leader learns that it leads, or that the topic is promoted:
before anything of a producer is appended. It touches the partition's log, and the clock if the log fails.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from twisted.internet.interfaces import IDelayedCall, IReactorTime

from kafkatx.broker.replica.manager import ReplicaManager
from kafkatx.broker.replica.partition import Partition
from kafkatx.broker.replica.roles import Leading
from kafkatx.net.limited_log import LimitedLog
from kafkatx.types import ActiveProducer, Marker

AGAIN_S = 1.0
"""Pause before markers that could not be written are tried again."""

HIGHEST_EPOCH = 2**15 - 1


def left_open(producers: Sequence[ActiveProducer], end: int) -> list[ActiveProducer]:
    """Return the producers with an open transaction that began below *end*, the oldest first."""
    found = [one for one in producers if 0 <= one.txn_start_offset < end]
    return sorted(found, key=lambda one: one.txn_start_offset)


class PromotionMarkers:
    """Writes these markers to the partitions that this broker leads.

    :param now_ms: the wall clock, for the markers' timestamps.
    """

    def __init__(
        self,
        replicas: ReplicaManager,
        clock: IReactorTime,
        now_ms: Callable[[], int],
        limited_log: LimitedLog,
    ) -> None:
        self._replicas = replicas
        self._clock = clock
        self._now_ms = now_ms
        self._limited_log = limited_log
        self._failed: dict[Partition, None] = {}
        self._timer: IDelayedCall | None = None

    def look_at(self, partition: Partition) -> None:
        """Abort what was left open, if this broker leads the partition and its topic is promoted."""
        record, number = partition.mirror, partition.topic_partition.partition
        if record is None or not record.writable or not isinstance(partition.role, Leading):
            return
        if record.ends is None or number >= len(record.ends):  # a partition that was added later
            return
        end = record.ends[number]
        found = left_open(partition.log.active_producers(), end)
        if found and not self._abort(partition, found):
            self._try_again(partition)

    def _abort(self, partition: Partition, producers: Sequence[ActiveProducer]) -> bool:
        """Write a marker for each producer, in an epoch that fences it; return False if that failed."""
        refusals = [why for one in producers if (why := self._stage(partition, one))]
        failed = self._replicas.write(partition).get(partition)
        if failed is not None or refusals:
            self._limited_log.warn(
                "transactions in {partition} that were open when it was promoted are aborted later: {why}",
                partition=partition.topic_partition,
                why=failed or refusals[0],
            )
            return False
        self._limited_log.info(
            "{count} transactions in {partition} were open when it was promoted: they are aborted",
            count=len(producers),
            partition=partition.topic_partition,
        )
        return True

    def _stage(self, partition: Partition, producer: ActiveProducer) -> str:
        """Stage one marker; return why it is refused, or an empty text."""
        epoch = min(producer.producer_epoch + 1, HIGHEST_EPOCH)
        marker = Marker(False, max(producer.coordinator_epoch, 0))
        done = partition.log.append_marker(
            producer.producer_id, epoch, marker, partition.leader_epoch, self._now_ms()
        )
        return (done.message or "") if done.error else ""

    def _try_again(self, partition: Partition) -> None:
        self._failed[partition] = None
        if self._timer is None:
            self._timer = self._clock.callLater(AGAIN_S, self._again)

    def _again(self) -> None:
        self._timer = None
        failed, self._failed = self._failed, {}
        for partition in failed:
            self.look_at(partition)

    def stop(self) -> None:
        """Write nothing any more."""
        self._failed.clear()
        timer, self._timer = self._timer, None
        if timer is not None:
            timer.cancel()
