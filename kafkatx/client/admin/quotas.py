"""Client quotas (KIP-546): limits of users, client ids and addresses; describe and alter."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from types import MappingProxyType

from kafkatx.client.admin.destinations import Destinations
from kafkatx.client.deferreds import deferred
from kafkatx.clientcore.admin import quotas as messages
from kafkatx.clientcore.admin.quotas import Entity, EntityQuotas


class Quotas:
    """The quotas part of an admin client: :attr:`kafkatx.client.admin.admin.Admin.quotas`."""

    def __init__(self, destinations: Destinations) -> None:
        self._destinations = destinations

    @deferred
    async def describe(self, entity: Entity | None = None) -> list[EntityQuotas]:
        """Describe the quotas of exactly this entity, or of all entities.

        Fails with RequestError UNSUPPORTED_VERSION (a broker older than Kafka 2.6), ...
        """
        request = messages.describe_request(entity)

        async def attempt() -> list[EntityQuotas]:
            return messages.entity_quotas(await self._destinations.any(request))

        return await self._destinations.cluster.retrying(attempt)

    @deferred
    async def alter(
        self,
        entity: Entity,
        values: Mapping[str, float] = MappingProxyType({}),
        deleted: Collection[str] = (),
        validate_only: bool = False,
    ) -> None:
        """Set *values* and remove *deleted* of an entity: all of them or, on an error, none.

        Fails with RequestError INVALID_REQUEST (no such quota, or not a value for it), ...
        """
        request = messages.alter_request(entity, values, deleted, validate_only)

        async def attempt() -> None:
            messages.check_altered(await self._destinations.any(request), entity)

        await self._destinations.cluster.retrying(attempt)
