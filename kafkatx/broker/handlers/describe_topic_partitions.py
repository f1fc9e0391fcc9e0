"""DescribeTopicPartitions (key 75), version 0: topics and their partitions, a page at a time (KIP-966).

Topics come in the order of their names, and each once. A page has at most ``response_partition_limit``
partitions, and never more than 2,000; ``next_cursor`` is where the next page begins. A request that names
topics has to name the cursor's among them.

Deviations from Apache Kafka: a topic that is not there counts as one partition towards the limit. Eligible
leader replicas are not kept: their lists are empty.
"""

from __future__ import annotations

from kafkatx.broker.broker import Broker
from kafkatx.broker.dispatch import Api
from kafkatx.broker.handlers.metadata import describe_partitions, is_new, missing_code, offline_replicas
from kafkatx.broker.requests.authorized_operations import TOPIC_OPERATIONS
from kafkatx.broker.requests.context import RequestContext
from kafkatx.errors import ErrorCode, RequestError
from kafkatx.types import ClusterState
from kafkatx.wire.messages.describe_topic_partitions import (
    Cursor,
    DescribeTopicPartitionsRequest,
    DescribeTopicPartitionsResponse,
    DescribeTopicPartitionsResponsePartition,
    DescribeTopicPartitionsResponseTopic,
)

MOST_PARTITIONS = 2000
"""Apache Kafka's default of ``max.request.partition.size.limit``."""


def answer(
    broker: Broker, request: DescribeTopicPartitionsRequest, context: RequestContext
) -> DescribeTopicPartitionsResponse:
    """Describe one page."""
    state: ClusterState = broker.metadata.state
    names = sorted({topic.name for topic in request.topics} or state.topics)
    first = request.cursor or Cursor("", 0)
    if first.partition_index < 0:
        raise RequestError(
            ErrorCode.INVALID_REQUEST, f"the cursor's partition {first.partition_index} is below 0"
        )
    if request.cursor is not None and request.topics and first.topic_name not in names:
        raise RequestError(
            ErrorCode.INVALID_REQUEST, "the topics that are asked for must contain the cursor's topic"
        )
    room = max(1, min(request.response_partition_limit, MOST_PARTITIONS))
    page: list[DescribeTopicPartitionsResponseTopic] = []
    for name in names:
        if name < first.topic_name:
            continue
        start = first.partition_index if name == first.topic_name else 0
        if room <= 0:
            return DescribeTopicPartitionsResponse(topics=page, next_cursor=Cursor(name, start))
        described, count = _describe(broker, name, start, room)
        page.append(described)
        end = start + len(described.partitions)
        if end < count:
            return DescribeTopicPartitionsResponse(topics=page, next_cursor=Cursor(name, end))
        room -= max(1, len(described.partitions))
    return DescribeTopicPartitionsResponse(topics=page)


def _describe(
    broker: Broker, name: str, start: int, room: int
) -> tuple[DescribeTopicPartitionsResponseTopic, int]:
    """Return at most *room* partitions of a topic, from *start* on, and the number of all."""
    state: ClusterState = broker.metadata.state
    topic = state.topics.get(name)
    if topic is None:
        missing = DescribeTopicPartitionsResponseTopic(missing_code(name), name)
        missing.topic_authorized_operations = TOPIC_OPERATIONS
        return missing, 0
    if is_new(topic):
        new = DescribeTopicPartitionsResponseTopic(
            ErrorCode.LEADER_NOT_AVAILABLE, name, topic.topic_id, topic.internal
        )
        new.topic_authorized_operations = TOPIC_OPERATIONS
        return new, 0
    offline = offline_replicas(broker, name)
    partitions = [
        DescribeTopicPartitionsResponsePartition(
            p.error_code,
            p.partition_index,
            p.leader_id,
            p.leader_epoch,
            p.replica_nodes,
            p.isr_nodes,
            list(topic.partitions[p.partition_index].eligible),
            [],
            p.offline_replicas,
        )
        for p in describe_partitions(state, topic, offline, range(start, start + room))
    ]
    described = DescribeTopicPartitionsResponseTopic(
        0, name, topic.topic_id, topic.internal, partitions, TOPIC_OPERATIONS
    )
    return described, len(topic.partitions)


def refuse(
    request: DescribeTopicPartitionsRequest, context: RequestContext, code: ErrorCode, message: str
) -> DescribeTopicPartitionsResponse:
    """Refuse every topic with the same error."""
    names = sorted({topic.name for topic in request.topics})
    return DescribeTopicPartitionsResponse(
        topics=[DescribeTopicPartitionsResponseTopic(code, name) for name in names]
    )


API = Api(DescribeTopicPartitionsRequest, DescribeTopicPartitionsResponse, answer, refuse)
