"""Configs of topics and brokers: describe and alter."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING

from kafkatx.clientcore.admin import configs as messages
from kafkatx.clientcore.admin.configs import ConfigEntry, Resource
from kafkatx.wire.messages.describe_configs import DescribeConfigsRequest

if TYPE_CHECKING:
    from kafkatx.blocking.cluster import Cluster
    from kafkatx.blocking.connection import Channel


class Configs:
    """Describes and alters configs through a :class:`Cluster`, which the caller closes."""

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster

    def describe(self, resource: Resource, synonyms: bool = False) -> dict[str, ConfigEntry]:
        """Return all configs of a topic or broker by name; of the cluster-wide defaults those that are set.

        :raises UnknownTopic: there is no such topic.
        :raises RequestError: INVALID_REQUEST, there is no such broker.
        """
        request = messages.describe_request(resource, synonyms)

        def attempt() -> dict[str, ConfigEntry]:
            channel = self._channel(resource)
            version = channel.version_for(DescribeConfigsRequest)
            return messages.entries(channel.request(request, version), resource, version)

        return self._cluster.retrying(attempt)

    def alter(
        self,
        resource: Resource,
        values: Mapping[str, str] = MappingProxyType({}),
        deleted: Collection[str] = (),
        validate_only: bool = False,
    ) -> None:
        """Set *values* and reset *deleted* to their defaults: all of them or, on an error, none.

        :raises UnknownTopic: there is no such topic.
        :raises RequestError: INVALID_CONFIG, INVALID_REQUEST (one is read-only), ...; UNSUPPORTED_VERSION
            from a broker older than Kafka 2.3.
        """
        request = messages.alter_request(resource, values, deleted, validate_only)

        def attempt() -> None:
            messages.check_altered(self._channel(resource).request(request), resource)

        self._cluster.retrying(attempt)

    def _channel(self, resource: Resource) -> Channel:
        node = self._cluster.brokers().get(-1 if resource.broker_id is None else resource.broker_id)
        return self._cluster.connection_to(node) if node is not None else self._cluster.any_broker()
