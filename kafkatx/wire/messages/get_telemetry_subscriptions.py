"""GetTelemetrySubscriptions (key 71), version 0: the metrics that a client is asked to push (KIP-714)."""

from __future__ import annotations

import uuid

from kafkatx.wire.schema import BOOLEAN, INT8, INT16, INT32, STRING, UUID, Message, array, field


class GetTelemetrySubscriptionsRequest(Message, key=71, versions=(0, 0), flexible=0):
    """Request the subscription of a client instance; the null UUID asks for a new id."""

    client_instance_id: uuid.UUID = field(UUID)


class GetTelemetrySubscriptionsResponse(Message, key=71, versions=(0, 0), flexible=0):
    """The subscription: prefixes of names of metrics (``*``: all; none: nothing), and how to push them."""

    throttle_time_ms: int = field(INT32)
    error_code: int = field(INT16)
    client_instance_id: uuid.UUID = field(UUID)
    subscription_id: int = field(INT32)
    accepted_compression_types: list[int] = field(array(INT8))
    push_interval_ms: int = field(INT32)
    telemetry_max_bytes: int = field(INT32)
    delta_temporality: bool = field(BOOLEAN)
    requested_metrics: list[str] = field(array(STRING))
