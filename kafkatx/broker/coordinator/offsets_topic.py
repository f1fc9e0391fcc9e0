"""``__consumer_offsets``: where groups and their offsets are written, and read from when the broker starts.

A group's records are in one partition, which the hash of its id gives; its leader is the group's coordinator.
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
"""What an append's error becomes, as in Apache Kafka's ``GroupMetadataManager.storeGroup``: members of groups
know how to go on from these."""


SAY_REFUSED_EVERY_S = 10.0

REMEMBERED = 2048
"""Of so many groups the partition is not computed anew with each commit."""


def java_hash(text: str) -> int:
    """Java's ``String.hashCode``: of UTF-16 code units, in 32 bits with a sign."""
    units = text.encode("utf-16-be", "surrogatepass")
    number = 0
    for unit in struct.unpack(f">{len(units) // 2}H", units):
        number = (number * 31 + unit) & 0xFFFFFFFF
    return number - (1 << 32) if number >> 31 else number


@lru_cache(REMEMBERED)
def partition_for(group_id: str, partitions: int) -> int:
    """The partition of a group, as ``GroupMetadataManager.partitionFor`` has it (with ``Utils.abs``)."""
    number = java_hash(group_id)
    return 0 if number == -(1 << 31) else abs(number) % partitions


class OffsetsTopic:
    """The topic, made when it is first needed."""

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
        self._said_refused_s = -SAY_REFUSED_EVERY_S

    @property
    def exists(self) -> bool:
        """Whether groups can be written; else see :meth:`ensure`."""
        return CONSUMER_OFFSETS in self._topics.partitions

    @property
    def partitions(self) -> Sequence[Partition]:
        """Its partitions; none before the topic is made."""
        return self._topics.partitions.get(CONSUMER_OFFSETS, ())

    def partition_of(self, group_id: str) -> int:
        """The number of a group's partition.

        :raises RequestError: COORDINATOR_NOT_AVAILABLE: the topic is not there; see :meth:`ensure`.
        """
        return partition_for(group_id, len(self._existing()))

    def find(self, group_id: str) -> Partition:
        """A group's partition.

        :raises RequestError: COORDINATOR_NOT_AVAILABLE: the topic is not there.
        """
        partitions = self._existing()
        return partitions[partition_for(group_id, len(partitions))]

    def _existing(self) -> Sequence[Partition]:
        partitions = self._topics.partitions.get(CONSUMER_OFFSETS)
        if not partitions:
            raise RequestError(ErrorCode.COORDINATOR_NOT_AVAILABLE, f"{CONSUMER_OFFSETS} is not there yet")
        return partitions

    def check(self, group_id: str) -> ErrorCode:
        """Whether the group's partition is loaded: NONE, COORDINATOR_LOAD_IN_PROGRESS while it is not, or
        COORDINATOR_NOT_AVAILABLE where it could not be."""
        if not self._unloaded:
            return ErrorCode.NONE
        return self._unloaded.get(self.partition_of(group_id), ErrorCode.NONE)

    # --- the topic

    def ensure(self) -> Deferred[None]:
        """Have the topic. Who asks first is told first, so that requests that wait for it keep their order.

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

        :return: None, or, where ``flush.messages`` makes writers wait for the disk, what fires when they are
            there and fails with OSError.
        :raises RequestError: they could not be written; the code is one that members understand.
        """
        return self.append_to(self.find(group_id), records)

    def append_to(self, partition: Partition, records: Sequence[Record]) -> Deferred[int] | None:
        """Write records of groups of one partition; else as :meth:`append`."""
        for batch in _parted(records, partition.log.config.max_message_bytes):
            error = self.stage(partition, batch)
            if error:
                raise RequestError(TO_CLIENTS.get(error, error))
        if partition in self._replicas.write(partition):
            raise RequestError(TO_CLIENTS[ErrorCode.KAFKA_STORAGE_ERROR])
        return partition.log.flush() if partition.must_flush else None

    def stage(self, partition: Partition, records: Sequence[tuple[bytes, bytes | None]]) -> ErrorCode:
        """Stage a batch, to be written with the others of this round; give the protocol's error, or NONE."""
        if partition.offline:
            return ErrorCode.KAFKA_STORAGE_ERROR
        if len(partition.isr) < partition.min_insync_replicas:
            return ErrorCode.NOT_ENOUGH_REPLICAS
        now_ms = self._now_ms()
        batch = build_keyed(records, now_ms)
        done = partition.log.append(batch, partition.leader_epoch, now_ms, True, TRUSTED)
        error = ErrorCode.of(done.error)
        if error:
            self._say_refused(partition, error, done.message)
        return error

    def _say_refused(self, partition: Partition, error: ErrorCode, message: str | None) -> None:
        """Tell it once in a while: it may be the fault of a client, who tries again and again."""
        now_s = self._clock.seconds()
        if now_s - self._said_refused_s >= SAY_REFUSED_EVERY_S:
            self._said_refused_s = now_s
            self._log.error(
                "{partition} does not take what the broker writes to it: {error} {message}",
                partition=partition.topic_partition,
                error=error.name,
                message=message,
            )

    # --- reading

    async def load(self, replay: ReplayRecord, loaded: Callable[[], object]) -> None:
        """Read every partition and replay what stands in it; :meth:`check` tells which are not done.

        What is wrong with one partition, or with a record, is told in the broker's log and keeps nobody else.

        :param replay: called with (key version, key, value), for the last record of each key, in the order
            of their offsets.
        :param loaded: called when all of a partition that could be read has been replayed, before
            :meth:`check` says so.
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


def _parted(records: Sequence[Record], max_bytes: int) -> Iterator[Sequence[Record]]:
    """Cut records into batches that the log takes: mostly one, and no record is ever cut."""
    first, size = 0, 0
    for number, record in enumerate(records):
        record_bytes = MOST_OVERHEAD + len(record.key) + len(record.value or b"")
        if size and size + record_bytes > max_bytes - HEADER_BYTES:
            yield records[first:number]
            first, size = number, 0
        size += record_bytes
    if records:
        yield records[first:]
