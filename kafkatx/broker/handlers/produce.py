"""Produce (key 0), versions 0-9.

Deviations from Apache Kafka: none known. ``acks=-1`` with one replica is answered as soon as the
records are written, as the high watermark passes them at once.
"""

from __future__ import annotations

import errno
from typing import Any

from twisted.internet.defer import Deferred

from kafkatx.broker.dispatch import RequestContext, Staging, quoted
from kafkatx.broker.partition import Partition
from kafkatx.broker.state import Broker
from kafkatx.errors import ErrorCode, ProtocolViolation
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
    find, now_ms, version = broker.topics.find, broker.now_ms(), context.version
    staged: list[tuple[Partition, PartitionProduceResponse]] = []
    responses = []
    for topic in request.topic_data:
        results = []
        for data in topic.partition_data:
            partition = find(topic.name, data.index)
            if partition is None:
                result = _error(data, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
            elif not partition.writable:
                result = _not_writable(partition, data)
            elif request.acks == ALL and len(partition.isr) < partition.min_insync_replicas:
                result = _error(data, ErrorCode.NOT_ENOUGH_REPLICAS, _too_few(partition))
            else:
                result = _append(partition, data, version, now_ms)
                if not result.error_code:
                    staged.append((partition, result))
                    broker.staged[partition] = None
            results.append(result)
        responses.append(TopicProduceResponse(topic.name, results))
    return StagedProduce(request.acks, ProduceResponse(responses), staged)


def _append(
    partition: Partition, data: PartitionProduceData, version: int, now_ms: int
) -> PartitionProduceResponse:
    """Stage one partition's records."""
    records = data.records
    if not records:
        return _error(data, ErrorCode.INVALID_RECORD, "the request has no records for this partition")
    if version < ZSTD_SINCE and _is_zstd(records):
        return _error(
            data,
            ErrorCode.UNSUPPORTED_COMPRESSION_TYPE,
            f"zstd needs Produce v{ZSTD_SINCE}, this is v{version}",
        )
    log = partition.log
    done = log.append(records, partition.leader_epoch, now_ms, version >= ONE_BATCH_SINCE)
    if done.error:
        errors = [BatchIndexAndErrorMessage(index, message) for index, message in done.record_errors]
        return PartitionProduceResponse(
            data.index, done.error, -1, -1, log.log_start_offset, errors, done.message
        )
    return PartitionProduceResponse(
        data.index, 0, done.base_offset, done.log_append_time_ms, log.log_start_offset
    )


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
