"""DescribeAcls (key 29), versions 0-3."""

from __future__ import annotations

from kafkatx.broker.broker import Broker
from kafkatx.broker.dispatch import Api
from kafkatx.broker.guards.acl_fields import check_served, read_filter
from kafkatx.broker.requests.context import RequestContext
from kafkatx.errors import ErrorCode
from kafkatx.wire.messages.describe_acls import (
    AclDescription,
    DescribeAclsRequest,
    DescribeAclsResource,
    DescribeAclsResponse,
)


def answer(broker: Broker, request: DescribeAclsRequest, context: RequestContext) -> DescribeAclsResponse:
    """Return the ACLs that match; any broker knows all of them.

    :raises RequestError: SECURITY_DISABLED; INVALID_REQUEST: a value of the filter is unknown.
    """
    check_served(broker)
    resources: dict[object, DescribeAclsResource] = {}
    for pattern, entry in read_filter(request).matching(broker.metadata.state.acls):
        resource = resources.get(pattern)
        if resource is None:
            resource = resources[pattern] = DescribeAclsResource(
                pattern.resource_type, pattern.name, pattern.pattern_type
            )
        resource.acls.append(AclDescription(entry.principal, entry.host, entry.operation, entry.permission))
    return DescribeAclsResponse(resources=list(resources.values()))


def refuse(
    request: DescribeAclsRequest, context: RequestContext, code: ErrorCode, message: str
) -> DescribeAclsResponse:
    """Refuse the request with an error."""
    return DescribeAclsResponse(0, code, message)


API = Api(DescribeAclsRequest, DescribeAclsResponse, answer, refuse)
