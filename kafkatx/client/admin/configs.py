"""Configs of topics and brokers: describe and alter."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from types import MappingProxyType

from kafkatx.client.admin.destinations import Destinations
from kafkatx.client.deferreds import deferred
from kafkatx.clientcore.admin import configs as messages
from kafkatx.clientcore.admin.configs import ConfigEntry, Resource
from kafkatx.wire.messages.describe_configs import DescribeConfigsRequest


class Configs:
    """The configs part of an admin client: :attr:`kafkatx.client.admin.admin.Admin.configs`."""

    def __init__(self, destinations: Destinations) -> None:
        self._destinations = destinations

    @deferred
    async def describe(self, resource: Resource, synonyms: bool = False) -> dict[str, ConfigEntry]:
        """Describe all configs of a topic or broker, by name; of all brokers' defaults those that are set.

        Fails with UnknownTopic, or RequestError INVALID_REQUEST: there is no such broker.
        """
        request = messages.describe_request(resource, synonyms)

        async def attempt() -> dict[str, ConfigEntry]:
            node_id = await self._node(resource)
            version = await self._destinations.version(node_id, DescribeConfigsRequest)
            return messages.entries(
                await self._destinations.node(node_id, request, version), resource, version
            )

        return await self._destinations.cluster.retrying(attempt)

    @deferred
    async def alter(
        self,
        resource: Resource,
        values: Mapping[str, str] = MappingProxyType({}),
        deleted: Collection[str] = (),
        validate_only: bool = False,
    ) -> None:
        """Set *values* and reset *deleted* to their defaults: all of them or, on an error, none.

        Fails with UnknownTopic, or RequestError INVALID_CONFIG, INVALID_REQUEST (one is read-only), ...;
        UNSUPPORTED_VERSION from a broker older than Kafka 2.3.
        """
        request = messages.alter_request(resource, values, deleted, validate_only)

        async def attempt() -> None:
            node_id = await self._node(resource)
            messages.check_altered(await self._destinations.node(node_id, request), resource)

        await self._destinations.cluster.retrying(attempt)

    async def _node(self, resource: Resource) -> int:
        """Return the broker to ask: a broker for its own configs, any broker for all others."""
        brokers = (await self._destinations.cluster.describe([])).brokers
        node_id = resource.broker_id
        return node_id if node_id is not None and node_id in brokers else self._destinations.some(brokers)
