"""Fetch (key 1), versions 0-16; from 13 on topics are asked for by their ids (KIP-516).

Deviations from Apache Kafka: no fetch sessions (every reply has session id 0, which KIP-227 allows);
no preferred read replica; new leaders have no endpoints in the reply (KIP-951); a batch larger than a quota
allows at once is sent, where Kafka would never send it.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable, Sequence

from twisted.internet.defer import Deferred, DeferredList
from twisted.python.failure import Failure

from kafkatx.broker.broker import Broker
from kafkatx.broker.dispatch import Api
from kafkatx.broker.quotas import ByteRates
from kafkatx.broker.replica.partition import Partition
from kafkatx.broker.replica.purgatory import delay_fetch
from kafkatx.broker.requests.context import RequestContext
from kafkatx.broker.requests.unique_names import Names
from kafkatx.errors import ErrorCode, RequestError
from kafkatx.types import Records, Topic
from kafkatx.wire.codec import encoder
from kafkatx.wire.frames import SIZE_BYTES
from kafkatx.wire.messages.fetch import (
    FetchableTopicResponse,
    FetchPartition,
    FetchRequest,
    FetchResponse,
    PartitionData,
)

READ_COMMITTED = 1
MAGIC_1_SINCE, MAGIC_2_SINCE, ZSTD_SINCE, TOPIC_IDS_SINCE = 2, 4, 10, 13
FULL_FETCH_EPOCHS = (0, -1)
NAMES = Names("topics", ("topic_id", "topic"), Names("partitions", ("partition",)))


def answer(
    broker: Broker, request: FetchRequest, context: RequestContext
) -> FetchResponse | Deferred[FetchResponse]:
    """Answer at once if there is enough data or an error, otherwise when there is, or after max_wait_ms."""
    if request.session_id and request.session_epoch not in FULL_FETCH_EPOCHS:
        raise RequestError(ErrorCode.FETCH_SESSION_ID_NOT_FOUND)
    topics, version = request.topics, context.version
    if len(topics) != 1 or len(topics[0].partitions) != 1:
        NAMES.unite(request)
    kind = FetchByIds if version >= TOPIC_IDS_SINCE else FetchRound if version >= ZSTD_SINCE else OldFetch
    fetch = kind(broker, request, context)
    loading = fetch.load()
    if loading:
        return _all_of(loading).addCallback(lambda _: _when_enough(broker, fetch, request, context))
    return _when_enough(broker, fetch, request, context)


def _when_enough(
    broker: Broker, fetch: FetchRound, request: FetchRequest, context: RequestContext
) -> FetchResponse | Deferred[FetchResponse]:
    if request.max_wait_ms <= 0 or not request.topics or fetch.is_enough():
        return _within_quota(broker, fetch.respond(), context)
    waiting = delay_fetch(broker.clock, fetch.wanted(), request.max_wait_ms, fetch.is_enough)
    return waiting.addCallback(lambda _: _within_quota(broker, fetch.respond(), context))


def _within_quota(
    broker: Broker, response: FetchResponse | Deferred[FetchResponse], context: RequestContext
) -> FetchResponse | Deferred[FetchResponse]:
    rates = broker.quotas.consumer
    if rates is None:
        return response
    if isinstance(response, Deferred):
        return response.addCallback(lambda made: _charge(rates, made, context))
    return _charge(rates, response, context)


def _charge(rates: ByteRates, response: FetchResponse, context: RequestContext) -> FetchResponse:
    """Count a reply; replace one that exceeds the quota by one without partitions (KIP-219)."""
    size = SIZE_BYTES + sum(map(len, encoder(FetchResponse, context.version)(response)))
    throttle_time_ms, may_go = rates.charge_reply(context.client_id, size)
    if throttle_time_ms:
        context.peer.throttle_time_ms = throttle_time_ms
        response = response if may_go else FetchResponse()
        response.throttle_time_ms = throttle_time_ms
    return response


def _all_of(loading: list[Deferred[None]]) -> Deferred[None]:
    """Wait until all have fired; cancelling the Deferred cancels all."""

    def fired(results: Sequence[tuple[bool, object]]) -> None:
        for _, failure in results:
            if isinstance(failure, Failure):
                failure.raiseException()

    return DeferredList(loading, consumeErrors=True).addCallback(fired)


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
            self._limit = int(min(self._limit, broker.quotas.consumer.largest(context.client_id)))
        self._later: set[tuple[str, int]] = set()

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
        log = partition.log
        if not error and not log.log_start_offset <= asked.fetch_offset <= log.log_end_offset:
            return ErrorCode.OFFSET_OUT_OF_RANGE
        return error

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
                results.append(result)
            responses.append(FetchableTopicResponse(topic.topic, topic.topic_id, results))
        return FetchResponse(responses=responses)

    def _read(self, topic: str, asked: FetchPartition, limit: int, first: bool) -> PartitionData:
        """Read one partition; only the first one with data may exceed the limits."""
        partition = self._find(topic, asked.partition)
        if partition is None:
            return _error(asked, self._missing(topic, asked.partition))
        error = self._check(partition, asked)
        records: Records = b""
        later = self._later and (topic, asked.partition) in self._later
        if not error and not later and (limit > 0 or first):
            try:
                records = partition.log.read(
                    asked.fetch_offset,
                    max(0, min(limit, asked.partition_max_bytes)),
                    self._end_offset(partition),
                    first,
                )
            except RequestError as refused:
                error = refused.code
            except OSError:
                error = ErrorCode.KAFKA_STORAGE_ERROR
        return PartitionData(
            asked.partition,
            error,
            partition.high_watermark,
            partition.last_stable_offset,
            partition.log.log_start_offset,
            aborted_transactions=[] if self._committed else None,
            records=records,
        )


class FetchByIds(FetchRound):
    """A fetch that names topics by their ids: a topic of the same name may be another one by now."""

    def __init__(self, broker: Broker, request: FetchRequest, context: RequestContext) -> None:
        super().__init__(broker, request, context)
        self._ids: dict[str, uuid.UUID] = {}
        names = broker.metadata.state.topic_names
        for topic in request.topics:
            topic.topic = names.get(topic.topic_id, "")  # no topic has an empty name
            self._ids[topic.topic] = topic.topic_id
        self._find = self._find_by_id

    def _find_by_id(self, topic: str, number: int) -> Partition | None:
        return self._broker.topics.find(topic, number) if self._is_same(topic) else None

    def _is_same(self, topic: str) -> bool:
        """Return True if the topic of that name still has the requested id."""
        known: Topic | None = self._broker.metadata.state.topics.get(topic)
        return known is not None and known.topic_id == self._ids[topic]

    def _missing(self, topic: str, number: int) -> ErrorCode:
        if self._is_same(topic):
            return super()._missing(topic, number)
        replaced = topic in self._broker.metadata.state.topics
        return ErrorCode.INCONSISTENT_TOPIC_ID if replaced else ErrorCode.UNKNOWN_TOPIC_ID


class OldFetch(FetchRound):
    """A fetch before version 10, which promises no zstd; before version 4, no magic 2; before 2, no magic 1.

    As in Apache Kafka, zstd is refused where the topic's ``compression.type`` names it, or where batches have
    to be converted. Otherwise they are sent as they are stored: such clients may be able to read them.
    """

    def _check(self, partition: Partition, asked: FetchPartition) -> int:
        error = super()._check(partition, asked)
        if not error and partition.log.config.compression_type == "zstd":
            return ErrorCode.UNSUPPORTED_COMPRESSION_TYPE
        return error

    def respond(self) -> FetchResponse | Deferred[FetchResponse]:
        """Return the response as FetchRound does; records that an old client cannot read are converted."""
        response, version = super().respond(), self._context.version
        if version >= MAGIC_2_SINCE:
            return response
        assert isinstance(response, FetchResponse)
        asked = [asked.fetch_offset for topic in self._request.topics for asked in topic.partitions]
        results = [result for topic in response.responses for result in topic.partitions]
        parts = [part for part in zip(asked, results, strict=True) if part[1].records]
        if not parts:
            return response
        to_magic = 0 if version < MAGIC_1_SINCE else 1
        limit_bytes = self._broker.config.get("kafkatx.records.max.inflated.bytes")
        converting = self._broker.down_conversions.convert(self._context.peer, parts, to_magic, limit_bytes)
        return converting.addCallback(lambda _: response)


def epoch_error(partition: Partition, current_leader_epoch: int) -> int:
    """Compare a client's leader epoch with the partition's (KIP-320); -1 is not compared.

    A partition that this broker does not lead, or whose log is offline, is refused with any epoch.
    """
    if partition.error:
        return partition.error
    if current_leader_epoch == -1 or current_leader_epoch == partition.leader_epoch:
        return ErrorCode.NONE
    if current_leader_epoch < partition.leader_epoch:
        return ErrorCode.FENCED_LEADER_EPOCH
    return ErrorCode.UNKNOWN_LEADER_EPOCH


def _error(asked: FetchPartition, code: int) -> PartitionData:
    return PartitionData(asked.partition, code, -1, records=b"")


def refuse(request: FetchRequest, context: RequestContext, code: ErrorCode, message: str) -> FetchResponse:
    """Refuse the whole request (from version 7 on; before that, every partition)."""
    responses = []
    if context.version < 7:
        responses = [
            FetchableTopicResponse(
                topic.topic, partitions=[_error(asked, code) for asked in topic.partitions]
            )
            for topic in request.topics
        ]
    return FetchResponse(error_code=code, responses=responses)


API = Api(FetchRequest, FetchResponse, answer, refuse)
