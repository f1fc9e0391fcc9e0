"""CreateAcls (key 30), versions 0-3: add ACLs (KIP-140).

*   1 adds the type of patterns (KIP-290); 2 is flexible; 3 adds the resource type User (KIP-373).
"""

from __future__ import annotations

from kafkatx.wire.schema import INT8, INT16, INT32, STRING, Message, Struct, array, field, nullable

LITERAL = 3


class AclCreation(Struct):
    """An ACL to add."""

    resource_type: int = field(INT8)
    resource_name: str = field(STRING)
    resource_pattern_type: int = field(INT8, since=1, default=LITERAL)
    principal: str = field(STRING)
    host: str = field(STRING)
    operation: int = field(INT8)
    permission_type: int = field(INT8)


class CreateAclsRequest(Message, key=30, versions=(0, 3), flexible=2):
    """Add ACLs."""

    creations: list[AclCreation] = field(array(AclCreation))


class AclCreationResult(Struct):
    """The result for one ACL."""

    error_code: int = field(INT16)
    error_message: str | None = field(nullable(STRING))


class CreateAclsResponse(Message, key=30, versions=(0, 3), flexible=2):
    """The results, in the order of the request."""

    throttle_time_ms: int = field(INT32)
    results: list[AclCreationResult] = field(array(AclCreationResult))
