"""GetTelemetrySubscriptions (key 71), version 0: what a client is asked to push (KIP-714).

Without subscriptions nothing is kept about the client, and it is never told to come back later.
"""

from __future__ import annotations

from kafkatx.broker.broker import Broker
from kafkatx.broker.dispatch import Api
from kafkatx.broker.requests.context import RequestContext
from kafkatx.broker.telemetry.telemetry import ACCEPTED
from kafkatx.errors import ErrorCode
from kafkatx.wire.messages.get_telemetry_subscriptions import (
    GetTelemetrySubscriptionsRequest,
    GetTelemetrySubscriptionsResponse,
)


def answer(
    broker: Broker, request: GetTelemetrySubscriptionsRequest, context: RequestContext
) -> GetTelemetrySubscriptionsResponse:
    """Return the client's subscription, and its id if it has none yet."""
    telemetry = broker.telemetry
    instance_id, selection = telemetry.subscribe(request.client_instance_id, context)
    return GetTelemetrySubscriptionsResponse(
        client_instance_id=instance_id,
        subscription_id=selection.subscription_id(instance_id),
        accepted_compression_types=[*map(int, ACCEPTED)],
        push_interval_ms=selection.interval_ms,
        telemetry_max_bytes=telemetry.most_bytes,
        delta_temporality=True,
        requested_metrics=[*selection.metrics],
    )


def refuse(
    request: GetTelemetrySubscriptionsRequest, context: RequestContext, code: ErrorCode, message: str
) -> GetTelemetrySubscriptionsResponse:
    """Refuse the request with an error."""
    return GetTelemetrySubscriptionsResponse(error_code=code)


API = Api(GetTelemetrySubscriptionsRequest, GetTelemetrySubscriptionsResponse, answer, refuse)
