"""DescribeGroups (key 15), versions 0-5.

Deviation from Apache Kafka: a group that is named more than once is described once, lest a small request
have a response without limits.
"""

from __future__ import annotations

from kafkatx.broker.dispatch import RequestContext
from kafkatx.broker.state import Broker
from kafkatx.errors import ErrorCode
from kafkatx.wire.messages.describe_groups import (
    DescribedGroup,
    DescribeGroupsRequest,
    DescribeGroupsResponse,
)

READ, DELETE, DESCRIBE = 3, 6, 8
GROUP_OPERATIONS = 1 << READ | 1 << DELETE | 1 << DESCRIBE
"""What can be allowed of a group (KIP-430): a bit per operation, by its number in AclOperation."""

NOT_ASKED = -(2**31)
EMPTY, DEAD = "Empty", "Dead"


def answer(broker: Broker, request: DescribeGroupsRequest, context: RequestContext) -> DescribeGroupsResponse:
    """Describe the groups; one that is not there is Dead, without an error."""
    operations = GROUP_OPERATIONS if request.include_authorized_operations else NOT_ASKED
    names = dict.fromkeys(request.groups)
    return DescribeGroupsResponse(0, [_describe(broker, name, operations) for name in names])


def _describe(broker: Broker, group_id: str, operations: int) -> DescribedGroup:
    error = broker.groups.check(group_id, may_be_empty=True)
    if error:
        return _without_members(group_id, EMPTY, error)
    group = broker.groups.find(group_id)
    described: DescribedGroup = _without_members(group_id, DEAD) if group is None else group.describe()
    described.authorized_operations = operations
    return described


def _without_members(group_id: str, state: str, code: ErrorCode = ErrorCode.NONE) -> DescribedGroup:
    return DescribedGroup(code, group_id, state, "", "", [], NOT_ASKED)


def refuse(
    request: DescribeGroupsRequest, context: RequestContext, code: ErrorCode, message: str
) -> DescribeGroupsResponse:
    """The same error for every group."""
    return DescribeGroupsResponse(0, [_without_members(name, "", code) for name in request.groups])
