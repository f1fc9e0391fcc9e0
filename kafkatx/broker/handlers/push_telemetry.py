"""PushTelemetry (key 72), version 0: the metrics of a client (KIP-714). A worker reads them."""

from __future__ import annotations

from twisted.internet.defer import Deferred

from kafkatx.broker.broker import Broker
from kafkatx.broker.dispatch import Api
from kafkatx.broker.requests.context import RequestContext
from kafkatx.errors import ErrorCode
from kafkatx.wire.messages.push_telemetry import PushTelemetryRequest, PushTelemetryResponse


def answer(
    broker: Broker, request: PushTelemetryRequest, context: RequestContext
) -> Deferred[PushTelemetryResponse]:
    """Take the metrics."""
    taken = broker.telemetry.push(
        request.client_instance_id,
        request.subscription_id,
        request.terminating,
        request.compression_type,
        request.metrics,
        context,
    )
    return taken.addCallback(lambda _: PushTelemetryResponse())


def refuse(
    request: PushTelemetryRequest, context: RequestContext, code: ErrorCode, message: str
) -> PushTelemetryResponse:
    """Refuse the request with an error."""
    return PushTelemetryResponse(error_code=code)


API = Api(PushTelemetryRequest, PushTelemetryResponse, answer, refuse)
