"""``__consumer_offsets``: groups and offsets are written to it, and loaded from it when the broker starts.

A group's records are in one partition, chosen by the hash of its id; the partition's leader is the group's
coordinator. It touches logs, workers and the clock.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache

from twisted.internet.defer import Deferred
from twisted.internet.interfaces import IReactorTime
from twisted.logger import Logger
from twisted.python.failure import Failure

from kafkatx.broker.coordinator.loader import ReplayRecord, load_partition
from kafkatx.broker.replica.manager import ReplicaManager
from kafkatx.broker.replica.partition import Partition
from kafkatx.broker.replica.topics import Topics
from kafkatx.errors import ErrorCode, RequestError
from kafkatx.group.actions import Record
from kafkatx.interfaces import Workers
from kafkatx.interfaces.storage import TRUSTED
from kafkatx.names import CONSUMER_OFFSETS
from kafkatx.records.header import HEADER_BYTES
from kafkatx.records.keyed import MOST_OVERHEAD, build_keyed

TO_CLIENTS = {
    ErrorCode.UNKNOWN_TOPIC_OR_PARTITION: ErrorCode.COORDINATOR_NOT_AVAILABLE,
    ErrorCode.NOT_ENOUGH_REPLICAS: ErrorCode.COORDINATOR_NOT_AVAILABLE,
    ErrorCode.KAFKA_STORAGE_ERROR: ErrorCode.NOT_COORDINATOR,
    ErrorCode.NOT_LEADER_OR_FOLLOWER: ErrorCode.NOT_COORDINATOR,
    ErrorCode.MESSAGE_TOO_LARGE: ErrorCode.UNKNOWN_SERVER_ERROR,
}
"""The error that members are told for an append's, as in Kafka's ``GroupMetadataManager.storeGroup``: members
know how to go on after these."""

LOG_INTERVAL_S = 10.0

CACHED_GROUPS = 2048
"""For how many groups the partition is cached."""


def java_hash(text: str) -> int:
    """Return Java's ``String.hashCode``: of UTF-16 code units, in 32 bits with a sign."""
    units = text.encode("utf-16-be", "surrogatepass")
    number = 0
    for unit in struct.unpack(f">{len(units) // 2}H", units):
        number = (number * 31 + unit) & 0xFFFFFFFF
    return number - (1 << 32) if number >> 31 else number


@lru_cache(CACHED_GROUPS)
def partition_for(group_id: str, partitions: int) -> int:
    """Return a group's partition, as ``GroupMetadataManager.partitionFor`` does (with ``Utils.abs``)."""
    number = java_hash(group_id)
    return 0 if number == -(1 << 31) else abs(number) % partitions


