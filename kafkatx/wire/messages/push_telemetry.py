"""PushTelemetry (key 72), version 0: the metrics of a client instance (KIP-714)."""

from __future__ import annotations

import uuid

from kafkatx.wire.schema import BOOLEAN, BYTES, INT8, INT16, INT32, UUID, Message, field


class PushTelemetryRequest(Message, key=72, versions=(0, 0), flexible=0):
    """Push metrics: OpenTelemetry's ``MetricsData``, compressed; *terminating* with the last push."""

    client_instance_id: uuid.UUID = field(UUID)
    subscription_id: int = field(INT32)
    terminating: bool = field(BOOLEAN)
    compression_type: int = field(INT8)
    metrics: bytes = field(BYTES)


class PushTelemetryResponse(Message, key=72, versions=(0, 0), flexible=0):
    """The outcome."""

    throttle_time_ms: int = field(INT32)
    error_code: int = field(INT16)
