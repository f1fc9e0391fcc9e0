"""One fetch request of a client that reads committed records: available data, and the response.

It touches logs, by :class:`kafkatx.interfaces.IPartitionLog`. :mod:`kafkatx.broker.handlers.fetch` waits
until there is enough; :mod:`~kafkatx.broker.fetch.by_ids` finds topics by their ids,
:mod:`~kafkatx.broker.fetch.old_clients` knows what old versions cannot read.
"""

from __future__ import annotations

from collections.abc import Callable

from twisted.internet.defer import Deferred

from kafkatx.broker.broker import Broker
from kafkatx.broker.fetch.answers import epoch_error, refused
from kafkatx.broker.fetch.read_replicas import (
    NO_REPLICA,
    RACKS_SINCE,
    elsewhere,
    follower_error,
    preferred_replica,
)
from kafkatx.broker.replica.partition import Partition
from kafkatx.broker.requests.context import RequestContext
from kafkatx.counts import PartitionCounts
from kafkatx.errors import ErrorCode, RequestError
from kafkatx.interfaces.storage import NO_LIMIT
from kafkatx.types import Records
from kafkatx.wire.messages.fetch import (
    AbortedTransaction,
    FetchableTopicResponse,
    FetchPartition,
    FetchRequest,
    FetchResponse,
    PartitionData,
)

READ_COMMITTED = 1
MOST_ABORTED = 1000
"""The most aborted transactions that a partition's answer lists: with more, it has fewer records."""
_ABORTED_BYTES = 17
"""The size of one of them in a response."""


