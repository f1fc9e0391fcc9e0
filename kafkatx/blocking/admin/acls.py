"""Access control lists: describe, create and delete."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from kafkatx.acls import AclBinding
from kafkatx.clientcore.admin.security import acls as messages
from kafkatx.clientcore.admin.security.acls import EVERYTHING
from kafkatx.security.acl.filters import AclFilter

if TYPE_CHECKING:
    from kafkatx.blocking.cluster import Cluster


class Acls:
    """Describes and changes ACLs through a :class:`Cluster`, which the caller closes."""

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster

    def _ask(self, request: messages.AclsRequest) -> Any:
        """Send a request to a broker that understands it; return the reply."""
        channel = self._cluster.any_broker()
        if messages.has_patterns(request):
            messages.check_version(request, channel.version_for(type(request)))
        return channel.request(request)

    def describe(self, wanted: AclFilter = EVERYTHING) -> list[AclBinding]:
        """Return the ACLs that match, in order.

        :raises RequestError: SECURITY_DISABLED: the brokers have no authorizer; UNSUPPORTED_VERSION:
            the filter needs Kafka 2.0; ...
        """
        request = messages.describe_request(wanted)
        self._cluster.brokers()
        return self._cluster.retrying(lambda: messages.bindings(self._ask(request)))

    def create(self, added: Iterable[AclBinding]) -> None:
        """Add ACLs; those that are there already stay.

        :raises RequestError: SECURITY_DISABLED, INVALID_REQUEST, ...; others may have been added then.
        """
        bindings = list(added)
        request = messages.create_request(bindings)
        self._cluster.brokers()
        self._cluster.retrying(lambda: messages.check_created(self._ask(request), bindings))

    def delete(self, filters: Iterable[AclFilter]) -> list[AclBinding]:
        """Remove the ACLs that match one of the filters; return them.

        :raises RequestError: SECURITY_DISABLED, ...; others may have been removed then.
        """
        request = messages.delete_request(list(filters))
        self._cluster.brokers()
        return self._cluster.retrying(lambda: messages.deleted(self._ask(request)))
