"""DescribeClientMetrics (key 10101), version 0: the recent values that clients have pushed to this broker.

It is kafkatx's own and not listed by ApiVersions. A reply has at most ``response_value_limit`` values, and
never more than 5,000; ``truncated`` says that there are more.
"""

from __future__ import annotations

from kafkatx.broker.broker import Broker
from kafkatx.broker.dispatch import Api
from kafkatx.broker.requests.context import RequestContext
from kafkatx.broker.telemetry.otlp import Labels
from kafkatx.broker.telemetry.recent_values import ClientValues, Key
from kafkatx.errors import ErrorCode
from kafkatx.wire.messages.describe_client_metrics import (
    ClientMetric,
    DescribeClientMetricsRequest,
    DescribeClientMetricsResponse,
    MetricLabel,
    MetricsClient,
)

MOST_VALUES = 5000
MOST_CLIENTS = 2000


def answer(
    broker: Broker, request: DescribeClientMetricsRequest, context: RequestContext
) -> DescribeClientMetricsResponse:
    """Describe clients in the order of their ids."""
    response = DescribeClientMetricsResponse()
    room = max(0, min(request.response_value_limit, MOST_VALUES))
    prefixes = None if request.metrics is None else tuple(request.metrics)
    for one in broker.telemetry.recent():
        if request.client_id is not None and one.client.client_id != request.client_id:
            continue
        if len(response.clients) >= MOST_CLIENTS:
            response.truncated = True
            break
        wanted = [key for key in one.values if prefixes is None or key[0].startswith(prefixes)]
        response.truncated = response.truncated or len(wanted) > room
        response.clients.append(_client(one, wanted[:room], broker.telemetry.age_ms(one)))
        room = max(0, room - len(wanted))
    return response


def _client(one: ClientValues, wanted: list[Key], age_ms: int) -> MetricsClient:
    client = one.client
    return MetricsClient(
        one.instance_id,
        client.client_id,
        client.client_software_name,
        client.client_software_version,
        f"{client.client_source_address}:{client.client_source_port}",
        one.principal,
        _labels(one.labels),
        one.interval_ms,
        age_ms,
        one.dropped,
        [
            ClientMetric(key[0], _labels(key[1]), one.values[key].value, one.values[key].is_sum)
            for key in wanted
        ],
    )


def _labels(labels: Labels) -> list[MetricLabel]:
    return [MetricLabel(name, value) for name, value in labels]


def refuse(
    request: DescribeClientMetricsRequest, context: RequestContext, code: ErrorCode, message: str
) -> DescribeClientMetricsResponse:
    """Refuse the request with an error and a message."""
    return DescribeClientMetricsResponse(error_code=code, error_message=message)


API = Api(DescribeClientMetricsRequest, DescribeClientMetricsResponse, answer, refuse)
