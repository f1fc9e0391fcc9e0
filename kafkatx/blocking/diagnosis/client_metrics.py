"""Subscriptions to metrics of clients (KIP-714), and the values that clients have pushed."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from functools import partial
from typing import TYPE_CHECKING

import attrs

from kafkatx.blocking.admin.configs import Configs
from kafkatx.blocking.diagnosis.own_requests import OwnRequests
from kafkatx.clientcore.admin.configs import ConfigEntry, Resource, ResourceType, Source
from kafkatx.clientcore.errors import check
from kafkatx.wire.messages.describe_client_metrics import (
    DescribeClientMetricsRequest,
    DescribeClientMetricsResponse,
    MetricsClient,
)
from kafkatx.wire.messages.list_config_resources import (
    CLIENT_METRICS,
    ListConfigResourcesRequest,
    ListConfigResourcesResponse,
)

if TYPE_CHECKING:
    from kafkatx.blocking.cluster import Cluster
    from kafkatx.types import BrokerNode
    from kafkatx.wire.schema import Message


@attrs.frozen
class PushedMetrics:
    """The values that the clients of one broker have pushed."""

    broker: int
    clients: tuple[MetricsClient, ...]
    truncated: bool


class ClientMetrics:
    """Subscriptions and values, through a :class:`Cluster`, which the caller closes."""

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster
        self._configs = Configs(cluster)

    def subscriptions(self) -> list[str]:
        """Return the names of the subscriptions.

        :raises RequestError: CLUSTER_AUTHORIZATION_FAILED; UNSUPPORTED_VERSION from an older broker.
        """
        response = self._cluster.retrying(partial(self._any, ListConfigResourcesRequest([CLIENT_METRICS])))
        check(response.error_code, "subscriptions to metrics of clients", None)
        return sorted(one.resource_name for one in response.config_resources)

    def _any(self, request: ListConfigResourcesRequest) -> ListConfigResourcesResponse:
        response: ListConfigResourcesResponse = self._cluster.any_broker().request(request)
        return response

    def describe(self, name: str) -> dict[str, ConfigEntry]:
        """Return the configs of a subscription by name; its defaults if there is no such subscription."""
        return self._configs.describe(Resource(ResourceType.CLIENT_METRICS, name))

    def alter(self, name: str, values: Mapping[str, str], deleted: Collection[str] = ()) -> None:
        """Change the configs of a subscription, which need not exist.

        :raises RequestError: INVALID_CONFIG, INVALID_REQUEST: see docs/client-metrics.md.
        """
        self._configs.alter(Resource(ResourceType.CLIENT_METRICS, name), values, deleted)

    def delete(self, name: str) -> bool:
        """Delete a subscription; return False if there is none."""
        own = [one.name for one in self.describe(name).values() if one.source is Source.CLIENT_METRICS]
        if own:
            self.alter(name, {}, own)
        return bool(own)

    def values(self, client_id: str | None, metrics: Collection[str] | None) -> list[PushedMetrics]:
        """Return what clients have pushed, by broker.

        :param client_id: of the clients; None: all.
        :param metrics: prefixes of names; None: all.
        :raises NotKafkatx: a broker is not kafkatx, or older.
        """
        request = DescribeClientMetricsRequest(client_id, None if metrics is None else sorted(metrics))
        return OwnRequests(self._cluster).ask_all(request, _pushed)


def _pushed(node: BrokerNode, response: Message) -> PushedMetrics:
    assert isinstance(response, DescribeClientMetricsResponse)
    check(response.error_code, f"metrics of clients of broker {node.id}", response.error_message)
    return PushedMetrics(node.id, tuple(response.clients), response.truncated)
