"""Configs of topics and brokers: describe and alter."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from functools import partial
from types import MappingProxyType
from typing import TYPE_CHECKING

from kafkatx.clientcore.admin import configs as messages
from kafkatx.clientcore.admin.configs import ConfigEntry, Resource
from kafkatx.wire.messages.describe_configs import DescribeConfigsRequest, DescribeConfigsResponse

if TYPE_CHECKING:
    from kafkatx.blocking.cluster import Cluster
    from kafkatx.blocking.connection import Channel

TOPICS_PER_REQUEST = 500


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

    def values_of_topics(self, name: str, topics: Collection[str]) -> dict[str, str]:
        """Return the value of one config by topic; topics whose configs are not shown are left out.

        It sends a request for every 500 topics.

        :raises RequestError: UNSUPPORTED_VERSION from a broker older than Kafka 0.11.
        """
        found: dict[str, str] = {}
        names = sorted(topics)
        for at in range(0, len(names), TOPICS_PER_REQUEST):
            request = messages.value_request(name, names[at : at + TOPICS_PER_REQUEST])
            found |= messages.values(self._cluster.retrying(partial(self._any, request)), name)
        return found

    def _any(self, request: DescribeConfigsRequest) -> DescribeConfigsResponse:
        response: DescribeConfigsResponse = self._cluster.any_broker().request(request)
        return response

    def alter(
        self,
        resource: Resource,
        values: Mapping[str, str] = MappingProxyType({}),
        deleted: Collection[str] = (),
        validate_only: bool = False,
        appended: Mapping[str, str] = MappingProxyType({}),
        subtracted: Mapping[str, str] = MappingProxyType({}),
    ) -> None:
        """Set *values* and reset *deleted* to their defaults: all of them or, on an error, none.

        :param appended: what to append to lists, separated by commas; *subtracted* what to remove from them.
        :raises UnknownTopic: there is no such topic.
        :raises RequestError: INVALID_CONFIG, INVALID_REQUEST (one is read-only), ...; UNSUPPORTED_VERSION
            from a broker older than Kafka 2.3.
        """
        request = messages.alter_request(resource, values, deleted, validate_only, appended, subtracted)

        def attempt() -> None:
            messages.check_altered(self._channel(resource).request(request), resource)

        self._cluster.retrying(attempt)

    def _channel(self, resource: Resource) -> Channel:
        node = self._cluster.brokers().get(-1 if resource.broker_id is None else resource.broker_id)
        return self._cluster.connection_to(node) if node is not None else self._cluster.any_broker()
