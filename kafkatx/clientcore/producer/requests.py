"""Produce requests made of batches, and what their answers mean."""

from __future__ import annotations

from collections.abc import Sequence

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

FIRST_V2_VERSION = 3
FIRST_V1_VERSION = 2
_EVERYTHING = 1 << 31

_IN_THE_LOG = (ErrorCode.NONE, ErrorCode.DUPLICATE_SEQUENCE_NUMBER)
_ELSEWHERE = frozenset(
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
    """Ask for a producer id of one's own (KIP-98); a broker before Kafka 0.11 knows no such request."""
    return InitProducerIdRequest(transactional_id=None, transaction_timeout_ms=60_000)


def read_producer_id(response: InitProducerIdResponse) -> ProducerIdAndEpoch:
    """The producer id that a broker has given.

    :raises RequestError: it has given none.
    """
    check(response.error_code, "producer id")
    return ProducerIdAndEpoch(response.producer_id, response.producer_epoch)


def produce_request(
    batches: Sequence[ProducerBatch], version: int, acks: int, timeout_ms: int
) -> ProduceRequest:
    """The request for sealed batches, at most one for each partition.

    :param version: below 3 the broker knows message sets only: they are made of the batches.
    """
    if len(batches) == 1:
        batch = batches[0]
        part = PartitionProduceData(batch.partition, _records(batch.data, version))
        return ProduceRequest(None, acks, timeout_ms, [TopicProduceData(batch.topic, [part])])
    topics: dict[str, list[PartitionProduceData]] = {}
    for batch in batches:
        part = PartitionProduceData(batch.partition, _records(batch.data, version))
        topics.setdefault(batch.topic, []).append(part)
    data = [TopicProduceData(topic, parts) for topic, parts in topics.items()]
    return ProduceRequest(None, acks, timeout_ms, data)


def _records(data: bytes, version: int) -> Records:
    if version >= FIRST_V2_VERSION:
        return data
    magic = 1 if version >= FIRST_V1_VERSION else 0
    return down_convert(memoryview(data), magic, start_offset=0, max_bytes=_EVERYTHING)


def partition_responses(
    batches: Sequence[ProducerBatch], response: ProduceResponse
) -> list[PartitionProduceResponse | ConnectionFailed]:
    """The answer for each batch; an error for one that the broker left out."""
    if len(batches) == 1 and len(response.responses) == 1:
        topic = response.responses[0]
        if topic.name == batches[0].topic and len(topic.partition_responses) == 1:
            answer = topic.partition_responses[0]
            if answer.index == batches[0].partition:
                return [answer]
    found = {
        (topic.name, part.index): part for topic in response.responses for part in topic.partition_responses
    }
    missing = ConnectionFailed("a broker answered a produce request without its partition")
    return [found.get((batch.topic, batch.partition), missing) for batch in batches]


def error_of(answer: PartitionProduceResponse | ConnectionFailed) -> KafkaTXError | None:
    """Why a batch is not in the log; None if it is."""
    if isinstance(answer, ConnectionFailed):
        return answer
    if answer.error_code in _IN_THE_LOG:
        return None
    return RequestError(ErrorCode.of(answer.error_code), answer.error_message or "")


def batch_results(
    batches: Sequence[ProducerBatch], response: ProduceResponse
) -> list[tuple[ProducerBatch, KafkaTXError | None, int, int]]:
    """Return of each batch why it is not in the log, or its base offset and the broker's timestamp."""
    results: list[tuple[ProducerBatch, KafkaTXError | None, int, int]] = []
    for batch, answer in zip(batches, partition_responses(batches, response), strict=True):
        error = error_of(answer)
        if error is None and not isinstance(answer, ConnectionFailed):
            results.append((batch, None, answer.base_offset, answer.log_append_time_ms))
        else:
            results.append((batch, error, NO_OFFSET, NO_TIMESTAMP))
    return results


def code_of(error: BaseException) -> ErrorCode:
    """The code that says it best."""
    if isinstance(error, RequestError):
        return error.code
    return ErrorCode.NETWORK_EXCEPTION if retriable(error) else ErrorCode.UNKNOWN_SERVER_ERROR


def can_be_split(batch: ProducerBatch, code: ErrorCode) -> bool:
    """Whether a batch that was refused may be taken in two halves."""
    return code is ErrorCode.MESSAGE_TOO_LARGE and batch.records > 1


def is_metadata_stale(error: BaseException) -> bool:
    """Whether the error says that metadata are wrong: the leader may be another by now."""
    return isinstance(error, ConnectionFailed) or code_of(error) in _ELSEWHERE


def produce_failure(batch: ProducerBatch, error: BaseException) -> ProduceFailed:
    """What to tell those whose records are not in the log, as far as is known."""
    code = code_of(error)
    message = "" if str(error) == code.name else str(error)
    if code is ErrorCode.MESSAGE_TOO_LARGE:
        message = f"a message of {batch.payload_bytes} bytes is above the topic's max.message.bytes"
    failure = ProduceFailed(code, batch.topic, batch.partition, message)
    failure.__cause__ = error
    return failure


def delivery_timed_out(batch: ProducerBatch, timeout_s: float) -> ProduceFailed:
    """What to tell those whose records were not delivered in time."""
    message = f"not delivered within {timeout_s:g} s (delivery.timeout.ms)"
    if batch.error is not None:
        message += f"; the last error: {batch.error}"
    elif not batch.attempts:
        message += "; it was never sent, for others were before it or the partition has no leader"
    failure = ProduceFailed(ErrorCode.REQUEST_TIMED_OUT, batch.topic, batch.partition, message)
    failure.__cause__ = batch.error
    return failure
