"""AlterPartitionReassignments (key 45), version 0: move partitions between brokers (KIP-455).

Only the controller answers; clients ask it. ``timeout_ms`` is ignored: the metadata store waits for 30 s. The
answer comes when the reassignments have begun; ListPartitionReassignments tells if they are complete.
"""

from __future__ import annotations

from collections.abc import Mapping

from twisted.internet.defer import Deferred

from kafkatx.broker.broker import Broker
from kafkatx.broker.dispatch import Api
from kafkatx.broker.requests.context import RequestContext, error_message
from kafkatx.errors import ErrorCode, RequestError
from kafkatx.types import TopicPartition
from kafkatx.wire.messages.alter_partition_reassignments import (
    AlterPartitionReassignmentsRequest,
    AlterPartitionReassignmentsResponse,
    ReassignablePartitionResponse,
    ReassignableTopicResponse,
)


def answer(
    broker: Broker, request: AlterPartitionReassignmentsRequest, context: RequestContext
) -> Deferred[AlterPartitionReassignmentsResponse]:
    """Begin or cancel reassignments."""
    changes = {
        TopicPartition(topic.name, asked.partition_index): asked.replicas
        for topic in request.topics
        for asked in topic.partitions
    }
    return broker.metadata.reassign(changes).addCallback(_response)


def _response(
    outcomes: Mapping[TopicPartition, RequestError | None],
) -> AlterPartitionReassignmentsResponse:
    topics: dict[str, list[ReassignablePartitionResponse]] = {}
    for (topic, partition), error in outcomes.items():
        result = ReassignablePartitionResponse(partition)
        if error is not None:
            result = ReassignablePartitionResponse(partition, error.code, error_message(error))
        topics.setdefault(topic, []).append(result)
    responses = [ReassignableTopicResponse(name, results) for name, results in topics.items()]
    return AlterPartitionReassignmentsResponse(0, 0, None, responses)


def refuse(
    request: AlterPartitionReassignmentsRequest, context: RequestContext, code: ErrorCode, why: str
) -> AlterPartitionReassignmentsResponse:
    """Refuse the whole request with an error."""
    return AlterPartitionReassignmentsResponse(0, code, why)


API = Api(AlterPartitionReassignmentsRequest, AlterPartitionReassignmentsResponse, answer, refuse)
