"""Produce (key 0), versions 0-9.

Deviation from Apache Kafka: a request in which a partition stands twice is refused; Kafka stores the last of
them only, and acknowledges it. ``acks=-1`` with one replica is answered as soon as the
records are written, as the high watermark passes them at once.
"""

from __future__ import annotations

import errno
from collections.abc import Callable, Iterator
from typing import Any, TypeAlias

from twisted.internet.defer import Deferred

from kafkatx.broker.dispatch import RequestContext, Staging, quoted
from kafkatx.broker.once import partitions
from kafkatx.broker.partition import Partition
from kafkatx.broker.produce_reply import ProduceReply
from kafkatx.broker.state import Broker
from kafkatx.errors import ErrorCode, ProtocolViolation, RequestError
from kafkatx.interfaces import IAppended
from kafkatx.interfaces.storage import LATER, UNJUDGED
from kafkatx.net.requests import Alone, Reply
from kafkatx.types import Records
from kafkatx.wire.messages.produce import (
    BatchIndexAndErrorMessage,
    PartitionProduceData,
    PartitionProduceResponse,
    ProduceRequest,
    ProduceResponse,
    TopicProduceResponse,
)

ALL = -1
ONE_BATCH_SINCE = 3
ZSTD_SINCE = 7
MAGIC_AT, MAGIC_2 = 16, 2
CODEC_AT, CODEC_BITS, ZSTD = 22, 7, 4
OFFLINE = "the log dir of the partition is offline"
UNSUPPORTED_VERSION = ErrorCode.UNSUPPORTED_VERSION
MANY_PARTITIONS = 200
"""A request for more partitions is stored some at a time: opening the files of a partition takes a while."""

STEP = 10
"""How many of many partitions are stored before others may have their turn."""

NAMES = partitions("topic_data", "name", "partition_data", "index")


class StagedProduce(Staging):
    """The results of a produce request, true once the staged records are written."""

    __slots__ = ("_acks", "_response", "_staged")

    def __init__(
        self,
        acks: int,
        response: ProduceResponse,
        staged: list[tuple[Partition, PartitionProduceResponse]],
    ) -> None:
        self._acks = acks
        self._response = response
        self._staged = staged

    def throttle(self, throttle_time_ms: int) -> None:
        """Let the response say for how long its client is left alone."""
        self._response.throttle_time_ms = throttle_time_ms

    def respond(
        self, failed: dict[object, OSError]
    ) -> ProduceResponse | Deferred[ProduceResponse | None] | None:
        """The response, None for acks=0; a Deferred where ``flush.messages`` makes it wait for the disk.

        :raises ProtocolViolation: acks=0 and an error: closing is the only way to tell the producer.
        """
        flushing = []
        for partition, result in self._staged:
            if partition in failed:
                _not_stored(result, failed[partition])
            elif partition.offline:  # its log dir failed when another of its logs was written
                _not_stored(result, OSError(errno.EIO, OFFLINE))
            elif partition.must_flush:
                flushing.append((partition.log.flush(), result))
        if flushing:
            return Deferred.fromCoroutine(self._respond_flushed(flushing))
        return self._response_if_wanted()

    async def _respond_flushed(
        self, flushing: list[tuple[Deferred[int], PartitionProduceResponse]]
    ) -> ProduceResponse | None:
        for flushed, result in flushing:
            try:
                await flushed
            except OSError as error:
                _not_stored(result, error)
        return self._response_if_wanted()

    def _response_if_wanted(self) -> ProduceResponse | None:
        if self._acks:
            return self._response
        for topic in self._response.responses:
            for result in topic.partition_responses:
                if result.error_code:
                    raise ProtocolViolation(
                        f"produce with acks=0 to partition {result.index} of {quoted(topic.name)} failed:"
                        f" {ErrorCode.of(result.error_code).name} {result.error_message or ''}"
                    )
        return None


UnjudgedPart: TypeAlias = tuple[Partition, Records, IAppended, PartitionProduceResponse]
"""A partition, its records, what a first append gave, and the result to fill in."""


