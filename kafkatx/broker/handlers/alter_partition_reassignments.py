"""AlterPartitionReassignments (key 45), version 0: move partitions between brokers (KIP-455).

Partitions do not move between brokers yet, because they are not copied. An assignment to the replicas that a
partition has is accepted, any other is refused, and there is never a reassignment in progress that could be
cancelled. Any broker answers so.
"""

from __future__ import annotations

from kafkatx.broker.broker import Broker
from kafkatx.broker.dispatch import Api
from kafkatx.broker.requests.assignments import check_replicas, find_state
from kafkatx.broker.requests.context import RequestContext, error_message
from kafkatx.errors import ErrorCode, RequestError
from kafkatx.wire.messages.alter_partition_reassignments import (
    AlterPartitionReassignmentsRequest,
    AlterPartitionReassignmentsResponse,
    ReassignablePartition,
    ReassignablePartitionResponse,
    ReassignableTopicResponse,
)


def answer(
    broker: Broker, request: AlterPartitionReassignmentsRequest, context: RequestContext
) -> AlterPartitionReassignmentsResponse:
    """Answer for each partition."""
    return AlterPartitionReassignmentsResponse(
        0,
        0,
        None,
        [
            ReassignableTopicResponse(topic.name, [_result(broker, topic.name, p) for p in topic.partitions])
            for topic in request.topics
        ],
    )


def _result(broker: Broker, topic: str, asked: ReassignablePartition) -> ReassignablePartitionResponse:
    try:
        _reassign(broker, topic, asked)
    except RequestError as error:
        return ReassignablePartitionResponse(asked.partition_index, error.code, error_message(error))
    return ReassignablePartitionResponse(asked.partition_index)


def _reassign(broker: Broker, topic: str, asked: ReassignablePartition) -> None:
    """Check that a partition stays where it is.

    :raises RequestError: it would have to move, or a reassignment that is not in progress is cancelled.
    """
    state = find_state(broker.metadata.state, topic, asked.partition_index)
    if asked.replicas is None:
        raise RequestError(ErrorCode.NO_REASSIGNMENT_IN_PROGRESS, "No partition reassignment is in progress.")
    if tuple(asked.replicas) != state.replicas:
        check_replicas(broker.metadata.state, asked.replicas)
        raise RequestError(
            ErrorCode.INVALID_REPLICA_ASSIGNMENT,
            "kafkatx does not copy partitions yet, and cannot move them between brokers:"
            f" {topic}-{asked.partition_index} stays at {list(state.replicas)}",
        )


def refuse(
    request: AlterPartitionReassignmentsRequest, context: RequestContext, code: ErrorCode, why: str
) -> AlterPartitionReassignmentsResponse:
    """Refuse the whole request with an error."""
    return AlterPartitionReassignmentsResponse(0, code, why)


API = Api(AlterPartitionReassignmentsRequest, AlterPartitionReassignmentsResponse, answer, refuse)
