"""The records of a coordinator: they are written to the partitions of its internal topic.

A record counts when it is *committed*: when nothing can take it back any more. It touches logs and the clock.
:mod:`kafkatx.broker.coordinator.runtime.runtime` ends the waiting for a partition that is led no more.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial

from twisted.internet.defer import Deferred
from twisted.internet.interfaces import IReactorTime
from twisted.logger import Logger
from twisted.python.failure import Failure

from kafkatx.broker.replica.manager import ReplicaManager
from kafkatx.broker.replica.partition import Partition
from kafkatx.errors import ErrorCode, RequestError
from kafkatx.interfaces.storage import TRUSTED
from kafkatx.records.header import HEADER_BYTES
from kafkatx.records.keyed import MOST_OVERHEAD, build_keyed

TO_CLIENTS = {
    ErrorCode.UNKNOWN_TOPIC_OR_PARTITION: ErrorCode.COORDINATOR_NOT_AVAILABLE,
    ErrorCode.NOT_ENOUGH_REPLICAS: ErrorCode.COORDINATOR_NOT_AVAILABLE,
    ErrorCode.KAFKA_STORAGE_ERROR: ErrorCode.NOT_COORDINATOR,
    ErrorCode.NOT_LEADER_OR_FOLLOWER: ErrorCode.NOT_COORDINATOR,
    ErrorCode.MESSAGE_TOO_LARGE: ErrorCode.UNKNOWN_SERVER_ERROR,
}
"""The error that clients are told for an append's, as in Kafka's ``GroupMetadataManager.storeGroup`` and
``TransactionStateManager.appendTransactionToLog``: they know how to go on after these."""

LOG_INTERVAL_S = 10.0

KeyedRecord = tuple[bytes, "bytes | None"]
"""A key and a value; None is a tombstone."""


class RecordWriter:
    """Writes a coordinator's own records to partitions that this broker leads."""

    _log = Logger()

    def __init__(self, replicas: ReplicaManager, clock: IReactorTime, now_ms: Callable[[], int]) -> None:
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

    def stage(self, partition: Partition, records: Sequence[KeyedRecord]) -> ErrorCode:
        """Stage a batch, to be written with the others of this round; return NONE or the error."""
        if partition.error:
            return partition.error
        if len(partition.isr) < partition.min_insync_replicas:
            return ErrorCode.NOT_ENOUGH_REPLICAS
        now_ms = self._now_ms()
        batch = build_keyed(records, now_ms)
        done = partition.log.append(batch, partition.leader_epoch, now_ms, True, TRUSTED)
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
        """Wait until all that is written to a partition is committed.

        With one replica it is as soon as it is written, unless ``flush.messages`` makes writers wait for the
        disk.

        :return: None if it is committed; else a Deferred that fails with RequestError NOT_COORDINATOR if
            the flush fails, or if this broker ceases to lead the partition.
        """
        if not partition.must_flush:
            return None
        pending = self._pending.setdefault(partition, {})
        waiting: Deferred[None] = Deferred(partial(self._cancelled, partition))
        pending[waiting] = None
        partition.log.flush().addBoth(self._flushed, partition, waiting)
        return waiting

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

    def _flushed(self, result: int | Failure, partition: Partition, waiting: Deferred[None]) -> None:
        if isinstance(result, Failure) and not result.check(OSError):
            self._log.failure("flushing {partition} failed", result, partition=partition.topic_partition)
        if not self._forget(partition, waiting):
            return
        if isinstance(result, Failure):
            waiting.errback(RequestError(TO_CLIENTS[ErrorCode.KAFKA_STORAGE_ERROR]))
        else:
            waiting.callback(None)

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
