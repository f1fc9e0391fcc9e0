"""Client quotas (KIP-546) of users, client ids and addresses: describe and alter."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING

from kafkatx.clientcore.admin import quotas as messages
from kafkatx.clientcore.admin.quotas import Entity, EntityQuotas

if TYPE_CHECKING:
    from kafkatx.blocking.cluster import Cluster


class Quotas:
    """Describes and alters quotas through a :class:`Cluster`, which the caller closes."""

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster

    def describe(self, entity: Entity | None = None) -> list[EntityQuotas]:
        """Return the quotas of exactly this entity; without one those of all entities.

        :raises RequestError: UNSUPPORTED_VERSION (a broker older than Kafka 2.6), ...
        """
        request = messages.describe_request(entity)
        self._cluster.brokers()
        return self._cluster.retrying(
            lambda: messages.entity_quotas(self._cluster.any_broker().request(request))
        )

    def alter(
        self,
        entity: Entity,
        values: Mapping[str, float] = MappingProxyType({}),
        deleted: Collection[str] = (),
        validate_only: bool = False,
    ) -> None:
        """Set *values* and remove *deleted* of an entity: all of them or, on an error, none.

        :raises RequestError: INVALID_REQUEST (no such quota, or an invalid value), ...
        """
        request = messages.alter_request(entity, values, deleted, validate_only)
        self._cluster.brokers()
        self._cluster.retrying(
            lambda: messages.check_altered(self._cluster.any_broker().request(request), entity)
        )
