"""The interface of authorizers: who may do what."""

from __future__ import annotations

from collections.abc import Collection
from typing import TYPE_CHECKING

from zope.interface import Attribute, Interface

if TYPE_CHECKING:
    from kafkatx.acls import Access, AclBinding, AclOperation, Acls, Decision, ResourceType


class IAuthorizer(Interface):
    """Decides what a principal may do (``authorizer.class.name``).

    Factory: ``factory(config)``, a ``config.BrokerConfig``. Pure, or nearly so: a decision is made in the
    reactor thread, while a request waits for it.

    :class:`kafkatx.broker.authorization.authorization.Authorization` keeps decisions: it asks about the same
    access again only after :attr:`generation` has changed.
    """

    generation: int = Attribute("Rises whenever a decision may be another one than before.")
    uses_acls: bool = Attribute(
        "True if the cluster's ACLs count. Otherwise DescribeAcls, CreateAcls and DeleteAcls are refused."
    )

    def use(acls: Acls) -> None:
        """Take the cluster's ACLs in place of all earlier ones: at the start, and after each change."""

    def decide(access: Access) -> Decision:
        """Decide about one access."""

    def allows_any(principal: str, host: str, operation: AclOperation, resource_type: ResourceType) -> bool:
        """Return True if the principal may perform an operation on some resource of a type.

        :param host: the address that the principal comes from.
        """


class ILearning(Interface):
    """An authorizer that records what is used, for ACLs to be made of it."""

    learned: Collection[AclBinding] = Attribute("The fewest ACLs that allow all that was used so far.")
