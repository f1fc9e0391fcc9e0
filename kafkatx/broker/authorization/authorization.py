"""The decisions of the authorizer about requests: kept until they may change, and logged if they deny.

It touches the clock, for log lines.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

from kafkatx.acls import CLUSTER_NAME, SUPPORTED, Access, AclOperation, ResourceType
from kafkatx.broker.authorization.denials import Denials
from kafkatx.interfaces import IAuthorizer, ILearning, IMetadataStore
from kafkatx.net.requests import Peer
from kafkatx.types import ClusterDelta

_MAPPED = "::ffff:"
"""The beginning of an IPv4 address at a socket for IPv6: ACLs name it without."""

_Key: TypeAlias = tuple[str, str, AclOperation, ResourceType, str]


class Authorization:
    """Decides what peers may do.

    A decision costs one look into a dict, once it was made.

    :ivar authorizer: makes the decisions.
    :param most: the number of decisions that are kept at most.
    """

    def __init__(
        self, authorizer: IAuthorizer, metadata: IMetadataStore, denials: Denials, most: int
    ) -> None:
        self.authorizer = authorizer
        self._learns = ILearning.providedBy(authorizer)
        self._denials = denials
        self._most = most
        self._kept: dict[_Key, bool] = {}
        self._generation = authorizer.generation
        self._metadata = metadata
        metadata.subscribe(self._changed)

    def allows(
        self,
        peer: Peer,
        operation: AclOperation,
        resource_type: ResourceType,
        name: str = CLUSTER_NAME,
        quiet: bool = False,
    ) -> bool:
        """Return True if the principal of a peer may perform an operation.

        :param quiet: True if a denial is no refusal, because another right may be enough. It is not logged.
        """
        key = (peer.session.principal, peer.host, operation, resource_type, name)
        if self.authorizer.generation != self._generation:
            self._forget()
        allowed = self._kept.get(key)
        if allowed is None:
            allowed = self._decide(key)
        if not allowed and not quiet:
            self._denials.note(*key)
        return allowed

    def sees(
        self, peer: Peer, operation: AclOperation, resource_type: ResourceType, name: str = CLUSTER_NAME
    ) -> bool:
        """Return True if a reply may tell a peer something, which is left out otherwise.

        It is no right that the peer needs, so a denial is not logged, and nothing is learned of it.
        """
        return self._learns or self.allows(peer, operation, resource_type, name, quiet=True)

    def allows_any(self, peer: Peer, operation: AclOperation, resource_type: ResourceType) -> bool:
        """Return True if the principal may perform an operation on some resource of a type."""
        return self.authorizer.allows_any(
            peer.session.principal, peer.host.removeprefix(_MAPPED), operation, resource_type
        )

    def reader(self, peer: Peer) -> Callable[[str], bool]:
        """Return a function that tells if the principal may read a topic; "" stands for an unknown one."""

        def may_read(topic: str) -> bool:
            return not topic or self.allows(peer, AclOperation.READ, ResourceType.TOPIC, topic)

        return may_read

    def describer(self, peer: Peer) -> Callable[[str], bool]:
        """Return a function that tells if a reply may show the principal a topic, as :meth:`sees`."""

        def may_describe(topic: str) -> bool:
            return self.sees(peer, AclOperation.DESCRIBE, ResourceType.TOPIC, topic)

        return may_describe

    def operations(self, peer: Peer, resource_type: ResourceType, name: str = CLUSTER_NAME) -> int:
        """Return the operations that the principal may perform on a resource, as bits (KIP-430)."""
        return sum(
            1 << operation
            for operation in SUPPORTED[resource_type]
            if self.sees(peer, operation, resource_type, name)
        )

    def _decide(self, key: _Key) -> bool:
        principal, host, operation, resource_type, name = key
        access = Access(principal, host.removeprefix(_MAPPED), operation, resource_type, name)
        allowed = self.authorizer.decide(access).allowed
        if len(self._kept) >= self._most:
            self._kept.clear()
        self._kept[key] = allowed
        return allowed

    def _forget(self) -> None:
        self._generation = self.authorizer.generation
        self._kept.clear()

    def _changed(self, delta: ClusterDelta) -> None:
        """Use the ACLs of the cluster's new state, at the start as well."""
        if delta.after.acls is not delta.before.acls:
            self.authorizer.use(delta.after.acls)
