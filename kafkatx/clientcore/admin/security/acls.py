"""DescribeAcls, CreateAcls and DeleteAcls (KIP-140): requests, and values from replies. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

from kafkatx.acls import (
    AccessControlEntry,
    AclBinding,
    AclOperation,
    AclPermission,
    PatternType,
    ResourcePattern,
    ResourceType,
)
from kafkatx.clientcore.errors import check
from kafkatx.errors import ErrorCode, RequestError
from kafkatx.security.acl.filters import AclFilter
from kafkatx.wire.messages.create_acls import AclCreation, CreateAclsRequest, CreateAclsResponse
from kafkatx.wire.messages.delete_acls import DeleteAclsFilter, DeleteAclsRequest, DeleteAclsResponse
from kafkatx.wire.messages.describe_acls import DescribeAclsRequest, DescribeAclsResponse

AclsRequest: TypeAlias = "DescribeAclsRequest | CreateAclsRequest | DeleteAclsRequest"

_PATTERNS_SINCE = 1
"""The version of each of the requests that has types of patterns (Kafka 2.0)."""

EVERYTHING = AclFilter()
"""The filter that matches all ACLs."""


def describe_request(wanted: AclFilter) -> DescribeAclsRequest:
    """Return the request for the ACLs that match."""
    return DescribeAclsRequest(*_values(wanted))


def bindings(response: DescribeAclsResponse) -> list[AclBinding]:
    """Return the ACLs of a reply, in order; those of kinds that are unknown here are left out.

    :raises RequestError: the reply's error: SECURITY_DISABLED, CLUSTER_AUTHORIZATION_FAILED, ...
    """
    check(response.error_code, "ACLs", response.error_message)
    found = [
        _binding(
            (resource.resource_type, resource.resource_name, resource.pattern_type),
            (acl.principal, acl.host, acl.operation, acl.permission_type),
        )
        for resource in response.resources
        for acl in resource.acls
    ]
    return sorted(one for one in found if one is not None)


def create_request(added: Sequence[AclBinding]) -> CreateAclsRequest:
    """Return the request that adds ACLs."""
    return CreateAclsRequest(
        [
            AclCreation(
                pattern.resource_type,
                pattern.name,
                pattern.pattern_type,
                entry.principal,
                entry.host,
                entry.operation,
                entry.permission,
            )
            for pattern, entry in added
        ]
    )


def check_created(response: CreateAclsResponse, added: Sequence[AclBinding]) -> None:
    """Raise the first error of an addition, if any.

    :raises RequestError: INVALID_REQUEST, CLUSTER_AUTHORIZATION_FAILED, ...; other ACLs may be added.
    """
    for result, binding in zip(response.results, added, strict=False):
        check(result.error_code, str(binding), result.error_message)


def delete_request(filters: Sequence[AclFilter]) -> DeleteAclsRequest:
    """Return the request that removes the ACLs that match."""
    return DeleteAclsRequest([DeleteAclsFilter(*_values(one)) for one in filters])


def deleted(response: DeleteAclsResponse) -> list[AclBinding]:
    """Return the ACLs that were removed, in order, each once.

    :raises RequestError: the first error; other ACLs may be removed.
    """
    found = set()
    for result in response.filter_results:
        check(result.error_code, "ACLs", result.error_message)
        for one in result.matching_acls:
            check(one.error_code, f"ACL of {one.principal}", one.error_message)
            pattern = one.resource_type, one.resource_name, one.pattern_type
            found.add(_binding(pattern, (one.principal, one.host, one.operation, one.permission_type)))
    return sorted(one for one in found if one is not None)


def has_patterns(request: AclsRequest) -> bool:
    """Return True if a request is about prefixes, or matches patterns: version 0 cannot say that."""
    if isinstance(request, CreateAclsRequest):
        return any(one.resource_pattern_type != PatternType.LITERAL for one in request.creations)
    filters = request.filters if isinstance(request, DeleteAclsRequest) else [request]
    return any(one.pattern_type_filter in (PatternType.MATCH, PatternType.PREFIXED) for one in filters)


def check_version(request: AclsRequest, version: int) -> None:
    """Refuse a version in which a request would mean something else.

    :param version: the version for this broker.
    :raises RequestError: UNSUPPORTED_VERSION: prefixes would become literal names.
    """
    if version < _PATTERNS_SINCE and has_patterns(request):
        raise RequestError(
            ErrorCode.UNSUPPORTED_VERSION,
            "the broker has ACLs for literal names only: prefixes, and filters that match them, need"
            " Kafka 2.0 or later",
        )


def exactly(binding: AclBinding) -> AclFilter:
    """Return the filter that matches one ACL and no other."""
    pattern, entry = binding
    return AclFilter(
        pattern.resource_type,
        pattern.name,
        pattern.pattern_type,
        entry.principal,
        entry.host,
        entry.operation,
        entry.permission,
    )


def _values(wanted: AclFilter) -> tuple[int, str | None, int, str | None, str | None, int, int]:
    return (
        wanted.resource_type,
        wanted.name,
        wanted.pattern_type,
        wanted.principal,
        wanted.host,
        wanted.operation,
        wanted.permission,
    )


def _binding(pattern: tuple[int, str, int], entry: tuple[str, str, int, int]) -> AclBinding | None:
    kind, name, pattern_type = pattern
    principal, host, operation, permission = entry
    try:
        return AclBinding(
            ResourcePattern(ResourceType(kind), name, PatternType(pattern_type)),
            AccessControlEntry(principal, host, AclOperation(operation), AclPermission(permission)),
        )
    except ValueError:  # of a newer broker
        return None
