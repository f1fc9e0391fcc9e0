"""SyncGroup (key 14), versions 0-5: members wait for the assignment by the group's leader."""

from __future__ import annotations

from twisted.internet.defer import Deferred

from kafkatx.broker.broker import Broker
from kafkatx.broker.dispatch import Api
from kafkatx.broker.requests.context import RequestContext
from kafkatx.errors import ErrorCode
from kafkatx.wire.messages.sync_group import SyncGroupRequest, SyncGroupResponse

LOADING = ErrorCode.COORDINATOR_LOAD_IN_PROGRESS


def answer(
    broker: Broker, request: SyncGroupRequest, context: RequestContext
) -> SyncGroupResponse | Deferred[SyncGroupResponse]:
    """Sync a member, when it is its turn in the work queue."""
    return broker.groups.work_queue.run(lambda: _sync(broker, request, context))


def _sync(
    broker: Broker, request: SyncGroupRequest, context: RequestContext
) -> SyncGroupResponse | Deferred[SyncGroupResponse]:
    """Return a member's assignment, when there is one.

    While the group is being loaded its last rebalance is lost, and the member must join again. Apache
    Kafka does the same (GroupCoordinator.handleSyncGroup): old clients do not expect error 14 here.
    """
    groups = broker.groups
    error = groups.check(request.group_id)
    if error:
        return _error(ErrorCode.REBALANCE_IN_PROGRESS if error == LOADING else error)
    group = groups.find(request.group_id)
    if group is None:
        return _error(ErrorCode.UNKNOWN_MEMBER_ID)
    if (
        sum(len(assignment.assignment) for assignment in request.assignments)
        > groups.settings.group_max_bytes
    ):
        return _error(ErrorCode.UNKNOWN_SERVER_ERROR)  # as when it is too large for the log
    return groups.ask(group, lambda token, now_ms: group.sync(request, context.version, token, now_ms))


def _error(code: ErrorCode) -> SyncGroupResponse:
    return SyncGroupResponse(0, code, None, None, b"")


def refuse(
    request: SyncGroupRequest, context: RequestContext, code: ErrorCode, message: str
) -> SyncGroupResponse:
    """Refuse the request with an error."""
    return _error(code)


API = Api(SyncGroupRequest, SyncGroupResponse, answer, refuse)
