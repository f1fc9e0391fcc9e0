"""The authorizer that allows everything and records what is used (``authorizer.class.name=learn``). Pure."""

from __future__ import annotations

from zope.interface import implementer

from kafkatx.acls import (
    Access,
    AccessControlEntry,
    AclBinding,
    AclOperation,
    Acls,
    Decision,
    ResourcePattern,
    ResourceType,
)
from kafkatx.config import BrokerConfig
from kafkatx.config.table.security import acls as settings
from kafkatx.interfaces.security.authorizer import IAuthorizer, ILearning
from kafkatx.security.acl.index import IMPLIED_BY

MOST_LEARNED = 20_000
"""The most operations on resources that are recorded."""

_ALLOWED = Decision(True)


@implementer(IAuthorizer, ILearning)
class LearningAuthorizer:
    """Allows everything. ACLs can be made meanwhile, and count with another authorizer.

    :ivar generation: always 0: decisions never change.
    """

    uses_acls = True
    generation = 0

    def __init__(self, config: BrokerConfig) -> None:
        self._super_users = settings.super_users(config[settings.SUPER_USERS])
        self._used: dict[tuple[str, ResourceType, str], set[AclOperation]] = {}
        self._room = MOST_LEARNED

    def use(self, acls: Acls) -> None:
        """Ignore the cluster's ACLs."""

    def decide(self, access: Access) -> Decision:
        """Allow an access, and record it unless a super user makes it."""
        if access.principal not in self._super_users and self._room > 0:
            key = access.principal, access.resource_type, access.name
            operations = self._used.setdefault(key, set())
            if access.operation not in operations:
                operations.add(access.operation)
                self._room -= 1
        return _ALLOWED

    def allows_any(
        self, principal: str, host: str, operation: AclOperation, resource_type: ResourceType
    ) -> bool:
        """Return True; the resource is recorded when it is used."""
        return True

    @property
    def learned(self) -> list[AclBinding]:
        """The fewest ACLs that allow all that was used, for any host: none that another one implies."""
        found = []
        for (principal, resource_type, name), operations in sorted(self._used.items()):
            pattern = ResourcePattern(resource_type, name)
            for operation in sorted(operations):
                if not operations & IMPLIED_BY.get(operation, frozenset()):
                    found.append(AclBinding(pattern, AccessControlEntry(principal, operation=operation)))
        return found
