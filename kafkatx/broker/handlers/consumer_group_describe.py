"""ConsumerGroupDescribe (key 69), versions 0-1: groups of KIP-848.

Groups of the classic protocol are not found.

Deviation from Apache Kafka: a group that is named more than once is described once.
"""

from __future__ import annotations

from kafkatx.broker.broker import Broker
from kafkatx.broker.dispatch import Api
from kafkatx.broker.requests.authorized_operations import GROUP_OPERATIONS, NOT_ASKED
from kafkatx.broker.requests.context import RequestContext
from kafkatx.errors import ErrorCode
from kafkatx.group.consumer.group import ConsumerGroup
from kafkatx.wire.messages.consumer_group_describe import (
    ConsumerGroupDescribeRequest,
    ConsumerGroupDescribeResponse,
    DescribedGroup,
)


def answer(
    broker: Broker, request: ConsumerGroupDescribeRequest, context: RequestContext
) -> ConsumerGroupDescribeResponse:
    """Describe the groups."""
    operations = GROUP_OPERATIONS if request.include_authorized_operations else NOT_ASKED
    return ConsumerGroupDescribeResponse(
        groups=[_describe(broker, group_id, operations) for group_id in dict.fromkeys(request.group_ids)]
    )


def _describe(broker: Broker, group_id: str, operations: int) -> DescribedGroup:
    error = broker.groups.check(group_id)
    if error:
        return DescribedGroup(error, group_id=group_id)
    group = broker.groups.find(group_id)
    if not isinstance(group, ConsumerGroup):
        what = (
            f"Group {group_id} not found." if group is None else f"Group {group_id} is not a consumer group."
        )
        return DescribedGroup(ErrorCode.GROUP_ID_NOT_FOUND, what, group_id)
    described = group.consumer_describe()
    described.authorized_operations = operations
    return described


def refuse(
    request: ConsumerGroupDescribeRequest, context: RequestContext, code: ErrorCode, message: str
) -> ConsumerGroupDescribeResponse:
    """Refuse every group with the same error."""
    return ConsumerGroupDescribeResponse(
        groups=[DescribedGroup(code, message, group_id) for group_id in dict.fromkeys(request.group_ids)]
    )


API = Api(ConsumerGroupDescribeRequest, ConsumerGroupDescribeResponse, answer, refuse)