class FetchRound:
    """One fetch request: it measures the available data and makes the response."""

    def __init__(self, broker: Broker, request: FetchRequest, context: RequestContext) -> None:
        self._broker = broker
        self._find: Callable[[str, int], Partition | None] = broker.topics.find
        self._request = request
        self._context = context
        self._committed = request.isolation_level == READ_COMMITTED
        self._limit: int = min(request.max_bytes, broker.config.get("fetch.max.bytes"))
        if broker.quotas.consumer is not None:  # a larger reply would be held back
            largest = broker.quotas.consumer.largest(context.peer.session.principal, context.client_id)
            self._limit = int(min(self._limit, largest))
        self._may_read: Callable[[str], bool] | None = None
        self._later: set[tuple[str, int]] = set()
        self._rack = request.rack_id if broker.reads_by_rack else ""

    def restrict(self, may_read: Callable[[str], bool]) -> None:
        """Refuse the partitions of topics that the client may not read, whether they exist or not."""
        find = self._find
        self._may_read = may_read
        self._find = lambda topic, number: find(topic, number) if may_read(topic) else None

    def load(self) -> list[Deferred[None]]:
        """Start to read cold data from the disk, as much as the reply may hold; return what to wait for.

        The partitions after that are left out of the reply: clients put them first in the next request.
        """
        find, room = self._find, self._limit
        loading: list[Deferred[None]] = []
        for topic in self._request.topics:
            for asked in topic.partitions:
                if room <= 0 and loading:
                    self._later.add((topic.topic, asked.partition))
                    continue
                partition = find(topic.topic, asked.partition)
                if partition is None:
                    continue
                cold = partition.log.warm(asked.fetch_offset, min(room, asked.partition_max_bytes))
                if cold is not None:
                    self._broker.cold_reads += 1
                    loading.append(cold)
                    room -= asked.partition_max_bytes
        return loading

    def wanted(self) -> list[Partition]:
        """Return the requested partitions that this broker has."""
        find = self._find
        found = [find(t.topic, p.partition) for t in self._request.topics for p in t.partitions]
        return [partition for partition in found if partition is not None]

    def is_enough(self) -> bool:
        """Return True if the reply would have min_bytes, or an error."""
        find = self._find
        missing = min(self._request.min_bytes, self._limit)  # a reply never has more than its limit
        for topic in self._request.topics:
            for asked in topic.partitions:
                partition = find(topic.topic, asked.partition)
                if partition is None or self._check(partition, asked):
                    return True
                if self._rack and self._preferred(partition, asked) != NO_REPLICA:
                    return True
                if self._later and (topic.topic, asked.partition) in self._later:
                    continue
                end = self._end_offset(partition)
                if asked.fetch_offset < end:
                    readable = partition.log.readable_bytes(asked.fetch_offset, end)
                    missing -= min(readable, asked.partition_max_bytes)
                    if missing <= 0:
                        return True
        return missing <= 0

    def _end_offset(self, partition: Partition) -> int:
        """Return the end of what the reader may see, exclusive (the design's invariant 3)."""
        return partition.last_stable_offset if self._committed else partition.high_watermark

    def _check(self, partition: Partition, asked: FetchPartition) -> int:
        """Return the error that prevents reading, or 0."""
        error = epoch_error(partition, asked.current_leader_epoch)
        if error:
            knows_racks = self._context.version >= RACKS_SINCE
            by_follower = follower_error(partition, asked) if knows_racks else None
            return error if by_follower is None else by_follower
        log = partition.log
        if log.log_start_offset <= asked.fetch_offset <= log.log_end_offset:
            return ErrorCode.NONE
        return self._out_of_range()

    def _out_of_range(self) -> ErrorCode:
        """Return the error for an offset that this log does not have; without a lease another one may."""
        has_lease = self._broker.replicas.has_lease()
        return ErrorCode.OFFSET_OUT_OF_RANGE if has_lease else ErrorCode.NOT_LEADER_OR_FOLLOWER

    def _preferred(self, partition: Partition, asked: FetchPartition) -> int:
        """Return the replica in the consumer's rack that it should read from."""
        leadership = partition.leadership
        if leadership is None:
            return NO_REPLICA
        broker = self._broker
        name, offset = partition.topic_partition, asked.fetch_offset
        return preferred_replica(broker.metadata.state, broker.node_id, name, leadership, offset, self._rack)

    def _missing(self, topic: str, number: int) -> ErrorCode:
        """Return the error for a partition that this broker does not have."""
        return self._broker.topics.absent(topic, number)

    def respond(self) -> FetchResponse | Deferred[FetchResponse]:
        """Read the available data, up to the request's limits."""
        limit, first = self._limit, True
        responses = []
        for topic in self._request.topics:
            results = []
            for asked in topic.partitions:
                result = self._read(topic.topic, asked, limit, first)
                size = len(result.records or ())
                limit -= size
                first = first and not size
                if result.aborted_transactions:
                    limit -= _ABORTED_BYTES * len(result.aborted_transactions)
                results.append(result)
            responses.append(FetchableTopicResponse(topic.topic, topic.topic_id, results))
        return FetchResponse(responses=responses)

    def _read(self, topic: str, asked: FetchPartition, limit: int, first: bool) -> PartitionData:
        """Read one partition; only the first one with data may exceed the limits."""
        partition = self._find(topic, asked.partition)
        if partition is None:
            if self._may_read is not None and not self._may_read(topic):
                return refused(asked, ErrorCode.TOPIC_AUTHORIZATION_FAILED)
            return refused(asked, self._missing(topic, asked.partition))
        error = self._check(partition, asked)
        records: Records = b""
        aborted: list[AbortedTransaction] | None = [] if self._committed else None
        if self._rack and not error:
            preferred = self._preferred(partition, asked)
            if preferred != NO_REPLICA:
                return elsewhere(asked, partition, preferred)
        later = self._later and (topic, asked.partition) in self._later
        if not error and not later and (limit > 0 or first):
            try:
                max_bytes = max(0, min(limit, asked.partition_max_bytes))
                if self._committed:
                    records, aborted = _read_committed(partition, asked.fetch_offset, max_bytes, first)
                else:
                    records = partition.log.read(
                        asked.fetch_offset, max_bytes, self._end_offset(partition), first
                    )
            except RequestError as failed:
                error = failed.code if not partition.error else ErrorCode.OFFSET_NOT_AVAILABLE
            except OSError:
                error = ErrorCode.KAFKA_STORAGE_ERROR
        self._count(partition.counts, len(records or ()), error)
        return PartitionData(
            asked.partition,
            error,
            partition.high_watermark,
            partition.last_stable_offset,
            partition.log.log_start_offset,
            aborted_transactions=aborted,
            records=records,
        )

    def _count(self, counts: PartitionCounts, size: int, error: int) -> None:
        """Count the answer for one partition."""
        counts.fetches += 1
        counts.bytes_out += size
        if error:
            counts.failed_fetches += 1


def _read_committed(
    partition: Partition, offset: int, max_bytes: int, first: bool
) -> tuple[Records, list[AbortedTransaction]]:
    """Read up to the last stable offset; return the records, and the aborted transactions among them.

    :raises RequestError: the offset is out of range.
    :raises OSError: the log cannot be read.
    """
    log, end_offset = partition.log, partition.last_stable_offset
    if offset >= end_offset:
        return b"", []
    end, aborted = log.aborted_transactions(offset, end_offset, MOST_ABORTED)
    records = log.read(offset, max_bytes, end, first)
    if not records and end < end_offset:  # compaction has left nothing of the shorter range
        _, aborted = log.aborted_transactions(offset, end_offset, NO_LIMIT)
        records = log.read(offset, max_bytes, end_offset, first)
    if not records:
        return records, []
    return records, [AbortedTransaction(*one) for one in aborted]
