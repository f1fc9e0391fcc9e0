"""ListPartitionReassignments (key 46), version 0: the reassignments in progress (KIP-455).

Deviation from Apache Kafka: any broker answers, from its own view of the cluster, not the controller alone.
"""

from __future__ import annotations

from collections.abc import Collection

from kafkatx.broker.broker import Broker
from kafkatx.broker.dispatch import Api
from kafkatx.broker.requests.context import RequestContext
from kafkatx.errors import ErrorCode
from kafkatx.types import Topic
from kafkatx.wire.messages.list_partition_reassignments import (
    ListPartitionReassignmentsRequest,
    ListPartitionReassignmentsResponse,
    OngoingPartitionReassignment,
    OngoingTopicReassignment,
)


def answer(
    broker: Broker, request: ListPartitionReassignmentsRequest, context: RequestContext
) -> ListPartitionReassignmentsResponse:
    """List the requested partitions that are being reassigned; unknown ones are not, as in Apache Kafka."""
    topics = broker.metadata.state.topics
    if request.topics is None:
        found = [_ongoing(topic) for topic in topics.values()]
    else:
        found = [
            _ongoing(topics[asked.name], frozenset(asked.partition_indexes))
            for asked in request.topics
            if asked.name in topics
        ]
    return ListPartitionReassignmentsResponse(topics=[one for one in found if one.partitions])


def _ongoing(topic: Topic, numbers: Collection[int] | None = None) -> OngoingTopicReassignment:
    return OngoingTopicReassignment(
        topic.name,
        [
            OngoingPartitionReassignment(number, list(one.replicas), list(one.adding), list(one.removing))
            for number, one in enumerate(topic.partitions)
            if (one.adding or one.removing) and (numbers is None or number in numbers)
        ],
    )


def refuse(
    request: ListPartitionReassignmentsRequest, context: RequestContext, code: ErrorCode, why: str
) -> ListPartitionReassignmentsResponse:
    """Refuse the whole request with an error."""
    return ListPartitionReassignmentsResponse(0, code, why)


API = Api(ListPartitionReassignmentsRequest, ListPartitionReassignmentsResponse, answer, refuse)
