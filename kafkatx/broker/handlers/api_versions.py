"""ApiVersions (key 18), versions 0-3; a newer one is answered with error 35 by the dispatch."""

from __future__ import annotations

from kafkatx.broker.dispatch import RequestContext
from kafkatx.broker.state import Broker
from kafkatx.errors import ErrorCode
from kafkatx.wire.messages.api_versions import ApiVersion, ApiVersionsRequest, ApiVersionsResponse


def answer(broker: Broker, request: ApiVersionsRequest, context: RequestContext) -> ApiVersionsResponse:
    """Show what the table of handlers offers."""
    if request.client_software_name:
        context.peer.client_software = f"{request.client_software_name} {request.client_software_version}"
    return ApiVersionsResponse(0, [ApiVersion(key, v[0], v[-1]) for key, v in sorted(broker.offered.items())])


def refuse(
    request: ApiVersionsRequest | None, context: RequestContext, code: ErrorCode, message: str
) -> ApiVersionsResponse:
    """The error, with the range of ApiVersions itself: that is all that the client needs to try again."""
    own = ApiVersionsRequest.VERSIONS
    return ApiVersionsResponse(code, [ApiVersion(ApiVersionsRequest.API_KEY, own[0], own[-1])])
