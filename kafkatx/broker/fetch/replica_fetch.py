"""Fetches of followers: they read to the log's end, and acknowledge all that is below their offsets.

It touches logs, by :class:`kafkatx.interfaces.IPartitionLog`, and tells partitions what their followers have.
:mod:`kafkatx.broker.replica.fetcher` is the other end, at the follower.

A follower fetches with version 15 or later, which carries its broker epoch (KIP-903), and at the listener for
other brokers only: a replica id opens records that are not committed, and moves high watermarks. Each
partition is answered by the first line that is true, as Apache Kafka's ``Partition.fetchRecords`` does:

====================================================  ======================================================
the partition, and the follower's offset and epoch    answer
====================================================  ======================================================
is not led here, or in another leader epoch           NOT_LEADER_OR_FOLLOWER, FENCED_ or UNKNOWN_LEADER_EPOCH
has no such replica                                   NOT_LEADER_OR_FOLLOWER: one of the two states is old
the offset is below the log's start                   OFFSET_OUT_OF_RANGE
the log knows no epoch, and the follower knows one    OFFSET_OUT_OF_RANGE, but for the log's start
the log ends the follower's last epoch earlier        ``diverging_epoch``: it truncates (KAFKA-10554)
the offset is above the log's end                     OFFSET_OUT_OF_RANGE
else                                                  records, high watermark, log start; counted as progress
====================================================  ======================================================

A leader whose lease has ended answers NOT_LEADER_OR_FOLLOWER where the follower would cut its log.
Unlike Apache Kafka's, an answer OFFSET_OUT_OF_RANGE has the log start offset, and the latest epoch with the
log's end as the diverging epoch: a follower needs no ListOffsets, which could find another state.
"""

from __future__ import annotations

from twisted.internet.defer import Deferred

from kafkatx.broker.broker import Broker
from kafkatx.broker.fetch.answers import epoch_error
from kafkatx.broker.fetch.by_ids import FetchByIds
from kafkatx.broker.replica.partition import Partition
from kafkatx.broker.requests.context import RequestContext
from kafkatx.counts import PartitionCounts
from kafkatx.errors import ErrorCode, RequestError
from kafkatx.wire.messages.fetch import (
    EpochEndOffset,
    FetchableTopicResponse,
    FetchPartition,
    FetchRequest,
    FetchResponse,
    PartitionData,
)

BROKER_EPOCHS_SINCE = 15

DIVERGED = 1 << 16
"""In place of an error code: the follower's log differs from this one below its fetch offset."""


def is_of_replica(request: FetchRequest) -> bool:
    """Return True if a request says that it is a follower's."""
    state = request.replica_state
    return request.replica_id >= 0 or (state is not None and state.replica_id >= 0)


def check_replica(broker: Broker, request: FetchRequest, context: RequestContext) -> tuple[int, int]:
    """Return the follower's broker id and epoch.

    :raises RequestError: CLUSTER_AUTHORIZATION_FAILED: this broker is alone, or the request came to a
        listener for clients; UNSUPPORTED_VERSION: it has no broker epoch; STALE_BROKER_EPOCH: the follower
        has registered again, or one of the two brokers does not know it yet.
    """
    if broker.metadata.lease_remaining_s is None:
        raise RequestError(ErrorCode.CLUSTER_AUTHORIZATION_FAILED, "this broker has no followers")
    if broker.inter_broker_port not in (None, context.peer.local_port):
        broker.limited_log.warn(
            "{peer} wants to fetch as a replica at port {port}, which is for clients: brokers connect to the"
            " listener of inter.broker.listener.name",
            peer=context.peer,
            port=context.peer.local_port,
        )
        raise RequestError(ErrorCode.CLUSTER_AUTHORIZATION_FAILED, "this listener is not for brokers")
    state = request.replica_state
    if context.version < BROKER_EPOCHS_SINCE or state is None:
        raise RequestError(ErrorCode.UNSUPPORTED_VERSION, "replicas fetch with version 15 or later")
    node = broker.metadata.state.brokers.get(state.replica_id)
    if node is None or node.epoch != state.replica_epoch or node.id == broker.node_id:
        raise RequestError(
            ErrorCode.STALE_BROKER_EPOCH, f"broker {state.replica_id} is not at epoch {state.replica_epoch}"
        )
    return state.replica_id, state.replica_epoch


REFUSED = -2
"""In place of a leader epoch: the partition was not fit to be read when the fetch came."""


