"""Nodes of ACLs: ``/kafka-acl/Topic/orders``, ``/kafka-acl-extended/prefixed/Topic/or`` for a prefix. Pure.

``{"version":1,"acls":[{"principal":"User:alice","permissionType":"Allow","operation":"Read","host":"*"}]}``

A node without entries is deleted. Apache Kafka's tools announce a changed node by a sequential node
``/kafka-acl-changes/acl_changes_0000000001`` with ``TOPIC:orders``, or below ``/kafka-acl-extended-changes``
with ``{"version":1,"resourceType":"TOPIC","name":"or","patternType":"PREFIXED"}``. Sources: ``ZkAclStore``,
``ZkAclChangeStore`` of ``kafka.zk``, ``kafka.security.authorizer.AclEntry``.
"""

from __future__ import annotations

import enum
import re
from collections.abc import Iterable, Mapping
from typing import TypeVar

from kafkatx.acls import (
    AccessControlEntry,
    AclOperation,
    AclPermission,
    PatternType,
    ResourcePattern,
    ResourceType,
)
from kafkatx.errors import ErrorCode, RequestError
from kafkatx.metadata.layout.fields import Fields, UnreadableNode, encode, parse, quoted, quoted_bytes

VERSION = 1
LITERAL, PREFIXED = "/kafka-acl", "/kafka-acl-extended/prefixed"
CHANGES, EXTENDED_CHANGES = "/kafka-acl-changes", "/kafka-acl-extended-changes"

_FIT = re.compile("(?!\\.{1,2}$)[^\0-\x1f\x7f-\x9f\ud800-\uf8ff\ufff0-\uffff/]+")
"""Names that a node can have: ZooKeeper refuses some characters."""

E = TypeVar("E", bound=enum.IntEnum)


def pascal(value: enum.Enum) -> str:
    """Return a value as Kafka writes it into nodes: ``TransactionalId``."""
    return "".join(word.capitalize() for word in value.name.split("_"))


_TYPES = {pascal(one): one for one in ResourceType if one is not ResourceType.ANY}
_OPERATIONS = {pascal(one): one for one in AclOperation if one is not AclOperation.ANY}
_PERMISSIONS = {pascal(one): one for one in AclPermission if one is not AclPermission.ANY}
_STORES = {PatternType.LITERAL: LITERAL, PatternType.PREFIXED: PREFIXED}

PERSISTENT = (LITERAL, "/kafka-acl-extended", PREFIXED, CHANGES, EXTENDED_CHANGES)
"""The nodes that each broker makes at its start if they are missing, parents first."""

PARENTS: Mapping[str, tuple[PatternType, ResourceType]] = {
    f"{store}/{name}": (pattern_type, resource_type)
    for pattern_type, store in _STORES.items()
    for name, resource_type in _TYPES.items()
}
"""The parents of the nodes of ACLs, which are made when they are needed."""


def acl_path(pattern: ResourcePattern) -> str:
    """Return the path of the node with the entries of a pattern.

    :raises RequestError: INVALID_REQUEST: no node can have the name.
    """
    name = pattern.name
    if not _FIT.fullmatch(name):
        raise RequestError(
            ErrorCode.INVALID_REQUEST,
            f"The resource name {name!r} cannot have ACLs: it is empty, '.' or '..', or has a character that"
            " names of nodes cannot have, such as '/'.",
        )
    return f"{_STORES[pattern.pattern_type]}/{pascal(pattern.resource_type)}/{name}"


def parse_path(path: str) -> ResourcePattern | None:
    """Return the pattern of the path of a node; None if it is not the path of one."""
    parent, _, name = path.rpartition("/")
    found = PARENTS.get(parent)
    return ResourcePattern(found[1], name, found[0]) if found is not None and name else None


def encode_entries(entries: Iterable[AccessControlEntry]) -> bytes:
    """Return the content of the node of a pattern."""
    return encode(
        {
            "version": VERSION,
            "acls": [
                {
                    "principal": entry.principal,
                    "permissionType": pascal(entry.permission),
                    "operation": pascal(entry.operation),
                    "host": entry.host,
                }
                for entry in sorted(entries)
            ],
        }
    )


def decode_entries(path: str, data: bytes) -> frozenset[AccessControlEntry]:
    """Read the content of the node of a pattern; an empty node has no entries.

    :raises UnreadableNode: it is not one of version 1, or has an entry that this version does not understand.
    """
    if not data:
        return frozenset()
    fields = parse(path, data)
    fields.version(VERSION, VERSION)
    entries = set()
    for item in fields.items("acls"):
        if not isinstance(item, dict):
            raise UnreadableNode(path, quoted(item), "an ACL")
        one = Fields(path, item, "acls")
        operation = _value(one, "operation", _OPERATIONS)
        permission = _value(one, "permissionType", _PERMISSIONS)
        entries.add(AccessControlEntry(one.text("principal"), one.text("host"), operation, permission))
    return frozenset(entries)


def decode_notification(path: str, data: bytes) -> ResourcePattern:
    """Return the pattern whose node has changed.

    :raises UnreadableNode: it is not a notification as Apache Kafka writes them.
    """
    if path.startswith(f"{EXTENDED_CHANGES}/"):
        fields = parse(path, data)
        fields.version(VERSION, VERSION)
        type_name, name, kind = fields.text("resourceType"), fields.text("name"), fields.text("patternType")
    else:
        type_name, _, name = data.decode("utf-8", "replace").partition(":")
        kind = PatternType.LITERAL.name
    resource_type = _by_name(ResourceType, type_name)
    pattern_type = _by_name(PatternType, kind)
    if resource_type is None or pattern_type not in _STORES or not name:
        raise UnreadableNode(path, quoted_bytes(data), "the type and the name of a resource")
    return ResourcePattern(resource_type, name, pattern_type)


def _by_name(kind: type[E], text: str) -> E | None:
    flat = text.replace("_", "").lower()
    return next((one for one in kind if one.name.replace("_", "").lower() == flat), None)


def _value(fields: Fields, key: str, known: Mapping[str, E]) -> E:
    found = known.get(fields.text(key))
    if found is None:
        raise fields.wrong(key, f"one of {', '.join(known)}")
    return found
