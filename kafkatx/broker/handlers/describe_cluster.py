"""DescribeCluster (key 60), versions 0-1."""

from __future__ import annotations

from kafkatx.broker.dispatch import RequestContext
from kafkatx.broker.state import Broker
from kafkatx.errors import ErrorCode, RequestError
from kafkatx.types import ClusterState
from kafkatx.wire.messages.describe_cluster import (
    DescribeClusterBroker,
    DescribeClusterRequest,
    DescribeClusterResponse,
)

BROKERS = 1


def answer(
    broker: Broker, request: DescribeClusterRequest, context: RequestContext
) -> DescribeClusterResponse:
    """Describe the brokers; there are no separate controllers to describe."""
    if request.endpoint_type != BROKERS:
        raise RequestError(
            ErrorCode.INVALID_REQUEST, f"endpoint type {request.endpoint_type}: only brokers (1) are here"
        )
    state: ClusterState = broker.coordinator.state
    return DescribeClusterResponse(
        cluster_id=state.cluster_id,
        controller_id=state.controller_id,
        brokers=[DescribeClusterBroker(n.id, n.host, n.port, n.rack) for n in state.brokers.values()],
    )


def refuse(
    request: DescribeClusterRequest, context: RequestContext, code: ErrorCode, message: str
) -> DescribeClusterResponse:
    """The error and why."""
    return DescribeClusterResponse(0, code, message, request.endpoint_type)