class ReplicaFetch(FetchByIds):
    """One fetch of a follower, which :func:`check_replica` has accepted.

    It may name thousands of partitions, of which few have something new: a partition that was fit when the
    fetch came is not looked up and checked again, as long as it is led in the same epoch.

    :param replica: the follower's broker id and epoch.
    """

    def __init__(
        self, broker: Broker, request: FetchRequest, context: RequestContext, replica: tuple[int, int]
    ) -> None:
        super().__init__(broker, request, context)
        self._committed = False
        self._rack = ""
        self._limit = min(request.max_bytes, broker.config.get("fetch.max.bytes"))
        self._replica_id, self._replica_epoch = replica
        self._is_enough: bool | None = None
        self._found: list[tuple[Partition | None, int, int]] = []
        self._throttle = broker.throttles.leader

    def load(self) -> list[Deferred[None]]:
        """Count the fetch as the follower's progress; measure, and read cold data as other fetches do."""
        now_s = self._broker.clock.seconds()
        loading: list[Deferred[None]] = []
        missing, room = min(self._request.min_bytes, self._limit), self._limit
        self._is_enough = False
        for topic in self._request.topics:
            for asked in topic.partitions:
                partition = self._find(topic.topic, asked.partition)
                if partition is None or self._check(partition, asked):
                    self._found.append((partition, REFUSED, -1))
                    self._is_enough = True
                    continue
                log = partition.log
                self._found.append((partition, partition.leader_epoch, log.log_start_offset))
                partition.fetched_by(
                    self._replica_id, self._replica_epoch, asked.fetch_offset, asked.log_start_offset, now_s
                )
                if asked.fetch_offset >= log.log_end_offset or self._is_held_back(partition):
                    continue
                if room <= 0 and loading:
                    self._later.add((topic.topic, asked.partition))
                    continue
                if missing > 0:
                    readable = log.readable_bytes(asked.fetch_offset, log.log_end_offset)
                    missing -= min(readable, asked.partition_max_bytes)
                cold = log.warm(asked.fetch_offset, min(room, asked.partition_max_bytes))
                if cold is not None:
                    loading.append(cold)
                    room -= asked.partition_max_bytes
        self._is_enough = self._is_enough or missing <= 0
        return loading

    def wanted(self) -> list[Partition]:
        """Return the requested partitions that this broker has."""
        return [partition for partition, _, _ in self._found if partition is not None]

    def is_enough(self) -> bool:
        """Return True if the reply would have min_bytes, or an error; the first time by what load() found."""
        measured, self._is_enough = self._is_enough, None
        if measured is not None:
            return measured
        missing, at = min(self._request.min_bytes, self._limit), iter(self._found)
        for topic in self._request.topics:
            for asked in topic.partitions:
                partition, epoch, start = next(at)
                if partition is None or partition.error or partition.leader_epoch != epoch:
                    return True
                log = partition.log
                if log.log_start_offset != start:  # DeleteRecords waits until its followers know
                    return True
                if asked.fetch_offset < log.log_end_offset and not self._is_held_back(partition):
                    readable = log.readable_bytes(asked.fetch_offset, log.log_end_offset)
                    missing -= min(readable, asked.partition_max_bytes)
                    if missing <= 0:
                        return True
        return missing <= 0

    def respond(self) -> FetchResponse:
        """Read the available data, up to the request's limits."""
        limit, first, at = self._limit, True, iter(self._found)
        responses = []
        for topic in self._request.topics:
            results = []
            for asked in topic.partitions:
                result = self._idle(asked, *next(at)[:2])
                if result is None:
                    result = self._read(topic.topic, asked, limit, first)
                    size = len(result.records or ())
                    limit -= size
                    first = first and not size
                results.append(result)
            responses.append(FetchableTopicResponse(topic.topic, topic.topic_id, results))
        return FetchResponse(responses=responses)

    def _idle(self, asked: FetchPartition, partition: Partition | None, epoch: int) -> PartitionData | None:
        """Return the answer for a partition whose follower has all of it; None if it must be looked at."""
        if partition is None or partition.error or partition.leader_epoch != epoch:
            return None
        log = partition.log
        if asked.fetch_offset != log.log_end_offset:
            return None
        high_watermark = partition.high_watermark
        return PartitionData(
            asked.partition, 0, high_watermark, high_watermark, log.log_start_offset, records=b""
        )

    def _end_offset(self, partition: Partition) -> int:
        if self._is_held_back(partition):
            return 0
        return int(partition.log.log_end_offset)

    def _count(self, counts: PartitionCounts, size: int, error: int) -> None:
        counts.replica_bytes_out += size

    def _throttled(self, topic: str, asked: FetchPartition, size: int) -> None:
        partition = self._find(topic, asked.partition)
        if partition is not None and self._replica_id not in partition.isr:
            self._throttle.count(partition.topic_partition, size)

    def _is_held_back(self, partition: Partition) -> bool:
        """Return True if a throttle makes this copy wait for now: it is not in sync, and there are others."""
        throttle = self._throttle
        return (
            throttle.is_on
            and self._replica_id not in partition.isr
            and throttle.holds_back(partition.topic_partition)
        )

    def _check(self, partition: Partition, asked: FetchPartition) -> int:
        error = epoch_error(partition, asked.current_leader_epoch)
        if error:
            return error
        if self._replica_id not in partition.replicas:
            return ErrorCode.NOT_LEADER_OR_FOLLOWER
        log, offset = partition.log, asked.fetch_offset
        if offset < log.log_start_offset:
            return self._out_of_range()
        if asked.last_fetched_epoch >= 0:
            epoch, end_offset = log.end_offset_for_epoch(asked.last_fetched_epoch)
            if end_offset < 0:
                # an emptied mirror, which notes no epoch of its own: all that could differ is deleted
                return ErrorCode.NONE if offset == log.log_start_offset else self._out_of_range()
            if epoch < asked.last_fetched_epoch or end_offset < offset:
                has_lease = self._broker.replicas.has_lease()
                return DIVERGED if has_lease else ErrorCode.NOT_LEADER_OR_FOLLOWER
        return ErrorCode.NONE if offset <= log.log_end_offset else self._out_of_range()

    def _read(self, topic: str, asked: FetchPartition, limit: int, first: bool) -> PartitionData:
        result = super()._read(topic, asked, limit, first)
        if self._throttle.is_on and result.records:
            self._throttled(topic, asked, len(result.records))
        if result.error_code in (DIVERGED, ErrorCode.OFFSET_OUT_OF_RANGE):
            partition = self._find(topic, asked.partition)
            assert partition is not None
            log = partition.log
            epoch, end_offset = log.epoch_at(log.log_end_offset), log.log_end_offset
            if result.error_code == DIVERGED:
                result.error_code = ErrorCode.NONE
                epoch, end_offset = log.end_offset_for_epoch(asked.last_fetched_epoch)
            result.diverging_epoch = EpochEndOffset(epoch, end_offset)
        return result
