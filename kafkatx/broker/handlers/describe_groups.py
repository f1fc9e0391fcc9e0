"""DescribeGroups (key 15), versions 0-6.

A group that is not there is ``Dead``, from version 6 on with the error GROUP_ID_NOT_FOUND (KIP-1043). So is
one of KIP-848, as in Apache Kafka: clients ask for it by ConsumerGroupDescribe.

Deviation from Apache Kafka: a group that is named more than once is described once, lest a small request
have a response without limits.
"""

from __future__ import annotations

from kafkatx.broker.broker import Broker
from kafkatx.broker.dispatch import Api
from kafkatx.broker.requests.authorized_operations import GROUP_OPERATIONS, NOT_ASKED
from kafkatx.broker.requests.context import RequestContext
from kafkatx.errors import ErrorCode
from kafkatx.wire.messages.describe_groups import (
    DescribedGroup,
    DescribeGroupsRequest,
    DescribeGroupsResponse,
)

NOT_FOUND_SINCE = 6
EMPTY, DEAD = "Empty", "Dead"


def answer(broker: Broker, request: DescribeGroupsRequest, context: RequestContext) -> DescribeGroupsResponse:
    """Describe the groups."""
    operations = GROUP_OPERATIONS if request.include_authorized_operations else NOT_ASKED
    names = dict.fromkeys(request.groups)
    return DescribeGroupsResponse(0, [_describe(broker, name, operations, context.version) for name in names])


def _describe(broker: Broker, group_id: str, operations: int, version: int) -> DescribedGroup:
    error = broker.groups.check(group_id, may_be_empty=True)
    if error:
        return _without_members(group_id, EMPTY, error)
    group = broker.groups.find(group_id)
    described: DescribedGroup = _without_members(group_id, DEAD) if group is None else group.describe()
    if described.group_state == DEAD and version >= NOT_FOUND_SINCE:
        described.error_code = ErrorCode.GROUP_ID_NOT_FOUND
        described.error_message = (
            f"Group {group_id} not found." if group is None else f"Group {group_id} is not a classic group."
        )
        return described
    described.authorized_operations = operations
    return described


def _without_members(
    group_id: str, state: str, code: ErrorCode = ErrorCode.NONE, why: str | None = None
) -> DescribedGroup:
    return DescribedGroup(code, why, group_id, state)


def refuse(
    request: DescribeGroupsRequest, context: RequestContext, code: ErrorCode, message: str
) -> DescribeGroupsResponse:
    """Refuse every group with the same error."""
    return DescribeGroupsResponse(
        0, [_without_members(name, "", code, message) for name in dict.fromkeys(request.groups)]
    )


API = Api(DescribeGroupsRequest, DescribeGroupsResponse, answer, refuse)
