"""DeleteGroups (key 42), versions 0-2: delete groups without members, and their offsets."""

from __future__ import annotations

from twisted.internet.defer import Deferred

from kafkatx.broker.broker import Broker
from kafkatx.broker.dispatch import Api
from kafkatx.broker.requests.context import RequestContext
from kafkatx.errors import ErrorCode
from kafkatx.wire.messages.delete_groups import (
    DeletableGroupResult,
    DeleteGroupsRequest,
    DeleteGroupsResponse,
)


def answer(
    broker: Broker, request: DeleteGroupsRequest, context: RequestContext
) -> Deferred[DeleteGroupsResponse]:
    """Delete each group; a repeated group is deleted, and answered, once."""
    return Deferred.fromCoroutine(_delete_all(broker, list(dict.fromkeys(request.groups_names))))


async def _delete_all(broker: Broker, names: list[str]) -> DeleteGroupsResponse:
    return DeleteGroupsResponse(
        0, [DeletableGroupResult(name, await _delete(broker, name)) for name in names]
    )


async def _delete(broker: Broker, group_id: str) -> ErrorCode:
    groups = broker.groups
    error = groups.check(group_id, may_be_empty=True)
    if error:
        return error
    group = groups.find(group_id)
    if group is None:
        return ErrorCode.GROUP_ID_NOT_FOUND
    if group.has_members:
        return ErrorCode.NON_EMPTY_GROUP
    return await groups.delete(group)


def refuse(
    request: DeleteGroupsRequest, context: RequestContext, code: ErrorCode, message: str
) -> DeleteGroupsResponse:
    """Refuse every group with the same error."""
    return DeleteGroupsResponse(0, [DeletableGroupResult(name, code) for name in request.groups_names])


API = Api(DeleteGroupsRequest, DeleteGroupsResponse, answer, refuse)
