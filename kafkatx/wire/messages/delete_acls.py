"""DeleteAcls (key 31), versions 0-3: remove the ACLs that filters match (KIP-140).

*   1 adds the type of patterns (KIP-290); 2 is flexible; 3 adds the resource type User (KIP-373).
"""

from __future__ import annotations

from kafkatx.wire.schema import INT8, INT16, INT32, STRING, Message, Struct, array, field, nullable

LITERAL = 3


class DeleteAclsFilter(Struct):
    """A filter; null matches every text, 1 (ANY) every value."""

    resource_type_filter: int = field(INT8)
    resource_name_filter: str | None = field(nullable(STRING))
    pattern_type_filter: int = field(INT8, since=1, default=LITERAL)
    principal_filter: str | None = field(nullable(STRING))
    host_filter: str | None = field(nullable(STRING))
    operation: int = field(INT8)
    permission_type: int = field(INT8)


class DeleteAclsRequest(Message, key=31, versions=(0, 3), flexible=2):
    """Remove ACLs."""

    filters: list[DeleteAclsFilter] = field(array(DeleteAclsFilter))


class DeleteAclsMatchingAcl(Struct):
    """An ACL that a filter has matched, and whether it was removed."""

    error_code: int = field(INT16)
    error_message: str | None = field(nullable(STRING))
    resource_type: int = field(INT8)
    resource_name: str = field(STRING)
    pattern_type: int = field(INT8, since=1, default=LITERAL)
    principal: str = field(STRING)
    host: str = field(STRING)
    operation: int = field(INT8)
    permission_type: int = field(INT8)


class DeleteAclsFilterResult(Struct):
    """The result for one filter."""

    error_code: int = field(INT16)
    error_message: str | None = field(nullable(STRING))
    matching_acls: list[DeleteAclsMatchingAcl] = field(array(DeleteAclsMatchingAcl))


class DeleteAclsResponse(Message, key=31, versions=(0, 3), flexible=2):
    """The results, in the order of the request."""

    throttle_time_ms: int = field(INT32)
    filter_results: list[DeleteAclsFilterResult] = field(array(DeleteAclsFilterResult))
