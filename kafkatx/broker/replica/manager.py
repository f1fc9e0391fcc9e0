"""The replica manager: writes what requests have staged, and wakes the fetches that wait for it.

It touches logs, by :class:`kafkatx.interfaces.IPartitionLog`, the clock it is handed, and the cluster's
metadata, which it tells of failed log dirs. Handlers stage records in a partition's log and name the
partition in :attr:`ReplicaManager.staged`; the connection then asks for one round of writing for all that it
has read. :mod:`kafkatx.broker.replica.topics` makes the partitions.
"""

from __future__ import annotations

from collections.abc import Collection

from twisted.internet.defer import CancelledError, Deferred, succeed
from twisted.internet.interfaces import IReactorTime
from twisted.logger import Logger
from twisted.python.failure import Failure

from kafkatx.broker.replica.flushes import FlushScheduler
from kafkatx.broker.replica.partition import Partition
from kafkatx.broker.replica.roles import LeaseEnded
from kafkatx.broker.replica.topics import Topics
from kafkatx.errors import ErrorCode, RequestError
from kafkatx.interfaces import ILogDir, ILogStore, IMetadataStore
from kafkatx.types import TopicPartition

REPORT_AGAIN_S = 5.0
"""After this time the cluster is told again of offline replicas, if it could not be told of them."""

FAILURE_LOG_INTERVAL_S = 10.0
"""Clients retry failed appends again and again: at most one line of the log per interval tells of it."""


