"""DescribeClientMetrics (key 10101), version 0: the values that clients have pushed to a broker (KIP-714).

It is kafkatx's own, and ApiVersions does not list it: no other client meets a key that it does not know.
"""

from __future__ import annotations

import uuid

from kafkatx.wire.schema import (
    BOOLEAN,
    FLOAT64,
    INT16,
    INT32,
    INT64,
    STRING,
    UUID,
    Message,
    Struct,
    array,
    field,
    nullable,
)


class DescribeClientMetricsRequest(Message, key=10101, versions=(0, 0), flexible=0):
    """Request values: of the clients with an id, of metrics with one of some prefixes; null: all."""

    client_id: str | None = field(nullable(STRING), default=None)
    metrics: list[str] | None = field(nullable(array(STRING)), default=None)
    response_value_limit: int = field(INT32, default=5000)


class MetricLabel(Struct):
    """A label of a value, or of a client."""

    name: str = field(STRING)
    value: str = field(STRING)


class ClientMetric(Struct):
    """A value; ``is_sum``: it has been added up since the client's first push to this broker."""

    name: str = field(STRING)
    labels: list[MetricLabel] = field(array(MetricLabel))
    value: float = field(FLOAT64)
    is_sum: bool = field(BOOLEAN)


class MetricsClient(Struct):
    """A client instance; ``age_ms`` is the time since its last push."""

    client_instance_id: uuid.UUID = field(UUID)
    client_id: str = field(STRING)
    software_name: str = field(STRING)
    software_version: str = field(STRING)
    address: str = field(STRING)
    principal: str = field(STRING)
    labels: list[MetricLabel] = field(array(MetricLabel))
    push_interval_ms: int = field(INT32)
    age_ms: int = field(INT64)
    dropped: int = field(INT32)
    metrics: list[ClientMetric] = field(array(ClientMetric))


class DescribeClientMetricsResponse(Message, key=10101, versions=(0, 0), flexible=0):
    """The clients; ``truncated``: there are more values than the limit allows."""

    throttle_time_ms: int = field(INT32)
    error_code: int = field(INT16)
    error_message: str | None = field(nullable(STRING))
    clients: list[MetricsClient] = field(array(MetricsClient))
    truncated: bool = field(BOOLEAN)
