"""ListPartitionReassignments (key 46), version 0: with one broker there never is one under way (KIP-455)."""

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
    """None, whatever is asked for; as Apache Kafka, also of topics that are not there."""
    return ListPartitionReassignmentsResponse()


def refuse(
    request: ListPartitionReassignmentsRequest, context: RequestContext, code: ErrorCode, why: str
) -> ListPartitionReassignmentsResponse:
    """The error of the whole."""
    return ListPartitionReassignmentsResponse(0, code, why)


API = Api(ListPartitionReassignmentsRequest, ListPartitionReassignmentsResponse, answer, refuse)
