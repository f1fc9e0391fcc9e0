"""ACLs and filters of requests, checked. Pure."""

from __future__ import annotations

import enum
import re
from typing import Protocol, TypeVar

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
)
from kafkatx.broker.broker import Broker
from kafkatx.errors import ErrorCode, RequestError
from kafkatx.security.acl.filters import AclFilter
from kafkatx.wire.messages.create_acls import AclCreation

E = TypeVar("E", bound=enum.IntEnum)
ResultT = TypeVar("ResultT", bound="Result")

_PRINCIPAL = re.compile(r"[^:]+:.+", re.DOTALL)
LONGEST_NAME_BYTES = 1000
"""The longest name of a resource, a principal or a host."""


class Result(Protocol):
    """The result for one entry of a request."""

    error_code: int
    error_message: str | None


class Filter(Protocol):
    """A filter, as DescribeAcls and DeleteAcls have it."""

    resource_type_filter: int
    resource_name_filter: str | None
    pattern_type_filter: int
    principal_filter: str | None
    host_filter: str | None
    operation: int
    permission_type: int


def check_served(broker: Broker) -> None:
    """Check that ACLs count at this broker.

    :raises RequestError: SECURITY_DISABLED: it has no authorizer, or one that decides by other things.
    """
    if broker.authorization is None:
        raise RequestError(
            ErrorCode.SECURITY_DISABLED, "No Authorizer is configured (authorizer.class.name)."
        )
    if not broker.authorization.authorizer.uses_acls:
        raise RequestError(ErrorCode.SECURITY_DISABLED, "The authorizer of this broker uses no ACLs.")


def read_filter(asked: Filter) -> AclFilter:
    """Return the filter of a request.

    :raises RequestError: INVALID_REQUEST: a value is unknown.
    """
    return AclFilter(
        _known(ResourceType, asked.resource_type_filter, "resource type"),
        asked.resource_name_filter,
        _known(PatternType, asked.pattern_type_filter, "pattern type"),
        asked.principal_filter,
        asked.host_filter,
        _known(AclOperation, asked.operation, "operation"),
        _known(AclPermission, asked.permission_type, "permission type"),
    )


def read_creation(asked: AclCreation) -> AclBinding:
    """Return the ACL that a request adds.

    :raises RequestError: INVALID_REQUEST: there can be no such ACL.
    """
    resource_type = _single(ResourceType, asked.resource_type, "resource type")
    pattern_type = _single(PatternType, asked.resource_pattern_type, "pattern type")
    operation = _single(AclOperation, asked.operation, "operation")
    permission = _single(AclPermission, asked.permission_type, "permission type")
    if pattern_type is PatternType.MATCH:
        raise _invalid("The pattern type of an ACL is literal or prefixed.")
    if not asked.resource_name:
        raise _invalid("The name of the resource is empty.")
    if resource_type is ResourceType.CLUSTER and asked.resource_name not in (CLUSTER_NAME, WILDCARD):
        raise _invalid(f"The only valid name for the CLUSTER resource is {CLUSTER_NAME}.")
    if not _PRINCIPAL.fullmatch(asked.principal):
        raise _invalid(f"The principal {asked.principal[:100]!r} is not of the form TYPE:NAME, User:alice.")
    if not asked.host:
        raise _invalid("The host is empty; * stands for all.")
    if (
        max(map(len, map(str.encode, (asked.resource_name, asked.principal, asked.host))))
        > LONGEST_NAME_BYTES
    ):
        raise _invalid(f"A name is longer than {LONGEST_NAME_BYTES} bytes.")
    return AclBinding(
        ResourcePattern(resource_type, asked.resource_name, pattern_type),
        AccessControlEntry(asked.principal, asked.host, operation, permission),
    )


def _known(kind: type[E], value: int, what: str) -> E:
    try:
        return kind(value)
    except ValueError:
        raise _invalid(f"There is no {what} {value}.") from None


def _single(kind: type[E], value: int, what: str) -> E:
    found = _known(kind, value, what)
    if found.name == "ANY":
        raise _invalid(f"ANY is no {what} of an ACL.")
    return found


def _invalid(why: str) -> RequestError:
    return RequestError(ErrorCode.INVALID_REQUEST, why)


def said_once(results: list[ResultT]) -> list[ResultT]:
    """Keep each error message with its first result only.

    The results of ACLs have no names: there must be one for each entry, also for a repeated one. Without
    their messages they are smaller than the entries.
    """
    said: set[str | None] = set()
    for result in results:
        if result.error_message in said:
            result.error_message = None
        said.add(result.error_message)
    return results
