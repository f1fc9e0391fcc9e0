"""DescribeAcls (key 29), versions 0-3: the ACLs that a filter matches (KIP-140).

*   1 adds the type of patterns (KIP-290); 2 is flexible; 3 adds the resource type User (KIP-373).
"""

from __future__ import annotations

from kafkatx.wire.schema import INT8, INT16, INT32, STRING, Message, Struct, array, field, nullable

LITERAL = 3


class DescribeAclsRequest(Message, key=29, versions=(0, 3), flexible=2):
    """A filter; null matches every text, 1 (ANY) every value."""

    resource_type_filter: int = field(INT8)
    resource_name_filter: str | None = field(nullable(STRING))
    pattern_type_filter: int = field(INT8, since=1, default=LITERAL)
    principal_filter: str | None = field(nullable(STRING))
    host_filter: str | None = field(nullable(STRING))
    operation: int = field(INT8)
    permission_type: int = field(INT8)


class AclDescription(Struct):
    """An entry."""

    principal: str = field(STRING)
    host: str = field(STRING)
    operation: int = field(INT8)
    permission_type: int = field(INT8)


class DescribeAclsResource(Struct):
    """A resource pattern with its entries."""

    resource_type: int = field(INT8)
    resource_name: str = field(STRING)
    pattern_type: int = field(INT8, since=1, default=LITERAL)
    acls: list[AclDescription] = field(array(AclDescription))


class DescribeAclsResponse(Message, key=29, versions=(0, 3), flexible=2):
    """The ACLs by their resources."""

    throttle_time_ms: int = field(INT32)
    error_code: int = field(INT16)
    error_message: str | None = field(nullable(STRING))
    resources: list[DescribeAclsResource] = field(array(DescribeAclsResource))