class UnjudgedProduce(StagedProduce):
    """A produce request of which some records must be looked into before they are staged.

    :ivar unjudged: those: what a first append gave, and the result to fill in.
    """

    __slots__ = ("_broker", "_unjudged", "_version")
    alone = True

    def __init__(
        self,
        broker: Broker,
        version: int,
        acks: int,
        response: ProduceResponse,
        staged: list[tuple[Partition, PartitionProduceResponse]],
        unjudged: list[UnjudgedPart],
    ) -> None:
        super().__init__(acks, response, staged)
        self._broker = broker
        self._version = version
        self._unjudged = unjudged

    def respond(self, failed: dict[object, OSError]) -> Deferred[ProduceResponse | None]:
        """As :meth:`StagedProduce.respond`, when all is judged and written."""
        return Deferred.fromCoroutine(self._respond_judged(super().respond, failed))

    async def _respond_judged(
        self, respond: Callable[[dict[object, OSError]], Any], failed: dict[object, OSError]
    ) -> ProduceResponse | None:
        judging = self._broker.judging
        size = sum(len(records) for _, records, _, _ in self._unjudged)
        admitted = judging.admit(size)
        try:
            for partition, records, first, result in self._unjudged:
                try:
                    if not admitted:
                        raise RequestError(ErrorCode.REQUEST_TIMED_OUT, judging.why_not)
                    one_batch = self._version >= ONE_BATCH_SINCE
                    done = await judging.append(partition, records, one_batch, first)
                except RequestError as error:
                    result.error_code, result.error_message = error.code, str(error)
                except OSError as error:
                    _not_stored(result, error)
                else:
                    _fill(result, done, partition.log.log_start_offset)
        finally:
            if admitted:
                judging.release(size)
        response: ProduceResponse | Deferred[ProduceResponse | None] | None = respond(failed)
        return await response if isinstance(response, Deferred) else response


class StagedForOne(Staging):
    """The result for the one partition of a request, of which no response is made while all goes well.

    :ivar base_offset: what its first record got.
    """

    __slots__ = ("_acks", "_index", "_partition", "_throttle_time_ms", "_topic", "base_offset")

    def __init__(self, acks: int, topic: str, index: int, partition: Partition, base_offset: int) -> None:
        self._acks = acks
        self._topic = topic
        self._index = index
        self._partition = partition
        self.base_offset = base_offset
        self._throttle_time_ms = 0

    def throttle(self, throttle_time_ms: int) -> None:
        """Let the response say for how long its client is left alone."""
        self._throttle_time_ms = throttle_time_ms

    def respond(self, failed: dict[object, OSError]) -> Any:
        """As :meth:`StagedProduce.respond`."""
        log_start_offset = self._partition.log.log_start_offset
        result = PartitionProduceResponse(self._index, 0, self.base_offset, -1, log_start_offset)
        response = ProduceResponse([TopicProduceResponse(self._topic, [result])], self._throttle_time_ms)
        return StagedProduce(self._acks, response, [(self._partition, result)]).respond(failed)

    def finish(self, failed: dict[object, OSError]) -> Reply | Deferred[Reply]:
        """As :class:`kafkatx.net.requests.Staged` says."""
        partition = self._partition
        if failed or self._throttle_time_ms or partition.offline or partition.must_flush:
            return super().finish(failed)
        if not self._acks:
            return None
        route = self.route
        reply = partition.produce_replies.get(route.version)
        if reply is None or reply.log_start_offset != partition.log.log_start_offset:
            reply = partition.produce_replies[route.version] = ProduceReply(
                route.encode,
                route.api_key,
                route.version,
                self._topic,
                self._index,
                partition.log.log_start_offset,
            )
        return [reply.frame(self.correlation_id, self.base_offset)]


def _not_stored(result: PartitionProduceResponse, error: OSError) -> None:
    result.error_code = ErrorCode.KAFKA_STORAGE_ERROR
    result.base_offset = -1
    result.error_message = error.strerror