class ReplicaManager:
    """The write rounds of this broker's partitions.

    A round writes nothing if this broker has lost its lease: another one may lead its partitions by now. A
    process that was stopped for a while and goes on finds out here, before it has heard anything else.

    :ivar staged: the partitions with records that are staged and not yet written.
    :ivar failed_early: the partitions whose write failed before the round that had staged the records; the
        next :meth:`write_staged` returns them.
    :ivar halted: fires with the reason, for a person, when every log dir is offline.
    """

    _log = Logger()

    def __init__(
        self,
        metadata: IMetadataStore,
        topics: Topics,
        store: ILogStore,
        flushes: FlushScheduler,
        clock: IReactorTime,
    ) -> None:
        self.staged: dict[Partition, None] = {}
        self.failed_early: dict[object, OSError] = {}
        self._metadata = metadata
        self.halted: Deferred[str] = Deferred()
        self._topics = topics
        self._store = store
        self._flushes = flushes
        self._clock = clock
        self._written: list[Partition] = []
        self._failure_logged_s = -FAILURE_LOG_INTERVAL_S
        self._offline: set[TopicPartition] = set()
        self._checkpointed: dict[TopicPartition, int] = {}
        topics.replica_listeners.append(self._role_changed)
        store.on_offline = self._log_dir_failed

    def has_lease(self) -> bool:
        """Return True if no other broker can lead this one's partitions now.

        Without a lease no error may be final that follows from a log, as OUT_OF_ORDER_SEQUENCE_NUMBER: the
        log of the leader may be another one. The answer is NOT_LEADER_OR_FOLLOWER then.
        """
        remaining_s = self._metadata.lease_remaining_s
        return remaining_s is None or remaining_s() > 0

    def write_staged(self) -> dict[object, OSError]:
        """Write the staged records of every partition; return the partitions where that failed, and why.

        Fetches that wait for the records are woken later, by :meth:`wake_waiting`: what they set off must
        not run between two writes of one round.
        """
        staged, self.staged = self.staged, {}
        if self.failed_early:
            failed, self.failed_early = self.failed_early, {}
            return {**failed, **self._write(staged)}
        return self._write(staged)

    def write(self, partition: Partition) -> dict[object, OSError]:
        """Write what the broker itself has staged in one partition; return as :meth:`write_staged`."""
        failed = self._write((partition,))
        if self._written:
            # this may be in the middle of a round of writing
            self._clock.callLater(0, self.wake_waiting)
        return failed

    def _write(self, staged: Collection[Partition]) -> dict[object, OSError]:
        failed: dict[object, OSError] = {}
        if staged and not self.has_lease():
            return self._drop(staged)
        for partition in staged:
            try:
                partition.log.write()
            except OSError as error:
                failed[partition] = error
                self._log_failure(partition, error)
            else:
                partition.advance()
                if partition.flush_s is not None and partition.flush_timer is None:
                    self._flushes.schedule(partition)
                if partition.delayed_fetches or partition.replicated:
                    self._written.append(partition)
        return failed

    def _drop(self, staged: Collection[Partition]) -> dict[object, OSError]:
        """Drop staged records: another broker may lead these partitions."""
        failed: dict[object, OSError] = {}
        for partition in staged:
            partition.log.discard()
            failed[partition] = LeaseEnded()
            self._log_failure(partition, failed[partition])
        return failed

    def _log_failure(self, partition: Partition, error: OSError) -> None:
        now_s = self._clock.seconds()
        if now_s - self._failure_logged_s >= FAILURE_LOG_INTERVAL_S:
            self._failure_logged_s = now_s
            self._log.error(
                "appending to {partition} failed: {error}; nothing of it was acknowledged",
                partition=partition.topic_partition,
                error=error,
            )

    def wake_waiting(self) -> None:
        """Wake the fetches that wait for partitions that were written to."""
        if self._written:
            written, self._written = self._written, []
            for partition in written:
                partition.wake_written()

    # --- high watermarks

    def checkpoint_high_watermarks(self) -> Deferred[None]:
        """Write the high watermarks to the disk, unless they are there. A sole replica needs none.

        :return: fires with None; fails with OSError.
        """
        topics = self._topics
        offsets = {
            partition.topic_partition: partition.high_watermark
            for name in topics.partitions
            for partition in topics.of(name)
            if partition.replicated and not partition.offline
        }
        if offsets == self._checkpointed:
            return succeed(None)
        self._checkpointed = offsets
        written: Deferred[None] = self._store.checkpoint_high_watermarks(offsets)
        return written.addErrback(self._not_checkpointed)

    def _not_checkpointed(self, failure: Failure) -> Failure:
        self._checkpointed = {}
        return failure

    # --- failed log dirs

    def _log_dir_failed(self, log_dir: ILogDir) -> None:
        """Take the partitions of a log dir offline: they answer KAFKA_STORAGE_ERROR from now on."""
        failed = []
        for name, log in log_dir.logs.items():
            partition = self._topics.find(*name)
            if partition is not None and partition.log is log:
                partition.go_offline()
                failed.append(partition)
        # this may be in the middle of a round of writing
        self._clock.callLater(0, self._went_offline, failed)
        if not self.halted.called and all(one.error is not None for one in self._store.dirs):
            self.halted.callback(f"log.dirs: every directory is offline, {log_dir.path} was the last")

    def _went_offline(self, partitions: Collection[Partition]) -> None:
        for partition in partitions:
            partition.fail_commits(ErrorCode.KAFKA_STORAGE_ERROR)
            partition.wake()
            self._topics.tell(partition)

    def _role_changed(self, partition: Partition) -> None:
        """Tell the cluster of a replica that is offline, together with the others of this turn."""
        if not partition.offline or self._metadata.lease_remaining_s is None:
            return
        if not self._offline:
            self._clock.callLater(0, self._report)
        self._offline.add(partition.topic_partition)

    def _report(self) -> None:
        offline, self._offline = self._offline, set()
        self._metadata.report_offline(offline).addErrback(self._not_reported, offline)

    def _not_reported(self, failure: Failure, offline: Collection[TopicPartition]) -> None:
        if failure.check(CancelledError):
            return
        if failure.check(RequestError):
            self._log.warn(
                "the cluster could not be told of {count} replicas that are offline: {error}; it is told"
                " again in a moment",
                count=len(offline),
                error=failure.getErrorMessage(),
            )
        else:
            self._log.failure("the cluster could not be told of replicas that are offline", failure)
        if not self._offline:
            self._clock.callLater(REPORT_AGAIN_S, self._report)
        self._offline.update(offline)