class OffsetsTopic:
    """The topic, created when it is first needed."""

    _log = Logger()

    def __init__(
        self,
        topics: Topics,
        replicas: ReplicaManager,
        clock: IReactorTime,
        workers: Workers,
        now_ms: Callable[[], int],
    ) -> None:
        self._topics = topics
        self._replicas = replicas
        self._clock = clock
        self._workers = workers
        self._now_ms = now_ms
        self._waiting: list[Deferred[None]] = []
        self._unloaded: dict[int, ErrorCode] = {}
        self._logged_s = -LOG_INTERVAL_S

    @property
    def exists(self) -> bool:
        """True if the topic exists; see :meth:`ensure`."""
        return CONSUMER_OFFSETS in self._topics.partitions

    @property
    def partitions(self) -> Sequence[Partition]:
        """Its partitions; empty before the topic is created."""
        return self._topics.partitions.get(CONSUMER_OFFSETS, ())

    def partition_of(self, group_id: str) -> int:
        """Return the number of a group's partition.

        :raises RequestError: COORDINATOR_NOT_AVAILABLE: the topic does not exist; see :meth:`ensure`.
        """
        return partition_for(group_id, len(self._existing()))

    def find(self, group_id: str) -> Partition:
        """Return a group's partition.

        :raises RequestError: COORDINATOR_NOT_AVAILABLE: the topic does not exist.
        """
        partitions = self._existing()
        return partitions[partition_for(group_id, len(partitions))]

    def _existing(self) -> Sequence[Partition]:
        partitions = self._topics.partitions.get(CONSUMER_OFFSETS)
        if not partitions:
            raise RequestError(ErrorCode.COORDINATOR_NOT_AVAILABLE, f"{CONSUMER_OFFSETS} does not exist yet")
        return partitions

    def check(self, group_id: str) -> ErrorCode:
        """Return NONE if a group's partition is loaded.

        :return: otherwise COORDINATOR_LOAD_IN_PROGRESS, or COORDINATOR_NOT_AVAILABLE if loading has failed.
        """
        if not self._unloaded:
            return ErrorCode.NONE
        return self._unloaded.get(self.partition_of(group_id), ErrorCode.NONE)

    # --- the topic

    def ensure(self) -> Deferred[None]:
        """Create the topic unless it exists. Callers are told in their order, so that requests keep theirs.

        :return: fails with RequestError COORDINATOR_NOT_AVAILABLE. Cancelling it ends the waiting only.
        """
        waiting: Deferred[None] = Deferred()
        self._waiting.append(waiting)
        if len(self._waiting) == 1:
            Deferred.fromCoroutine(self._topics.ensure(CONSUMER_OFFSETS)).addBoth(self._ensured)
        return waiting

    def _ensured(self, result: Failure | None) -> None:
        waiting, self._waiting = self._waiting, []
        message = ""
        if result is not None and result.check(RequestError):
            message = str(result.value)
        elif result is not None:
            self._log.failure("creating {topic} failed", result, topic=CONSUMER_OFFSETS)
            message = "see the broker's log"
        for one in waiting:
            if self.exists:
                one.callback(None)
            else:
                one.errback(RequestError(ErrorCode.COORDINATOR_NOT_AVAILABLE, message))

    # --- writing

    def append(self, group_id: str, records: Sequence[Record]) -> Deferred[int] | None:
        """Write a group's records at once: all of them, or none if they fit into one batch.

        :return: None, or, if ``flush.messages`` makes writers wait, a Deferred that fires when the
            records are flushed, or fails with OSError.
        :raises RequestError: they could not be written; members understand the error code.
        """
        return self.append_to(self.find(group_id), records)

    def append_to(self, partition: Partition, records: Sequence[Record]) -> Deferred[int] | None:
        """Write records of groups to their partition; otherwise like :meth:`append`."""
        for batch in _split(records, partition.log.config.max_message_bytes):
            error = self.stage(partition, batch)
            if error:
                raise RequestError(TO_CLIENTS.get(error, error))
        if partition in self._replicas.write(partition):
            raise RequestError(TO_CLIENTS[ErrorCode.KAFKA_STORAGE_ERROR])
        return partition.log.flush() if partition.must_flush else None

    def stage(self, partition: Partition, records: Sequence[tuple[bytes, bytes | None]]) -> ErrorCode:
        """Stage a batch, to be written with the others of this round; return NONE or the error."""
        if partition.offline:
            return ErrorCode.KAFKA_STORAGE_ERROR
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

    # --- reading

    async def load(self, replay: ReplayRecord, loaded: Callable[[], object]) -> None:
        """Read every partition and replay its records; :meth:`check` tells which are not loaded.

        Problems with one partition, or with a record, are logged and do not affect the others.

        :param replay: called with (key version, key, value), for the last record of each key, in the order
            of their offsets.
        :param loaded: called when all readable records of a partition have been replayed, before
            :meth:`check` returns NONE for it.
        """
        partitions = self.partitions
        self._unloaded = dict.fromkeys(range(len(partitions)), ErrorCode.COORDINATOR_LOAD_IN_PROGRESS)
        worker = self._workers("offsets")
        for number, partition in enumerate(partitions):
            if await load_partition(partition, worker, self._clock, replay):
                loaded()
                del self._unloaded[number]
            else:
                self._unloaded[number] = ErrorCode.COORDINATOR_NOT_AVAILABLE


def _split(records: Sequence[Record], max_bytes: int) -> Iterator[Sequence[Record]]:
    """Split records into batches that the log takes, mostly one; no record is split."""
    first, size = 0, 0
    for number, record in enumerate(records):
        record_bytes = MOST_OVERHEAD + len(record.key) + len(record.value or b"")
        if size and size + record_bytes > max_bytes - HEADER_BYTES:
            yield records[first:number]
            first, size = number, 0
        size += record_bytes
    if records:
        yield records[first:]
