"""Access control lists: resources, operations, entries, and decisions about them. Pure.

Names and numbers are Apache Kafka's (``org.apache.kafka.common.acl``, ``...common.resource``). Principals are
Kafka's text, ``User:alice``. :mod:`kafkatx.security.acl` decides by these values.
"""

from __future__ import annotations

import enum
from collections.abc import Mapping
from types import MappingProxyType
from typing import NamedTuple, TypeAlias

CLUSTER_NAME = "kafka-cluster"
"""The name of the only resource of the type CLUSTER."""
WILDCARD = "*"
"""In an entry: every host; as the name of a literal pattern: every resource of the type."""
EVERY_USER = "User:*"
"""The principal that stands for all."""


class ResourceType(enum.IntEnum):
    """The type of a resource."""

    ANY = 1
    """In filters only."""
    TOPIC = 2
    GROUP = 3
    CLUSTER = 4
    TRANSACTIONAL_ID = 5
    DELEGATION_TOKEN = 6
    USER = 7


class PatternType(enum.IntEnum):
    """The way in which a pattern names resources."""

    ANY = 1
    """In filters only: patterns of both types."""
    MATCH = 2
    """In filters only: all patterns that apply to the resource of this name."""
    LITERAL = 3
    PREFIXED = 4


class AclOperation(enum.IntEnum):
    """An operation on a resource."""

    ANY = 1
    """In filters only."""
    ALL = 2
    READ = 3
    WRITE = 4
    CREATE = 5
    DELETE = 6
    ALTER = 7
    DESCRIBE = 8
    CLUSTER_ACTION = 9
    DESCRIBE_CONFIGS = 10
    ALTER_CONFIGS = 11
    IDEMPOTENT_WRITE = 12
    CREATE_TOKENS = 13
    DESCRIBE_TOKENS = 14
    TWO_PHASE_COMMIT = 15


class AclPermission(enum.IntEnum):
    """The verdict of an entry."""

    ANY = 1
    """In filters only."""
    DENY = 2
    ALLOW = 3


_O = AclOperation
SUPPORTED: Mapping[ResourceType, tuple[AclOperation, ...]] = MappingProxyType(
    {
        ResourceType.TOPIC: (
            *(_O.READ, _O.WRITE, _O.CREATE, _O.DELETE, _O.ALTER, _O.DESCRIBE),
            *(_O.DESCRIBE_CONFIGS, _O.ALTER_CONFIGS),
        ),
        ResourceType.GROUP: (_O.READ, _O.DELETE, _O.DESCRIBE, _O.DESCRIBE_CONFIGS, _O.ALTER_CONFIGS),
        ResourceType.CLUSTER: (
            *(_O.CREATE, _O.ALTER, _O.DESCRIBE, _O.CLUSTER_ACTION, _O.DESCRIBE_CONFIGS),
            *(_O.ALTER_CONFIGS, _O.IDEMPOTENT_WRITE),
        ),
        ResourceType.TRANSACTIONAL_ID: (_O.WRITE, _O.DESCRIBE, _O.TWO_PHASE_COMMIT),
        ResourceType.DELEGATION_TOKEN: (_O.DESCRIBE,),
        ResourceType.USER: (_O.CREATE_TOKENS, _O.DESCRIBE_TOKENS),
    }
)
"""The operations of each type of resource (``AclEntry.supportedOperations``)."""


class ResourcePattern(NamedTuple):
    """The resources that entries are about."""

    resource_type: ResourceType
    name: str
    pattern_type: PatternType = PatternType.LITERAL

    def __str__(self) -> str:
        prefixed = "prefixed " if self.pattern_type is PatternType.PREFIXED else ""
        return f"{prefixed}{enum_text(self.resource_type)}:{self.name}"


class AccessControlEntry(NamedTuple):
    """A principal that may, or may not, perform an operation, from a host: an address, or ``*``."""

    principal: str
    host: str = WILDCARD
    operation: AclOperation = AclOperation.ALL
    permission: AclPermission = AclPermission.ALLOW

    def __str__(self) -> str:
        host = "" if self.host == WILDCARD else f" from {self.host}"
        return f"{enum_text(self.permission)} {self.principal}{host} {enum_text(self.operation)}"


class AclBinding(NamedTuple):
    """A rule: an entry with the resources that it is about."""

    pattern: ResourcePattern
    entry: AccessControlEntry

    def __str__(self) -> str:
        return f"{self.entry} on {self.pattern}"


Acls: TypeAlias = Mapping[ResourcePattern, frozenset[AccessControlEntry]]
"""All entries by their resources, without patterns that have none."""

NO_ACLS: Acls = MappingProxyType({})


class Access(NamedTuple):
    """An operation that a principal wants to perform.

    :ivar host: the address that the principal comes from.
    """

    principal: str
    host: str
    operation: AclOperation
    resource_type: ResourceType
    name: str


class Reason(enum.Enum):
    """The reason of a decision."""

    SUPER_USER = "a super user may do everything"
    RULE = "an ACL says so"
    NO_RULE = "ACLs are about the resource, and none of them allows it"
    NO_ACLS = "no ACL is about the resource"
    OTHER = "the authorizer has its own reasons"


class Decision(NamedTuple):
    """The answer about an access.

    :ivar rule: the ACL that decides it, for :attr:`Reason.RULE`.
    """

    allowed: bool
    reason: Reason = Reason.OTHER
    rule: AclBinding | None = None


def enum_text(value: enum.Enum) -> str:
    """Return a value in lower case with hyphens, as the command line writes it: ``describe-configs``."""
    return value.name.lower().replace("_", "-")


def with_changes(acls: Acls, added: frozenset[AclBinding], removed: frozenset[AclBinding]) -> Acls:
    """Return ACLs with some added and then others removed; patterns that do not change keep their object."""
    changed = dict(acls)
    for pattern in {binding.pattern for binding in added | removed}:
        entries = {binding.entry for binding in added if binding.pattern == pattern}
        gone = {binding.entry for binding in removed if binding.pattern == pattern}
        after = changed.get(pattern, frozenset()).union(entries).difference(gone)
        changed.pop(pattern, None)
        if after:
            changed[pattern] = after
    return MappingProxyType(changed)