def answer(broker: Broker, request: ProduceRequest, context: RequestContext) -> Any:
    """Stage the records of every partition."""
    if request.acks not in (-1, 0, 1):
        return refuse(request, context, ErrorCode.INVALID_REQUIRED_ACKS, f"acks={request.acks}")
    if request.transactional_id is not None:
        return refuse(
            request, context, UNSUPPORTED_VERSION, "transactions are not offered: see ApiVersions, key 24"
        )
    now_ms, version, acks = broker.now_ms(), context.version, request.acks
    topics = request.topic_data
    single = len(topics) == len(topics[0].partition_data) == 1 if topics else False
    if not single:
        repeated = NAMES.unite(request)
        if repeated:
            return _refuse_repeated(request, repeated)
        if sum(len(topic.partition_data) for topic in topics) > MANY_PARTITIONS:
            return Alone(_store_many(broker, request, context))
    staged: list[tuple[Partition, PartitionProduceResponse]] = []
    judged = None
    unjudged: list[UnjudgedPart] = []
    responses = []
    for topic in topics:
        results = []
        for data in topic.partition_data:
            partition = broker.topics.find(topic.name, data.index)
            if partition is None:
                results.append(_error(data, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION))
                continue
            refused = _refused(partition, data, acks, version)
            if refused is not None:
                results.append(refused)
                continue
            log = partition.log
            done = log.append(
                data.records, partition.leader_epoch, now_ms, version >= ONE_BATCH_SINCE, judged
            )
            if done.error:
                judged = LATER
                if done.error == UNJUDGED:
                    result = PartitionProduceResponse(data.index, 0, -1)
                    unjudged.append((partition, data.records or b"", done, result))
                    results.append(result)
                    continue
                results.append(_failed(data, done, log.log_start_offset))
                continue
            broker.staged[partition] = None
            if single and done.log_append_time_ms == -1:
                return StagedForOne(acks, topic.name, data.index, partition, done.base_offset)
            result = PartitionProduceResponse(
                data.index, 0, done.base_offset, done.log_append_time_ms, log.log_start_offset
            )
            staged.append((partition, result))
            judged = LATER
            results.append(result)
        responses.append(TopicProduceResponse(topic.name, results))
    if unjudged:
        return UnjudgedProduce(broker, version, acks, ProduceResponse(responses), staged, unjudged)
    return StagedProduce(acks, ProduceResponse(responses), staged)


def _store_many(
    broker: Broker, request: ProduceRequest, context: RequestContext
) -> Deferred[ProduceResponse | None]:
    """Store the records of many partitions in slices; what is not stored when the client goes never is."""
    response = ProduceResponse()
    staged: list[tuple[Partition, PartitionProduceResponse]] = []
    unjudged: list[UnjudgedPart] = []
    failed: dict[object, OSError] = {}
    stored = UnjudgedProduce(broker, context.version, request.acks, response, staged, unjudged)
    steps = _store_each(broker, request, context, response, staged, unjudged, failed)
    return broker.slices.run(steps, stored).addCallback(lambda stored: stored.respond(failed))


def _store_each(
    broker: Broker,
    request: ProduceRequest,
    context: RequestContext,
    response: ProduceResponse,
    staged: list[tuple[Partition, PartitionProduceResponse]],
    unjudged: list[UnjudgedPart],
    failed: dict[object, OSError],
) -> Iterator[None]:
    """Stage and write some partitions with each step: what is staged is never left for the next."""
    number = 0
    for topic in request.topic_data:
        results: list[PartitionProduceResponse] = []
        response.responses.append(TopicProduceResponse(topic.name, results))
        for data in topic.partition_data:
            results.append(_stage(broker, topic.name, data, request.acks, context.version, staged, unjudged))
            number += 1
            if number % STEP == 0:
                failed.update(broker.write_staged())
                broker.wake_waiting()
                yield
    failed.update(broker.write_staged())
    broker.wake_waiting()


