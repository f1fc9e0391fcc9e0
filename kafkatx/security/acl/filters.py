"""Filters of ACLs, as DescribeAcls and DeleteAcls have them. Pure."""

from __future__ import annotations

from collections.abc import Iterator

import attrs

from kafkatx.acls import (
    WILDCARD,
    AccessControlEntry,
    AclBinding,
    AclOperation,
    AclPermission,
    Acls,
    PatternType,
    ResourcePattern,
    ResourceType,
)


@attrs.frozen
class AclFilter:
    """The parts that ACLs must have to match; ANY, or None, matches all.

    :ivar pattern_type: LITERAL and PREFIXED match patterns of that type with exactly this name, ANY both
        types; MATCH matches all patterns that are about the resource of this name.
    """

    resource_type: ResourceType = ResourceType.ANY
    name: str | None = None
    pattern_type: PatternType = PatternType.ANY
    principal: str | None = None
    host: str | None = None
    operation: AclOperation = AclOperation.ANY
    permission: AclPermission = AclPermission.ANY

    def matching(self, acls: Acls) -> Iterator[AclBinding]:
        """Yield the ACLs that match, ordered within their pattern."""
        for pattern in self._patterns(acls):
            for entry in sorted(acls[pattern]):
                if self._matches_entry(entry):
                    yield AclBinding(pattern, entry)

    def _patterns(self, acls: Acls) -> Iterator[ResourcePattern]:
        for pattern in acls:
            if self.resource_type in (ResourceType.ANY, pattern.resource_type) and self._names(pattern):
                yield pattern

    def _names(self, pattern: ResourcePattern) -> bool:
        name = self.name
        if self.pattern_type not in (PatternType.ANY, PatternType.MATCH, pattern.pattern_type):
            return False
        if name is None:
            return True
        if self.pattern_type is not PatternType.MATCH:
            return pattern.name == name
        if pattern.pattern_type is PatternType.PREFIXED:
            return name.startswith(pattern.name)
        return pattern.name in (name, WILDCARD)

    def _matches_entry(self, entry: AccessControlEntry) -> bool:
        return (
            self.principal in (None, entry.principal)
            and self.host in (None, entry.host)
            and self.operation in (AclOperation.ANY, entry.operation)
            and self.permission in (AclPermission.ANY, entry.permission)
        )
