"""ListPartitionReassignments (key 46), version 0: none, because partitions do not move yet (KIP-455)."""

from __future__ import annotations

from kafkatx.broker.broker import Broker
from kafkatx.broker.dispatch import Api
from kafkatx.broker.requests.context import RequestContext
from kafkatx.errors import ErrorCode
from kafkatx.wire.messages.list_partition_reassignments import (
    ListPartitionReassignmentsRequest,
    ListPartitionReassignmentsResponse,
)


def answer(
    broker: Broker, request: ListPartitionReassignmentsRequest, context: RequestContext
) -> ListPartitionReassignmentsResponse:
    """Return an empty list, for unknown topics as well, as Apache Kafka does."""
    return ListPartitionReassignmentsResponse()


def refuse(
    request: ListPartitionReassignmentsRequest, context: RequestContext, code: ErrorCode, why: str
) -> ListPartitionReassignmentsResponse:
    """Refuse the whole request with an error."""
    return ListPartitionReassignmentsResponse(0, code, why)


API = Api(ListPartitionReassignmentsRequest, ListPartitionReassignmentsResponse, answer, refuse)
