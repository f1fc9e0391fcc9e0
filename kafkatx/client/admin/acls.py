"""Access control lists: describe, create and delete."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from kafkatx.acls import AclBinding
from kafkatx.client.admin.destinations import Destinations
from kafkatx.client.deferreds import deferred
from kafkatx.clientcore.admin.security import acls as messages
from kafkatx.clientcore.admin.security.acls import EVERYTHING
from kafkatx.security.acl.filters import AclFilter


class Acls:
    """The ACLs part of an admin client: :attr:`kafkatx.client.admin.admin.Admin.acls`."""

    def __init__(self, destinations: Destinations) -> None:
        self._destinations = destinations

    async def _ask(self, request: messages.AclsRequest) -> Any:
        """Send a request to a broker that understands it; return the reply."""
        destinations = self._destinations
        if not messages.has_patterns(request):
            return await destinations.any(request)
        node_id = destinations.some(destinations.cluster.metadata.brokers)
        version = await destinations.version(node_id, type(request))
        messages.check_version(request, version)
        return await destinations.node(node_id, request, version)

    @deferred
    async def describe(self, wanted: AclFilter = EVERYTHING) -> list[AclBinding]:
        """Return the ACLs that match, in order.

        Fails with RequestError SECURITY_DISABLED: the brokers have no authorizer; UNSUPPORTED_VERSION: the
        filter needs Kafka 2.0; ...
        """
        request = messages.describe_request(wanted)

        async def attempt() -> list[AclBinding]:
            return messages.bindings(await self._ask(request))

        return await self._destinations.cluster.retrying(attempt)

    @deferred
    async def create(self, added: Iterable[AclBinding]) -> None:
        """Add ACLs; those that are there already stay.

        Fails with RequestError SECURITY_DISABLED, INVALID_REQUEST, ...; others may have been added then.
        """
        bindings = list(added)
        request = messages.create_request(bindings)

        async def attempt() -> None:
            messages.check_created(await self._ask(request), bindings)

        await self._destinations.cluster.retrying(attempt)

    @deferred
    async def delete(self, filters: Iterable[AclFilter]) -> list[AclBinding]:
        """Remove the ACLs that match one of the filters; fires with them.

        Fails with RequestError SECURITY_DISABLED, ...; others may have been removed then.
        """
        request = messages.delete_request(list(filters))

        async def attempt() -> list[AclBinding]:
            return messages.deleted(await self._ask(request))

        return await self._destinations.cluster.retrying(attempt)
