"""DescribeProducers (key 61), version 0: the idempotent producers that partitions know of (KIP-664).

Deviations from Apache Kafka: a producer's last timestamp is the broker's time when it last wrote, not the
latest of its records.
"""

from __future__ import annotations

from kafkatx.broker.broker import Broker
from kafkatx.broker.dispatch import Api
from kafkatx.broker.requests.context import RequestContext
from kafkatx.errors import ErrorCode
from kafkatx.wire.messages.describe_producers import (
    DescribeProducersRequest,
    DescribeProducersResponse,
    PartitionResponse,
    ProducerState,
    TopicResponse,
)


def answer(
    broker: Broker, request: DescribeProducersRequest, context: RequestContext
) -> DescribeProducersResponse:
    """Describe each partition; a repeated one is described once."""
    numbers: dict[str, dict[int, None]] = {}
    for asked in request.topics:
        numbers.setdefault(asked.name, {}).update(dict.fromkeys(asked.partition_indexes))
    return DescribeProducersResponse(
        0,
        [TopicResponse(name, [_describe(broker, name, n) for n in those]) for name, those in numbers.items()],
    )


def _describe(broker: Broker, topic: str, number: int) -> PartitionResponse:
    partition = broker.topics.find(topic, number)
    if partition is None:
        return PartitionResponse(number, broker.topics.absent(topic, number), "this broker does not have it")
    if partition.error:
        why = "its log dir is offline" if partition.offline else "another broker leads it, or none"
        return PartitionResponse(number, partition.error, why)
    known = [ProducerState(*producer) for producer in partition.log.active_producers()]
    return PartitionResponse(number, active_producers=known)


def refuse(
    request: DescribeProducersRequest, context: RequestContext, code: ErrorCode, why: str
) -> DescribeProducersResponse:
    """Refuse every partition with the same error."""
    return DescribeProducersResponse(
        0,
        [
            TopicResponse(t.name, [PartitionResponse(n, code, why) for n in t.partition_indexes])
            for t in request.topics
        ],
    )


API = Api(DescribeProducersRequest, DescribeProducersResponse, answer, refuse)
