"""Produce and InitProducerId requests, and the meaning of their replies. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

from kafkatx.clientcore.errors import ConnectionFailed, ProduceFailed, check, retriable
from kafkatx.clientcore.producer.batch import ProducerBatch, ProducerIdAndEpoch
from kafkatx.clientcore.producer.values import NO_OFFSET
from kafkatx.errors import ErrorCode, KafkaTXError, RequestError
from kafkatx.records.conversion import down_convert
from kafkatx.types import NO_TIMESTAMP, Records
from kafkatx.wire.messages.init_producer_id import InitProducerIdRequest, InitProducerIdResponse
from kafkatx.wire.messages.produce import (
    PartitionProduceData,
    PartitionProduceResponse,
    ProduceRequest,
    ProduceResponse,
    TopicProduceData,
)

BatchResult: TypeAlias = "tuple[ProducerBatch, Exception | None, int, int]"
"""A batch, its error (None: it is in the log), its base offset and the broker's timestamp (-1: not known)."""

FIRST_V2_VERSION = 3
FIRST_V1_VERSION = 2
_NO_LIMIT = 1 << 31

_IN_THE_LOG = (ErrorCode.NONE, ErrorCode.DUPLICATE_SEQUENCE_NUMBER)
_METADATA_ERRORS = frozenset(
    {
        ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
        ErrorCode.LEADER_NOT_AVAILABLE,
        ErrorCode.NOT_LEADER_OR_FOLLOWER,
        ErrorCode.REPLICA_NOT_AVAILABLE,
        ErrorCode.KAFKA_STORAGE_ERROR,
        ErrorCode.FENCED_LEADER_EPOCH,
        ErrorCode.UNKNOWN_LEADER_EPOCH,
        ErrorCode.UNKNOWN_TOPIC_ID,
        ErrorCode.LISTENER_NOT_FOUND,
    }
)


def init_producer_id_request() -> InitProducerIdRequest:
    """Return a request for a producer id (KIP-98); brokers before Kafka 0.11 do not support it."""
    return InitProducerIdRequest(transactional_id=None, transaction_timeout_ms=60_000)


def read_producer_id(response: InitProducerIdResponse) -> ProducerIdAndEpoch:
    """Return the producer id and epoch of a reply.

    :raises RequestError: the reply's error.
    """
    check(response.error_code, "producer id")
    return ProducerIdAndEpoch(response.producer_id, response.producer_epoch)


def produce_request(
    batches: Sequence[ProducerBatch],
    version: int,
    acks: int,
    timeout_ms: int,
    transactional_id: str | None = None,
) -> ProduceRequest:
    """Return the request for encoded batches, at most one for each partition.

    :param version: below 3 the batches are converted to message sets of magic 0 or 1.
    :param transactional_id: the transaction of all batches is this producer's.
    """
    if len(batches) == 1:
        batch = batches[0]
        part = PartitionProduceData(batch.partition, _records(batch.data, version))
        return ProduceRequest(transactional_id, acks, timeout_ms, [TopicProduceData(batch.topic, [part])])
    topics: dict[str, list[PartitionProduceData]] = {}
    for batch in batches:
        part = PartitionProduceData(batch.partition, _records(batch.data, version))
        topics.setdefault(batch.topic, []).append(part)
    data = [TopicProduceData(topic, parts) for topic, parts in topics.items()]
    return ProduceRequest(transactional_id, acks, timeout_ms, data)


def _records(data: bytes, version: int) -> Records:
    if version >= FIRST_V2_VERSION:
        return data
    magic = 1 if version >= FIRST_V1_VERSION else 0
    return down_convert(memoryview(data), magic, start_offset=0, max_bytes=_NO_LIMIT)


def partition_responses(
    batches: Sequence[ProducerBatch], response: ProduceResponse
) -> list[PartitionProduceResponse | ConnectionFailed]:
    """Return the response for each batch; an error for a batch that the reply leaves out."""
    if len(batches) == 1 and len(response.responses) == 1:
        topic = response.responses[0]
        if topic.name == batches[0].topic and len(topic.partition_responses) == 1:
            part = topic.partition_responses[0]
            if part.index == batches[0].partition:
                return [part]
    found = {
        (topic.name, part.index): part for topic in response.responses for part in topic.partition_responses
    }
    missing = ConnectionFailed("the reply to a produce request leaves out a partition")
    return [found.get((batch.topic, batch.partition), missing) for batch in batches]


def error_of(answer: PartitionProduceResponse | ConnectionFailed) -> KafkaTXError | None:
    """Return the error of a partition's response; None if the batch is in the log."""
    if isinstance(answer, ConnectionFailed):
        return answer
    if answer.error_code in _IN_THE_LOG:
        return None
    return RequestError(ErrorCode.of(answer.error_code), answer.error_message or "")


def batch_results(batches: Sequence[ProducerBatch], response: ProduceResponse) -> list[BatchResult]:
    """Return the result of each batch."""
    results: list[BatchResult] = []
    for batch, answer in zip(batches, partition_responses(batches, response), strict=True):
        error = error_of(answer)
        if error is None and not isinstance(answer, ConnectionFailed):
            results.append((batch, None, answer.base_offset, answer.log_append_time_ms))
        else:
            results.append((batch, error, NO_OFFSET, NO_TIMESTAMP))
    return results


def code_of(error: BaseException) -> ErrorCode:
    """Return the error code of an exception; NETWORK_EXCEPTION if it is another retriable one."""
    if isinstance(error, RequestError):
        return error.code
    return ErrorCode.NETWORK_EXCEPTION if retriable(error) else ErrorCode.UNKNOWN_SERVER_ERROR


def can_be_split(batch: ProducerBatch, code: ErrorCode) -> bool:
    """Return True if a batch that was refused may be accepted in two halves."""
    return code is ErrorCode.MESSAGE_TOO_LARGE and batch.records > 1


def is_metadata_stale(error: BaseException) -> bool:
    """Return True if the error means that metadata is out of date: the leader may have changed."""
    return isinstance(error, ConnectionFailed) or code_of(error) in _METADATA_ERRORS


def produce_failure(batch: ProducerBatch, error: BaseException) -> ProduceFailed:
    """Return the error for the receipts of a batch that has failed."""
    code = code_of(error)
    message = "" if str(error) == code.name else str(error)
    if code is ErrorCode.MESSAGE_TOO_LARGE:
        message = f"a message of {batch.payload_bytes} bytes is above the topic's max.message.bytes"
    failure = ProduceFailed(code, batch.topic, batch.partition, message)
    failure.__cause__ = error
    return failure


def delivery_timed_out(batch: ProducerBatch, timeout_s: float) -> ProduceFailed:
    """Return the error for the receipts of a batch that was not delivered in time."""
    message = f"not delivered within {timeout_s:g} s (delivery.timeout.ms)"
    if batch.error is not None:
        message += f"; the last error: {batch.error}"
    elif not batch.attempts:
        message += "; it was never sent: other batches were before it, or the partition has no leader"
    failure = ProduceFailed(ErrorCode.REQUEST_TIMED_OUT, batch.topic, batch.partition, message)
    failure.__cause__ = batch.error
    return failure
