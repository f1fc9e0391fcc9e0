"""A cluster in memory with subscriptions to metrics of clients, and what clients have pushed."""

from __future__ import annotations

import uuid
from typing import Any

import attrs

from kafkatx.clientcore.errors import ClosedByPeer
from kafkatx.wire.messages import describe_client_metrics as m
from kafkatx.wire.messages import describe_configs, list_config_resources
from tests.blocking.fake_settings import FakeSettings

CLIENT_METRICS = 16
OWN, DEFAULT = 7, 5
DEFAULTS = {"metrics": "", "interval.ms": "300000", "match": ""}


def pushed(client_id: str = "app", *metrics: m.ClientMetric) -> m.MetricsClient:
    """Return a client with values."""
    label = m.MetricLabel("group_id", "g")
    return m.MetricsClient(
        *(uuid.UUID(int=1 << 64), client_id, "librdkafka", "2.16.1", "127.0.0.1:5", "User:ann"),
        *([label], 5000, 1500, 0, [*metrics]),
    )


def metric(name: str, value: float, is_sum: bool = False, **labels: str) -> m.ClientMetric:
    """Return a value."""
    return m.ClientMetric(name, [m.MetricLabel(*one) for one in labels.items()], value, is_sum)


@attrs.define(eq=False)
class FakeClientMetrics(FakeSettings):
    """Brokers that describe what clients push; ``foreign`` ones close the connection on that."""

    pushed: dict[int, list[m.MetricsClient]] = attrs.Factory(dict)
    truncated: bool = False
    foreign: set[int] = attrs.Factory(set)

    def answer_list_config_resources(self, node: int, request: Any, version: int, error: int) -> Any:
        """List the subscriptions."""
        found = [name for kind, name in self.settings if kind == CLIENT_METRICS]
        resources = [list_config_resources.ConfigResource(name) for name in found if self.settings[16, name]]
        return list_config_resources.ListConfigResourcesResponse(0, error, resources)

    def answer_describe_configs(self, node: int, request: Any, version: int, error: int) -> Any:
        """Describe a subscription."""
        (asked,) = request.resources
        own = self.settings.get((asked.resource_type, asked.resource_name), {})
        entries = [
            describe_configs.DescribeConfigsResourceResult(
                name, own.get(name, default), config_source=OWN if name in own else DEFAULT
            )
            for name, default in DEFAULTS.items()
        ]
        result = describe_configs.DescribeConfigsResult(
            error, None, asked.resource_type, asked.resource_name, entries
        )
        return describe_configs.DescribeConfigsResponse(results=[result])

    def answer_describe_client_metrics(self, node: int, request: Any, version: int, error: int) -> Any:
        """Describe the clients of a broker; all of them, unless their id is given."""
        if node in self.foreign:
            raise ClosedByPeer(f"broker{node} closed the connection")
        found = [one for one in self.pushed.get(node, []) if request.client_id in (None, one.client_id)]
        return m.DescribeClientMetricsResponse(0, error, "for a test", found, self.truncated)
