"""ApiVersions (key 18), versions 0-4; a newer one is answered with error 35 by the dispatch.

The requests of clients that push metrics (KIP-714) are listed only while there is a subscription: clients
that see them ask at once, and librdkafka prints its id then. They are served in any case.

Features whose lowest level is 0 are shown from version 4 on: older clients cannot read them (KAFKA-17011).
"""

from __future__ import annotations

from kafkatx.broker.broker import Broker
from kafkatx.broker.dispatch import Api
from kafkatx.broker.features import features
from kafkatx.broker.requests.context import RequestContext
from kafkatx.errors import ErrorCode
from kafkatx.wire.messages.api_versions import (
    ApiVersion,
    ApiVersionsRequest,
    ApiVersionsResponse,
    FinalizedFeatureKey,
    SupportedFeatureKey,
)
from kafkatx.wire.messages.get_telemetry_subscriptions import GetTelemetrySubscriptionsRequest
from kafkatx.wire.messages.push_telemetry import PushTelemetryRequest

LOWEST_LEVEL_0_SINCE = 4
OF_SUBSCRIBERS = (GetTelemetrySubscriptionsRequest.API_KEY, PushTelemetryRequest.API_KEY)


def answer(broker: Broker, request: ApiVersionsRequest, context: RequestContext) -> ApiVersionsResponse:
    """List the APIs of the table of handlers, and the features."""
    if request.client_software_name:
        context.peer.client_software = f"{request.client_software_name} {request.client_software_version}"
    in_force = features(broker.config)
    hidden = () if broker.metadata.state.client_metrics_configs else OF_SUBSCRIBERS
    offered = sorted((key, versions) for key, versions in broker.offered.items() if key not in hidden)
    return ApiVersionsResponse(
        api_keys=[ApiVersion(key, versions[0], versions[-1]) for key, versions in offered],
        supported_features=[
            SupportedFeatureKey(feature.name, feature.min_version, feature.max_version)
            for feature in in_force
            if feature.min_version > 0 or context.version >= LOWEST_LEVEL_0_SINCE
        ],
        finalized_features_epoch=broker.features_epoch,
        finalized_features=[
            FinalizedFeatureKey(feature.name, feature.level, feature.level) for feature in in_force
        ],
    )


def refuse(
    request: ApiVersionsRequest | None, context: RequestContext, code: ErrorCode, message: str
) -> ApiVersionsResponse:
    """Return an error with the versions of ApiVersions itself: a client needs no more to try again."""
    own = ApiVersionsRequest.VERSIONS
    return ApiVersionsResponse(code, [ApiVersion(ApiVersionsRequest.API_KEY, own[0], own[-1])])


API = Api(ApiVersionsRequest, ApiVersionsResponse, answer, refuse)
