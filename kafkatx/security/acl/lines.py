"""ACLs as lines of text: ``User:alice read topic:orders``, as the command line takes and shows them. Pure.

``[deny] PRINCIPAL [from HOST] OPERATION [prefixed] TYPE:NAME``; names end the line, so they may have spaces.
A line that begins with ``#`` is a comment.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from kafkatx.acls import (
    CLUSTER_NAME,
    WILDCARD,
    AccessControlEntry,
    AclBinding,
    AclOperation,
    AclPermission,
    PatternType,
    ResourcePattern,
    ResourceType,
    enum_text,
)
from kafkatx.errors import SettingError

OPERATIONS = {enum_text(one): one for one in AclOperation if one is not AclOperation.ANY}
TYPES = {enum_text(one): one for one in ResourceType if one is not ResourceType.ANY}

_LINE = re.compile(
    r"(?P<deny>deny +)?(?P<principal>\w+:.+?)(?: +from +(?P<host>\S+))? +(?P<operation>[a-z-]+)"
    r" +(?P<prefixed>prefixed +)?(?P<resource>[a-z-]+(?::.+)?)"
)


def format_line(binding: AclBinding) -> str:
    """Return the line of an ACL."""
    pattern, entry = binding
    denies = "deny " if entry.permission is AclPermission.DENY else ""
    host = "" if entry.host == WILDCARD else f" from {entry.host}"
    return f"{denies}{entry.principal}{host} {enum_text(entry.operation)} {pattern}"


def parse_line(line: str) -> AclBinding:
    """Return the ACL of a line.

    :raises SettingError: it is not one.
    """
    for match in _matches(line):
        operation = OPERATIONS.get(match["operation"])
        if operation is not None:
            prefixed = PatternType.PREFIXED if match["prefixed"] else PatternType.LITERAL
            pattern = parse_resource(match["resource"], prefixed)
            permission = AclPermission.DENY if match["deny"] else AclPermission.ALLOW
            entry = AccessControlEntry(match["principal"], match["host"] or WILDCARD, operation, permission)
            return AclBinding(pattern, entry)
    raise SettingError(
        f"{line}: an ACL is a line like 'User:alice read topic:orders' or 'deny User:bob from 192.0.2.7 all"
        f" prefixed topic:secret-'; operations: {', '.join(OPERATIONS)}"
    )


def _matches(line: str) -> Iterator[re.Match[str]]:
    match = _LINE.fullmatch(line.strip())
    if match is not None:
        yield match


def parse_resource(text: str, pattern_type: PatternType = PatternType.LITERAL) -> ResourcePattern:
    """Return the resource of a text like ``topic:orders`` or ``cluster``.

    :raises SettingError: there is no such type, or no name.
    """
    kind, colon, name = text.partition(":")
    resource_type = TYPES.get(kind)
    if resource_type is ResourceType.CLUSTER and not colon:
        name = CLUSTER_NAME
    if resource_type is None or not name:
        raise SettingError(f"{text}: a resource is TYPE:NAME, with one of the types {', '.join(TYPES)}")
    return ResourcePattern(resource_type, name, pattern_type)


def parse_lines(lines: Iterable[str]) -> list[AclBinding]:
    """Return the ACLs of lines, without empty ones and comments.

    :raises SettingError: a line is no ACL.
    """
    stripped = (line.strip() for line in lines)
    return [parse_line(line) for line in stripped if line and not line.startswith("#")]
