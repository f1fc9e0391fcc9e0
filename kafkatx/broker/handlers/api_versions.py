"""ApiVersions (key 18), versions 0-4; a newer one is answered with error 35 by the dispatch.

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

LOWEST_LEVEL_0_SINCE = 4


def answer(broker: Broker, request: ApiVersionsRequest, context: RequestContext) -> ApiVersionsResponse:
    """List the APIs of the table of handlers, and the features."""
    if request.client_software_name:
        context.peer.client_software = f"{request.client_software_name} {request.client_software_version}"
    in_force = features(broker.config)
    return ApiVersionsResponse(
        api_keys=[ApiVersion(key, v[0], v[-1]) for key, v in sorted(broker.offered.items())],
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
