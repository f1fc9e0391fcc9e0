"""SyncGroup to a classic group: the leader's assignment is stored, then every member gets its part. Pure."""

from __future__ import annotations

from kafkatx.errors import ErrorCode
from kafkatx.group.classic.member import Member
from kafkatx.group.classic.membership import Membership, sync_response
from kafkatx.group.classic.outbox import Outbox
from kafkatx.group.classic.rebalance import Rebalance
from kafkatx.group.classic.states import Event, State
from kafkatx.wire.messages.sync_group import SyncGroupRequest, SyncGroupResponse

PROTOCOL_REQUIRED_SINCE = 5
"""The first version of SyncGroup in which the protocol's type and name are required (KIP-559)."""

_STORE_ERRORS = {
    ErrorCode.UNKNOWN_TOPIC_OR_PARTITION: ErrorCode.COORDINATOR_NOT_AVAILABLE,
    ErrorCode.NOT_ENOUGH_REPLICAS: ErrorCode.COORDINATOR_NOT_AVAILABLE,
    ErrorCode.REQUEST_TIMED_OUT: ErrorCode.COORDINATOR_NOT_AVAILABLE,
    ErrorCode.NOT_LEADER_OR_FOLLOWER: ErrorCode.NOT_COORDINATOR,
    ErrorCode.KAFKA_STORAGE_ERROR: ErrorCode.NOT_COORDINATOR,
    ErrorCode.MESSAGE_TOO_LARGE: ErrorCode.UNKNOWN_SERVER_ERROR,
    ErrorCode.RECORD_LIST_TOO_LARGE: ErrorCode.UNKNOWN_SERVER_ERROR,
    ErrorCode.INVALID_FETCH_SIZE: ErrorCode.UNKNOWN_SERVER_ERROR,
}


def response_error(error: ErrorCode) -> ErrorCode:
    """Return the error for members if their group cannot be stored.

    As Apache Kafka's ``appendGroupMetadataErrorToResponseError``.
    """
    return _STORE_ERRORS.get(error, error)


class SyncRequests:
    """Serves SyncGroup: stores the assignment and distributes it."""

    def __init__(self, membership: Membership, rebalance: Rebalance, outbox: Outbox) -> None:
        self._membership = membership
        self._rebalance = rebalance
        self._outbox = outbox

    def serve(self, request: SyncGroupRequest, version: int, token: object, now_ms: int) -> None:
        """Answer with the member's assignment, at once or when the leader has sent it.

        During the join phase the answer is REBALANCE_IN_PROGRESS: the generation is over.
        """
        membership = self._membership
        error = self._check(request, version)
        if error:
            self._outbox.answer(token, SyncGroupResponse(error_code=error))
            return
        member = membership.members[request.member_id]
        self._rebalance.member_synced(member.member_id)
        if membership.state is State.STABLE:
            self._outbox.answer(token, sync_response(membership, member))
            membership.touch(member, now_ms)
        else:
            self._wait_for_assignment(member, token)
            if member.member_id == membership.roster.leader:
                self._store_assignment({a.member_id: bytes(a.assignment) for a in request.assignments})

    def _check(self, request: SyncGroupRequest, version: int) -> ErrorCode:
        membership = self._membership
        missing = request.protocol_type is None or request.protocol_name is None
        if version >= PROTOCOL_REQUIRED_SINCE and missing:
            return ErrorCode.INCONSISTENT_GROUP_PROTOCOL
        error = membership.check_generation(
            request.member_id, request.group_instance_id, request.generation_id
        )
        if error:
            return error
        if request.protocol_type not in (None, membership.protocol_type):
            return ErrorCode.INCONSISTENT_GROUP_PROTOCOL
        if request.protocol_name not in (None, membership.protocol_name):
            return ErrorCode.INCONSISTENT_GROUP_PROTOCOL
        if membership.state is State.PREPARING_REBALANCE:
            return ErrorCode.REBALANCE_IN_PROGRESS
        return ErrorCode.NONE

    def _wait_for_assignment(self, member: Member, token: object) -> None:
        """Keep the request's token; an earlier request of the same member is answered first."""
        self._membership.end_sync(member, SyncGroupResponse(error_code=ErrorCode.REBALANCE_IN_PROGRESS))
        member.sync_token = token

    def _store_assignment(self, assignments: dict[str, bytes]) -> None:
        """Store the leader's assignment before any member gets it: a restart must not forget it."""
        membership, rebalance = self._membership, self._rebalance
        generation = membership.generation

        def then(error: ErrorCode, now_ms: int) -> None:
            if membership.state is not State.COMPLETING_REBALANCE or membership.generation != generation:
                return  # a rebalance has begun since, and all members were told
            if error:
                rebalance.fail_assignment(response_error(error), now_ms)
                rebalance.begin(f"the assignment could not be stored: {error.name}", now_ms)
            else:
                self._distribute(assignments, now_ms)

        self._outbox.store(membership.record(assignments), then)

    def _distribute(self, assignments: dict[str, bytes], now_ms: int) -> None:
        """Answer all waiting members; members that the leader left out get an empty assignment."""
        membership = self._membership
        membership.move(Event.ASSIGNED)
        membership.assigned_bytes = sum(len(assignments.get(name, b"")) for name in membership.members)
        for member in membership.members.values():
            member.assignment = assignments.get(member.member_id, b"")
            if membership.end_sync(member, sync_response(membership, member)):
                membership.touch(member, now_ms)
        self._rebalance.log_completed()
