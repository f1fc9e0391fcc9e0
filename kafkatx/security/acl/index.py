"""All ACLs, indexed by the names of resources, and the decision about one access. Pure.

The rules of Apache Kafka's ``StandardAuthorizerData``, in this order:

====================================================  ===============================================
the ACLs of the resource: literal, ``*`` and prefixed  decision
====================================================  ===============================================
one that denies matches                                denied
one that allows matches                                allowed
there are some, and none matches                       denied
there are none                                         ``allow.everyone.if.no.acl.found``
====================================================  ===============================================

An entry matches if its principal is the principal or ``User:*``, its host the address or ``*``, and its
operation the operation or All. Allowing Read, Write, Delete or Alter also allows Describe, and AlterConfigs
allows DescribeConfigs; denying them denies nothing else. A prefixed pattern ``*`` is about names that begin
with a star.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TypeAlias

from kafkatx.acls import (
    EVERY_USER,
    NO_ACLS,
    WILDCARD,
    Access,
    AccessControlEntry,
    AclBinding,
    AclOperation,
    AclPermission,
    Acls,
    Decision,
    PatternType,
    Reason,
    ResourcePattern,
    ResourceType,
)

_O = AclOperation
IMPLIED_BY = {
    _O.DESCRIBE: frozenset({_O.READ, _O.WRITE, _O.DELETE, _O.ALTER}),
    _O.DESCRIBE_CONFIGS: frozenset({_O.ALTER_CONFIGS}),
}
"""By an operation, those whose allowance allows it, too."""
_NONE: frozenset[AclOperation] = frozenset()

_ByPrincipal: TypeAlias = Mapping[str, tuple[AccessControlEntry, ...]]


class AclIndex:
    """The ACLs of a cluster.

    :ivar acls: all of them.
    """

    def __init__(self, acls: Acls = NO_ACLS) -> None:
        self.acls: Acls = NO_ACLS
        self._literal: dict[tuple[ResourceType, str], _ByPrincipal] = {}
        self._prefixed: dict[tuple[ResourceType, str], _ByPrincipal] = {}
        self._lengths: dict[ResourceType, dict[int, int]] = {}
        self.use(acls)

    def use(self, acls: Acls) -> None:
        """Take new ACLs in place of the old ones; patterns whose entries are the same object cost little."""
        before, self.acls = self.acls, acls
        for pattern, entries in acls.items():
            if before.get(pattern) is not entries:
                self._put(pattern, entries, pattern in before)
        for pattern in before.keys() - acls.keys():
            self._drop(pattern)

    def decide(self, access: Access, allow_without: bool) -> Decision:
        """Decide about one access.

        :param allow_without: allow it if no ACL is about the resource.
        """
        allowing: AclBinding | None = None
        found = False
        for pattern, entries in self._about(access.resource_type, access.name):
            found = True
            for principal in (access.principal, EVERY_USER):
                for entry in entries.get(principal, ()):
                    if not _matches(entry, access.host, access.operation):
                        continue
                    if entry.permission is AclPermission.DENY:
                        return Decision(False, Reason.RULE, AclBinding(pattern, entry))
                    allowing = allowing or AclBinding(pattern, entry)
        if allowing is not None:
            return Decision(True, Reason.RULE, allowing)
        return Decision(False, Reason.NO_RULE) if found else Decision(allow_without, Reason.NO_ACLS)

    def allows_any(
        self, principal: str, host: str, operation: AclOperation, resource_type: ResourceType
    ) -> bool:
        """Return True if ACLs allow an operation on any resource of a type, whether it exists or not.

        An allowed pattern counts unless a denied one covers it (``Authorizer.authorizeByResourceType``).
        """
        allowed, denied = set[ResourcePattern](), set[ResourcePattern]()
        for pattern, entries in self.acls.items():
            if pattern.resource_type is not resource_type:
                continue
            for entry in entries:
                if entry.principal not in (principal, EVERY_USER) or entry.host not in (host, WILDCARD):
                    continue
                if entry.operation in (operation, _O.ALL):
                    (denied if entry.permission is AclPermission.DENY else allowed).add(pattern)
        return ResourcePattern(resource_type, WILDCARD) not in denied and any(
            not _covered(pattern, denied) for pattern in allowed
        )

    def _about(
        self, resource_type: ResourceType, name: str
    ) -> Iterator[tuple[ResourcePattern, _ByPrincipal]]:
        """Yield the patterns that apply to a resource, with their entries."""
        for literal in (name, WILDCARD) if name != WILDCARD else (name,):
            entries = self._literal.get((resource_type, literal))
            if entries is not None:
                yield ResourcePattern(resource_type, literal), entries
        for length in self._lengths.get(resource_type, ()):
            if length <= len(name):
                entries = self._prefixed.get((resource_type, name[:length]))
                if entries is not None:
                    yield ResourcePattern(resource_type, name[:length], PatternType.PREFIXED), entries

    def _put(self, pattern: ResourcePattern, entries: frozenset[AccessControlEntry], replaces: bool) -> None:
        by_principal: dict[str, tuple[AccessControlEntry, ...]] = {}
        for entry in entries:
            by_principal[entry.principal] = (*by_principal.get(entry.principal, ()), entry)
        if pattern.pattern_type is PatternType.PREFIXED:
            self._prefixed[pattern.resource_type, pattern.name] = by_principal
            if not replaces:
                lengths = self._lengths.setdefault(pattern.resource_type, {})
                lengths[len(pattern.name)] = lengths.get(len(pattern.name), 0) + 1
        else:
            self._literal[pattern.resource_type, pattern.name] = by_principal

    def _drop(self, pattern: ResourcePattern) -> None:
        if pattern.pattern_type is PatternType.PREFIXED:
            del self._prefixed[pattern.resource_type, pattern.name]
            lengths = self._lengths[pattern.resource_type]
            lengths[len(pattern.name)] -= 1
            if not lengths[len(pattern.name)]:
                del lengths[len(pattern.name)]
        else:
            del self._literal[pattern.resource_type, pattern.name]


def _matches(entry: AccessControlEntry, host: str, operation: AclOperation) -> bool:
    if entry.host not in (host, WILDCARD):
        return False
    if entry.operation in (operation, _O.ALL):
        return True
    return entry.permission is AclPermission.ALLOW and entry.operation in IMPLIED_BY.get(operation, _NONE)


def _covered(pattern: ResourcePattern, denied: set[ResourcePattern]) -> bool:
    """Return True if denied patterns leave nothing of an allowed one."""
    name, literal = pattern.name, pattern.pattern_type is PatternType.LITERAL
    if literal and name == WILDCARD:
        return False
    if literal and pattern in denied:
        return True
    prefixes = (name[:length] for length in range(1, len(name) + 1))
    return any(
        ResourcePattern(pattern.resource_type, one, PatternType.PREFIXED) in denied for one in prefixes
    )
