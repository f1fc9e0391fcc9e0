"""DescribeCluster (key 60), versions 0-2.

A broker is in the cluster's state while it lives, so there are no others to include (KIP-1073).
``is_fenced`` is what the broker that answers knows of itself: it leads nothing, since its registration or
lease is lost.
"""

from __future__ import annotations

from kafkatx.broker.broker import Broker
from kafkatx.broker.dispatch import Api
from kafkatx.broker.requests.authorized_operations import CLUSTER_OPERATIONS, NOT_ASKED
from kafkatx.broker.requests.context import RequestContext
from kafkatx.errors import ErrorCode, RequestError
from kafkatx.types import ClusterState
from kafkatx.wire.messages.describe_cluster import (
    DescribeClusterBroker,
    DescribeClusterRequest,
    DescribeClusterResponse,
)

BROKERS, CONTROLLERS = 1, 2


def answer(
    broker: Broker, request: DescribeClusterRequest, context: RequestContext
) -> DescribeClusterResponse:
    """Describe the brokers; there are no separate controllers to describe."""
    if request.endpoint_type == CONTROLLERS:
        raise RequestError(
            ErrorCode.MISMATCHED_ENDPOINT_TYPE, "controllers (2) are asked for, but only brokers (1) are here"
        )
    if request.endpoint_type != BROKERS:
        raise RequestError(
            ErrorCode.UNSUPPORTED_ENDPOINT_TYPE, f"endpoint type {request.endpoint_type} is unknown"
        )
    state: ClusterState = broker.metadata.state
    listener = context.peer.session.listener
    return DescribeClusterResponse(
        cluster_id=state.cluster_id,
        controller_id=state.controller_id,
        brokers=[
            DescribeClusterBroker(
                node.id, *node.address(listener), node.rack, state.fenced and node.id == broker.node_id
            )
            for node in state.brokers.values()
        ],
        cluster_authorized_operations=(
            CLUSTER_OPERATIONS if request.include_cluster_authorized_operations else NOT_ASKED
        ),
    )


def refuse(
    request: DescribeClusterRequest, context: RequestContext, code: ErrorCode, message: str
) -> DescribeClusterResponse:
    """Refuse the request with an error and a message."""
    return DescribeClusterResponse(0, code, message, request.endpoint_type)


API = Api(DescribeClusterRequest, DescribeClusterResponse, answer, refuse)
