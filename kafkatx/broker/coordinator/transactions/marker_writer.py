"""The markers of transactions in this broker's own partitions. It touches logs through the record writers.

In a partition of ``__consumer_offsets`` a marker also ends the transaction for the group coordinator: the
offsets that are part of it are committed, or dropped.
"""

from __future__ import annotations

from twisted.internet.defer import Deferred

from kafkatx.broker.coordinator.groups.coordinator import GroupCoordinator
from kafkatx.broker.coordinator.runtime.record_writer import RecordWriter, outcome
from kafkatx.broker.coordinator.transactions.verification import PendingVerifications
from kafkatx.broker.replica.manager import ReplicaManager
from kafkatx.broker.replica.topics import Topics
from kafkatx.errors import ErrorCode
from kafkatx.names import CONSUMER_OFFSETS
from kafkatx.transactions.actions import Marker
from kafkatx.transactions.metadata import TV2
from kafkatx.types import Marker as LogMarker
from kafkatx.types import TopicPartition

NOT_LEADER = ErrorCode.NOT_LEADER_OR_FOLLOWER
REFUSED_BY_MIRROR = ErrorCode.POLICY_VIOLATION
"""A link alone writes to the partition: a transaction of this cluster cannot have records there."""

_TO_COORDINATORS = {
    ErrorCode.NOT_COORDINATOR: NOT_LEADER,
    ErrorCode.COORDINATOR_LOAD_IN_PROGRESS: NOT_LEADER,
    ErrorCode.COORDINATOR_NOT_AVAILABLE: ErrorCode.NOT_ENOUGH_REPLICAS_AFTER_APPEND,
}
"""Errors of coordinators, and those that a transaction coordinator is told in their place."""


class MarkerWriter:
    """Writes markers to the partitions that this broker leads."""

    def __init__(
        self,
        topics: Topics,
        groups: GroupCoordinator,
        replicas: ReplicaManager,
        writer: RecordWriter,
        verifications: PendingVerifications,
    ) -> None:
        self._verifications = verifications
        self._topics = topics
        self._groups = groups
        self._replicas = replicas
        self._writer = writer

    def write(
        self, partition: TopicPartition, marker: Marker, coordinator_epoch: int
    ) -> ErrorCode | Deferred[ErrorCode]:
        """Write one marker; return NONE when all in-sync replicas have it, or the error.

        It is not written to a mirror before its promotion: POLICY_VIOLATION.

        :return: also a Deferred of that, which never fails.
        """
        record = LogMarker(marker.commit, coordinator_epoch)
        bumps_epoch = marker.version >= TV2
        self._verifications.marker_written(partition, marker.producer, bumps_epoch)
        if partition.topic == CONSUMER_OFFSETS:
            written = self._end_offsets(partition, marker, record, bumps_epoch)
        else:
            written = self._write(partition, marker, record, bumps_epoch)
        return written.addCallback(_translated) if isinstance(written, Deferred) else _translated(written)

    def _end_offsets(
        self, partition: TopicPartition, marker: Marker, record: LogMarker, bumps_epoch: bool
    ) -> ErrorCode | Deferred[ErrorCode]:
        shard = self._groups.shards.get(partition.partition)
        if shard is None:
            return self._absent(partition)
        return self._groups.commits.end_transaction(shard, marker.producer, record, bumps_epoch)

    def _absent(self, partition: TopicPartition) -> ErrorCode:
        found = self._topics.find(*partition)
        return self._topics.absent(*partition) if found is None else found.error or NOT_LEADER

    def _write(
        self, partition: TopicPartition, marker: Marker, record: LogMarker, bumps_epoch: bool
    ) -> ErrorCode | Deferred[ErrorCode]:
        found = self._topics.find(*partition)
        if found is None:
            return self._topics.absent(*partition)
        if found.is_mirror and not found.error:
            return REFUSED_BY_MIRROR
        error = self._writer.stage_marker(found, marker.producer, record, bumps_epoch)
        if error:
            return error
        if found in self._replicas.write(found):
            return ErrorCode.KAFKA_STORAGE_ERROR
        committed = self._writer.committed(found)
        return ErrorCode.NONE if committed is None else Deferred.fromCoroutine(outcome(committed))


def _translated(error: ErrorCode) -> ErrorCode:
    return _TO_COORDINATORS.get(error, error)
