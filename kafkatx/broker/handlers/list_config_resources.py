"""ListConfigResources (key 74), versions 0-1: the resources whose configs DescribeConfigs shows.

Version 0 asks for client metrics alone. Without types every type is listed. A type
that is unknown is UNSUPPORTED_VERSION, as in Apache Kafka. Brokers have no loggers with levels here: there
are no resources of that type.
"""

from __future__ import annotations

from kafkatx.broker.broker import Broker
from kafkatx.broker.configs import BROKER, BROKER_LOGGER, CLIENT_METRICS, GROUP, TOPIC
from kafkatx.broker.dispatch import Api
from kafkatx.broker.requests.context import RequestContext
from kafkatx.errors import ErrorCode, RequestError
from kafkatx.types import ClusterState
from kafkatx.wire.messages.list_config_resources import (
    ConfigResource,
    ListConfigResourcesRequest,
    ListConfigResourcesResponse,
)

TYPES_SINCE = 1
TYPES = (BROKER, BROKER_LOGGER, TOPIC, CLIENT_METRICS, GROUP)


def answer(
    broker: Broker, request: ListConfigResourcesRequest, context: RequestContext
) -> ListConfigResourcesResponse:
    """List the resources, type by type."""
    types = request.resource_types if context.version >= TYPES_SINCE else [CLIENT_METRICS]
    unknown = [kind for kind in types if kind not in TYPES]
    if unknown:
        raise RequestError(ErrorCode.UNSUPPORTED_VERSION, f"resource type {unknown[0]} has no configs")
    wanted = set(types or TYPES)
    state: ClusterState = broker.metadata.state
    names = {
        BROKER: map(str, sorted(state.brokers)),
        TOPIC: sorted(state.topics),
        GROUP: sorted(state.group_configs),
        CLIENT_METRICS: sorted(state.client_metrics_configs),
    }
    return ListConfigResourcesResponse(
        config_resources=[
            ConfigResource(name, kind) for kind in TYPES if kind in wanted for name in names.get(kind, ())
        ]
    )


def refuse(
    request: ListConfigResourcesRequest, context: RequestContext, code: ErrorCode, message: str
) -> ListConfigResourcesResponse:
    """Refuse the request with an error."""
    return ListConfigResourcesResponse(0, code)


API = Api(ListConfigResourcesRequest, ListConfigResourcesResponse, answer, refuse)
