"""The sync phase of a classic group: the leader's assignment is stored, then everybody gets their part."""

from __future__ import annotations

from kafkatx.errors import ErrorCode
from kafkatx.group.actions import NEVER_MS, Action
from kafkatx.group.classic.member import Member
from kafkatx.group.classic.rebalance import Rebalancing
from kafkatx.group.classic.states import Event, State
from kafkatx.wire.messages.sync_group import SyncGroupRequest, SyncGroupResponse

PROTOCOL_REQUIRED_SINCE = 5
"""From this version of SyncGroup on the protocol's type and name must be there (KIP-559)."""

_ANSWERS = {
    ErrorCode.UNKNOWN_TOPIC_OR_PARTITION: ErrorCode.COORDINATOR_NOT_AVAILABLE,
    ErrorCode.NOT_ENOUGH_REPLICAS: ErrorCode.COORDINATOR_NOT_AVAILABLE,
    ErrorCode.REQUEST_TIMED_OUT: ErrorCode.COORDINATOR_NOT_AVAILABLE,
    ErrorCode.NOT_LEADER_OR_FOLLOWER: ErrorCode.NOT_COORDINATOR,
    ErrorCode.KAFKA_STORAGE_ERROR: ErrorCode.NOT_COORDINATOR,
    ErrorCode.MESSAGE_TOO_LARGE: ErrorCode.UNKNOWN_SERVER_ERROR,
    ErrorCode.RECORD_LIST_TOO_LARGE: ErrorCode.UNKNOWN_SERVER_ERROR,
    ErrorCode.INVALID_FETCH_SIZE: ErrorCode.UNKNOWN_SERVER_ERROR,
}


def answer_for(error: ErrorCode) -> ErrorCode:
    """What members are told when their group cannot be stored (appendGroupMetadataErrorToResponseError)."""
    return _ANSWERS.get(error, error)


class Syncing(Rebalancing):
    """A group that hands out assignments."""

    def sync(self, request: SyncGroupRequest, version: int, token: object, now_ms: int) -> list[Action]:
        """Give the member its assignment, now or when the leader has made it.

        During the join phase the answer is REBALANCE_IN_PROGRESS: the generation is over.
        """
        error = self._check_sync(request, version)
        if error:
            self._answer(token, SyncGroupResponse(error_code=error))
            return self._done()
        member = self._roster.members[request.member_id]
        self._unsynced.discard(member.member_id)
        if not self._unsynced:
            self._sync_deadline_ms = NEVER_MS
        if self._state is State.STABLE:
            self._answer(token, self._assigned(member))
            self._touch(member, now_ms)
        else:
            self._wait_for_assignment(member, token)
            if member.member_id == self.leader:
                self._store_assignment({a.member_id: bytes(a.assignment) for a in request.assignments})
        return self._done()

    def _check_sync(self, request: SyncGroupRequest, version: int) -> ErrorCode:
        missing = request.protocol_type is None or request.protocol_name is None
        if version >= PROTOCOL_REQUIRED_SINCE and missing:
            return ErrorCode.INCONSISTENT_GROUP_PROTOCOL
        error = self._check_generation(request.member_id, request.group_instance_id, request.generation_id)
        if error:
            return error
        if request.protocol_type not in (None, self.protocol_type):
            return ErrorCode.INCONSISTENT_GROUP_PROTOCOL
        if request.protocol_name not in (None, self.protocol_name):
            return ErrorCode.INCONSISTENT_GROUP_PROTOCOL
        if self._state is State.PREPARING_REBALANCE:
            return ErrorCode.REBALANCE_IN_PROGRESS
        return ErrorCode.NONE

    def _wait_for_assignment(self, member: Member, token: object) -> None:
        """Remember whom to answer. If the member asks again, its earlier request is answered first."""
        self._end_sync(member, SyncGroupResponse(error_code=ErrorCode.REBALANCE_IN_PROGRESS))
        member.sync_token = token

    def _store_assignment(self, assignments: dict[str, bytes]) -> None:
        """Have the leader's assignment stored: no member may see one that a restart would forget."""
        generation = self.generation

        def then(error: ErrorCode, now_ms: int) -> None:
            if self._state is not State.COMPLETING_REBALANCE or self.generation != generation:
                return  # a rebalance has begun meanwhile, and everyone was told
            if error:
                self._assign_nothing(answer_for(error), now_ms)
                self._rebalance(f"the assignment could not be stored: {error.name}", now_ms)
            else:
                self._hand_out(assignments, now_ms)

        self._store(self.record(assignments), then)

    def _hand_out(self, assignments: dict[str, bytes], now_ms: int) -> None:
        """Give everyone who waits their part; members whom the leader left out get nothing."""
        self._move(Event.ASSIGNED)
        self._assigned_bytes = sum(len(assignments.get(name, b"")) for name in self.members)
        for member in self.members.values():
            member.assignment = assignments.get(member.member_id, b"")
            if self._end_sync(member, self._assigned(member)):
                self._touch(member, now_ms)
        self._tell_rebalanced()

    def _assigned(self, member: Member) -> SyncGroupResponse:
        return SyncGroupResponse(
            protocol_type=self.protocol_type, protocol_name=self.protocol_name, assignment=member.assignment
        )
