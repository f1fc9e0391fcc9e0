"""The authorizer by ACLs (``authorizer.class.name=acl``, or Apache Kafka's own class names). Pure."""

from __future__ import annotations

from zope.interface import implementer

from kafkatx.acls import Access, AclOperation, Acls, Decision, ResourceType
from kafkatx.config import BrokerConfig
from kafkatx.config.table.security import acls as settings
from kafkatx.interfaces.security.authorizer import IAuthorizer
from kafkatx.security.acl.decision import decide
from kafkatx.security.acl.index import AclIndex


@implementer(IAuthorizer)
class AclAuthorizer:
    """Decides by the cluster's ACLs; super users may do everything.

    :ivar generation: the number of changes so far.
    """

    uses_acls = True

    def __init__(self, config: BrokerConfig) -> None:
        self.generation = 0
        self._super_users = settings.super_users(config[settings.SUPER_USERS])
        self._allow_without = config[settings.ALLOW_EVERYONE_IF_NO_ACL_FOUND]
        self._index = AclIndex()

    def use(self, acls: Acls) -> None:
        """Take the cluster's ACLs."""
        self._index.use(acls)
        self.generation += 1

    def decide(self, access: Access) -> Decision:
        """Decide about one access."""
        return decide(self._index, access, self._super_users, self._allow_without)

    def allows_any(
        self, principal: str, host: str, operation: AclOperation, resource_type: ResourceType
    ) -> bool:
        """Return True if the principal may perform an operation on some resource of a type.

        Without any rule about a resource, ``allow.everyone.if.no.acl.found`` allows it for one that no rule
        names; as in Apache Kafka that is tried with an unlikely name.
        """
        unused = Access(principal, host, operation, resource_type, "hardcode")
        return self.decide(unused).allowed or self._index.allows_any(
            principal, host, operation, resource_type
        )
