"""The records of a coordinator: they are written to the partitions of its internal topic.

A record counts when it is *committed*: when nothing can take it back any more. It touches logs and the clock.
:mod:`kafkatx.broker.coordinator.runtime.runtime` ends the waiting for a partition that is led no more.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from math import inf

from twisted.internet.defer import Deferred
from twisted.internet.interfaces import IReactorTime
from twisted.logger import Logger
from twisted.python.failure import Failure

from kafkatx.broker.replica.commit_waiters import CommitTimeouts, outcome_now
from kafkatx.broker.replica.manager import ReplicaManager
from kafkatx.broker.replica.partition import Partition
from kafkatx.errors import ErrorCode, RequestError
from kafkatx.interfaces import IAppended
from kafkatx.interfaces.storage import TRUSTED
from kafkatx.records.header import HEADER_BYTES
from kafkatx.records.keyed import MOST_OVERHEAD, build_keyed
from kafkatx.types import Marker

TO_CLIENTS = {
    ErrorCode.UNKNOWN_TOPIC_OR_PARTITION: ErrorCode.COORDINATOR_NOT_AVAILABLE,
    ErrorCode.NOT_ENOUGH_REPLICAS: ErrorCode.COORDINATOR_NOT_AVAILABLE,
    ErrorCode.NOT_ENOUGH_REPLICAS_AFTER_APPEND: ErrorCode.COORDINATOR_NOT_AVAILABLE,
    ErrorCode.REQUEST_TIMED_OUT: ErrorCode.COORDINATOR_NOT_AVAILABLE,
    ErrorCode.KAFKA_STORAGE_ERROR: ErrorCode.NOT_COORDINATOR,
    ErrorCode.NOT_LEADER_OR_FOLLOWER: ErrorCode.NOT_COORDINATOR,
    ErrorCode.MESSAGE_TOO_LARGE: ErrorCode.UNKNOWN_SERVER_ERROR,
}
"""The error that clients are told for an append's, as in Kafka's
``CoordinatorOperationExceptionHelper.handleOperationException``: they know how to go on after these."""

LOG_INTERVAL_S = 10.0

KeyedRecord = tuple[bytes, "bytes | None"]
"""A key and a value; None is a tombstone."""


class RecordWriter:
    """Writes a coordinator's own records to partitions that this broker leads.

    :ivar timeout_s: how long writers wait for the other replicas.
    """

    _log = Logger()

    def __init__(
        self,
        replicas: ReplicaManager,
        clock: IReactorTime,
        now_ms: Callable[[], int],
        timeouts: CommitTimeouts,
    ) -> None:
        self.timeout_s = inf
        self._timeouts = timeouts
        self._replicas = replicas
        self._clock = clock
        self._now_ms = now_ms
        self._pending: dict[Partition, dict[Deferred[None], None]] = {}
        self._logged_s = -LOG_INTERVAL_S

    def append(self, partition: Partition, records: Sequence[KeyedRecord]) -> Deferred[None] | None:
        """Write records at once: all of them, or none if they fit into one batch.

        :return: as :meth:`committed`.
        :raises RequestError: they could not be written; clients understand the error code.
        """
        for batch in _split(records, partition.log.config.max_message_bytes):
            error = self.stage(partition, batch)
            if error:
                raise RequestError(TO_CLIENTS.get(error, error))
        if partition in self._replicas.write(partition):
            raise RequestError(TO_CLIENTS[ErrorCode.KAFKA_STORAGE_ERROR])
        return self.committed(partition)

    def stage(
        self,
        partition: Partition,
        records: Sequence[KeyedRecord],
        transaction: tuple[int, int] | None = None,
    ) -> ErrorCode:
        """Stage a batch, to be written with the others of this round; return NONE or the error.

        :param transaction: the producer id and epoch if the records are part of a transaction.
        """
        error = _refusal(partition)
        if error:
            return error
        now_ms = self._now_ms()
        batch = build_keyed(records, now_ms, transaction)
        verified = transaction is not None
        done = partition.log.append(batch, partition.leader_epoch, now_ms, True, TRUSTED, verified)
        return self._staged(partition, done)

    def stage_marker(
        self, partition: Partition, transaction: tuple[int, int], marker: Marker, bumps_epoch: bool
    ) -> ErrorCode:
        """Stage the marker of a transaction, of any topic, as :meth:`stage`.

        :param transaction: the producer id and the marker's epoch.
        :param bumps_epoch: the transaction is of version 2 (KIP-890).
        """
        error = _refusal(partition)
        if error:
            return error
        leader_epoch, now_ms = partition.leader_epoch, self._now_ms()
        done = partition.log.append_marker(*transaction, marker, leader_epoch, now_ms, bumps_epoch)
        return self._staged(partition, done)

    def _staged(self, partition: Partition, done: IAppended) -> ErrorCode:
        error = ErrorCode.of(done.error)
        if error:
            self._log_refusal(partition, error, done.message)
        return error

    def _log_refusal(self, partition: Partition, error: ErrorCode, message: str | None) -> None:
        """Log at most one line per interval: a client may be at fault, and retries."""
        now_s = self._clock.seconds()
        if now_s - self._logged_s >= LOG_INTERVAL_S:
            self._logged_s = now_s
            self._log.error(
                "{partition} refused the broker's own records: {error} {message}",
                partition=partition.topic_partition,
                error=error.name,
                message=message,
            )

    def committed(self, partition: Partition) -> Deferred[None] | None:
        """Wait until all that is written to a partition is committed, at most for the commit timeout.

        With one replica it is as soon as it is written, unless ``flush.messages`` makes writers wait for the
        disk. With several, all in-sync replicas must have it.

        :return: None if it is committed; else a Deferred that fails with RequestError: NOT_COORDINATOR if the
            flush fails, or if this broker ceases to lead the partition; COORDINATOR_NOT_AVAILABLE if too few
            replicas are in sync, or too slow: then it may be committed later.
        """
        if self._is_committed(partition):
            return None
        pending = self._pending.setdefault(partition, {})
        waiting: Deferred[None] = Deferred(partial(self._cancelled, partition))
        pending[waiting] = None
        deadline_s = self._timeouts.deadline_s(self.timeout_s)
        committing = Deferred.fromCoroutine(self._commit(partition, deadline_s))
        committing.addErrback(self._failed, partition).addCallback(self._ended, partition, waiting)
        return waiting

    def certain(self, partition: Partition) -> Deferred[ErrorCode] | None:
        """Wait, however long that takes, until it is certain what becomes of all that is written.

        :return: None if it is committed; else a Deferred that fires with NONE when it is, or with an error if
            this broker cannot know that any more. It never fails.
        """
        if self._is_committed(partition):
            return None
        return Deferred.fromCoroutine(self._commit(partition, inf)).addErrback(self._failed, partition)

    def _is_committed(self, partition: Partition) -> bool:
        if partition.must_flush:
            return False
        end_offset, leader_epoch = partition.log.log_end_offset, partition.leader_epoch
        return not partition.replicated or outcome_now(partition, end_offset, leader_epoch) == ErrorCode.NONE

    async def _commit(self, partition: Partition, deadline_s: float) -> ErrorCode:
        """Wait for the disk, then for the other replicas; return NONE or the error of the log.

        :raises OSError: the flush has failed.
        """
        end_offset, leader_epoch = partition.log.log_end_offset, partition.leader_epoch
        if partition.must_flush:
            await partition.log.flush()
        if not partition.replicated:
            return ErrorCode.NONE
        code = outcome_now(partition, end_offset, leader_epoch)
        may_recover = code == ErrorCode.NOT_ENOUGH_REPLICAS_AFTER_APPEND and deadline_s == inf
        if code is not None and not may_recover:
            return code
        waiting: Deferred[ErrorCode] = Deferred()
        waiters = partition.commit_waiters
        self._timeouts.add(waiters, end_offset, leader_epoch, deadline_s, waiting.callback)
        return await waiting

    def _failed(self, failure: Failure, partition: Partition) -> ErrorCode:
        if not failure.check(OSError):
            self._log.failure("flushing {partition} failed", failure, partition=partition.topic_partition)
        return ErrorCode.KAFKA_STORAGE_ERROR

    def _ended(self, code: ErrorCode, partition: Partition, waiting: Deferred[None]) -> None:
        if not self._forget(partition, waiting):
            return
        if code:
            waiting.errback(RequestError(TO_CLIENTS.get(code, code)))
        else:
            waiting.callback(None)

    def _cancelled(self, partition: Partition, waiting: Deferred[None]) -> None:
        self._forget(partition, waiting)

    def _forget(self, partition: Partition, waiting: Deferred[None]) -> bool:
        """Return True if a Deferred was waiting; it does no more."""
        pending = self._pending.get(partition)
        if pending is None or waiting not in pending:
            return False
        del pending[waiting]
        if not pending:
            del self._pending[partition]
        return True

    def drop(self, partition: Partition) -> None:
        """End the waiting for a partition with NOT_COORDINATOR: this broker leads it no more."""
        for waiting in self._pending.pop(partition, {}):
            waiting.errback(RequestError(ErrorCode.NOT_COORDINATOR))


async def outcome(committed: Deferred[None] | None) -> ErrorCode:
    """Wait until records are committed; return NONE or the error for clients."""
    if committed is not None:
        try:
            await committed
        except RequestError as error:
            return error.code
    return ErrorCode.NONE


def _refusal(partition: Partition) -> ErrorCode:
    """Return the error of a partition that takes no records now; NONE if it does."""
    if partition.error:
        return partition.error
    too_few = partition.replicated and len(partition.isr) < partition.min_insync
    return ErrorCode.NOT_ENOUGH_REPLICAS if too_few else ErrorCode.NONE


def _split(records: Sequence[KeyedRecord], max_bytes: int) -> Iterator[Sequence[KeyedRecord]]:
    """Split records into batches that the log takes, mostly one; no record is split."""
    first, size = 0, 0
    for number, (key, value) in enumerate(records):
        record_bytes = MOST_OVERHEAD + len(key) + len(value or b"")
        if size and size + record_bytes > max_bytes - HEADER_BYTES:
            yield records[first:number]
            first, size = number, 0
        size += record_bytes
    if records:
        yield records[first:]