def _stage(
    broker: Broker,
    topic: str,
    data: PartitionProduceData,
    acks: int,
    version: int,
    staged: list[tuple[Partition, PartitionProduceResponse]],
    unjudged: list[UnjudgedPart],
) -> PartitionProduceResponse:
    """Stage the records of one partition; return the result, true once they are judged and written."""
    partition = broker.topics.find(topic, data.index)
    if partition is None:
        return _error(data, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
    refused = _refused(partition, data, acks, version)
    if refused is not None:
        return refused
    log = partition.log
    done = log.append(data.records, partition.leader_epoch, broker.now_ms(), version >= ONE_BATCH_SINCE)
    if done.error == UNJUDGED:
        result = PartitionProduceResponse(data.index, 0, -1)
        unjudged.append((partition, data.records or b"", done, result))
        return result
    if done.error:
        return _failed(data, done, log.log_start_offset)
    broker.staged[partition] = None
    result = PartitionProduceResponse(
        data.index, 0, done.base_offset, done.log_append_time_ms, log.log_start_offset
    )
    staged.append((partition, result))
    return result


def _refuse_repeated(request: ProduceRequest, repeated: set[tuple[Any, ...]]) -> StagedProduce:
    """Store nothing: a reply has room for one offset of each partition."""
    code = ErrorCode.INVALID_REQUEST
    responses = []
    for topic in request.topic_data:
        results = []
        for data in topic.partition_data:
            twice = (topic.name, data.index) in repeated
            why = "the partition stands twice in the request" if twice else "another partition stands twice"
            results.append(_error(data, code, why))
        responses.append(TopicProduceResponse(topic.name, results))
    return StagedProduce(request.acks, ProduceResponse(responses), [])


def _refused(
    partition: Partition, data: PartitionProduceData, acks: int, version: int
) -> PartitionProduceResponse | None:
    """Why the records are not even looked at; None: they are."""
    records = data.records
    if not partition.writable:
        return _not_writable(partition, data)
    if acks == ALL and len(partition.isr) < partition.min_insync_replicas:
        return _error(data, ErrorCode.NOT_ENOUGH_REPLICAS, _too_few(partition))
    if not records:
        return _error(data, ErrorCode.INVALID_RECORD, "the request has no records for this partition")
    if version < ZSTD_SINCE and _is_zstd(records):
        return _error(
            data,
            ErrorCode.UNSUPPORTED_COMPRESSION_TYPE,
            f"zstd needs Produce v{ZSTD_SINCE}, this is v{version}",
        )
    return None


def _failed(data: PartitionProduceData, done: IAppended, log_start_offset: int) -> PartitionProduceResponse:
    errors = [BatchIndexAndErrorMessage(index, message) for index, message in done.record_errors]
    return PartitionProduceResponse(data.index, done.error, -1, -1, log_start_offset, errors, done.message)


def _fill(result: PartitionProduceResponse, done: IAppended, log_start_offset: int) -> None:
    """Put in what became of records that were judged."""
    result.error_code, result.error_message = done.error, done.message
    result.base_offset, result.log_append_time_ms = done.base_offset, done.log_append_time_ms
    result.log_start_offset = log_start_offset
    result.record_errors = [
        BatchIndexAndErrorMessage(index, message) for index, message in done.record_errors
    ]


def _not_writable(partition: Partition, data: PartitionProduceData) -> PartitionProduceResponse:
    if partition.internal:
        return _error(data, ErrorCode.INVALID_TOPIC_EXCEPTION, "the topic is the broker's own")
    return _error(data, ErrorCode.KAFKA_STORAGE_ERROR, OFFLINE)


def _too_few(partition: Partition) -> str:
    return (
        f"{len(partition.isr)} replicas are in sync, min.insync.replicas is {partition.min_insync_replicas}"
    )


def _is_zstd(records: Any) -> bool:
    return len(records) > CODEC_AT and records[MAGIC_AT] == MAGIC_2 and records[CODEC_AT] & CODEC_BITS == ZSTD


def _error(
    data: PartitionProduceData, code: ErrorCode, message: str | None = None
) -> PartitionProduceResponse:
    return PartitionProduceResponse(data.index, code, -1, error_message=message)


def refuse(request: ProduceRequest, context: RequestContext, code: ErrorCode, message: str) -> Any:
    """The same error for every partition."""
    responses = [
        TopicProduceResponse(topic.name, [_error(data, code, message) for data in topic.partition_data])
        for topic in request.topic_data
    ]
    return StagedProduce(request.acks, ProduceResponse(responses), [])
