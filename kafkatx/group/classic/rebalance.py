"""The rebalance of a classic group: who is waited for, how long, and when a generation begins.

The rules are those of Apache Kafka's coordinator (``GroupCoordinator.scala`` of 3.9, and
``GroupMetadataManager.java``, which does the same):

*   From EMPTY the group waits ``group.initial.rebalance.delay.ms``, and as long again if somebody came
    meanwhile, at most the rebalance time-out altogether (KIP-134).
*   Else it waits until all members have joined again, at most the longest rebalance time-out among them.
    Then dynamic members who have not joined are removed. Static ones stay until their session ends.
*   In the new generation everybody must sync within the rebalance time-out, or is removed (KAFKA-12890).
    That includes static members who did not join again: they are members of the new generation too.
"""

from __future__ import annotations

from collections.abc import Callable

from kafkatx.errors import ErrorCode
from kafkatx.group.actions import NEVER_MS, Action
from kafkatx.group.classic.member import Member
from kafkatx.group.classic.membership import Membership
from kafkatx.group.classic.states import Event, State
from kafkatx.group.settings import GroupSettings
from kafkatx.wire.messages.join_group import JoinGroupResponse, JoinGroupResponseMember
from kafkatx.wire.messages.sync_group import SyncGroupResponse


class Rebalancing(Membership):
    """A group between its generations."""

    def __init__(
        self,
        group_id: str,
        settings: GroupSettings,
        new_member_id: Callable[[str], str],
        wall_ms: Callable[[], int],
    ) -> None:
        super().__init__(group_id, settings, new_member_id, wall_ms)
        self._reason = ""
        self._initial = self._newcomers = False
        self._extension_ms = 0
        self._unsynced: set[str] = set()
        self._join_deadline_ms = self._sync_deadline_ms = NEVER_MS

    @property
    def deadline_ms(self) -> int:
        """When :meth:`advance` must be called; it may turn out then that nothing is due yet."""
        return min(self._join_deadline_ms, self._sync_deadline_ms, self._sessions_ms)

    def advance(self, now_ms: int) -> list[Action]:
        """Remove members that went silent, end the join phase or the sync phase if its time is over."""
        if self._sessions_ms <= now_ms:
            self._expire(now_ms)
        if self._join_deadline_ms <= now_ms:
            self._join_time_over(now_ms)
        if self._sync_deadline_ms <= now_ms:
            self._sync_time_over(now_ms)
        return self._done()

    def _expire(self, now_ms: int) -> None:
        """Remove those whose time is over, and see what the group makes of it."""
        for member_id in [name for name, end_ms in self._roster.pending.items() if end_ms <= now_ms]:
            self._roster.forget(member_id)
        silent = [m for m in self.members.values() if m.expires_ms <= now_ms]
        for member in silent:
            self._remove(member, "its session ended without a heartbeat", warn=True)
        self._after_leaving(len(silent), "members fell silent", now_ms)
        self._sessions_ms = self._roster.expires_ms

    def _after_leaving(self, count: int, reason: str, now_ms: int) -> None:
        """So many members have left: those who stay share their partitions, and wait for nobody who left."""
        if self._state is State.PREPARING_REBALANCE:
            self._settle(now_ms)
        elif count:
            self._rebalance(reason, now_ms)

    # The join phase

    def _rebalance(self, reason: str, now_ms: int) -> None:
        """Have all members join again. Who waits for an assignment gets none, and learns of it."""
        self._reason = reason
        if self._state is State.COMPLETING_REBALANCE:
            self._assign_nothing(ErrorCode.REBALANCE_IN_PROGRESS, now_ms)
        self._unsynced.clear()
        self._sync_deadline_ms = NEVER_MS
        self._initial = self._state is State.EMPTY
        self._move(Event.REBALANCE)
        timeout_ms = self._roster.rebalance_timeout_ms
        if self._initial:
            self._newcomers = False
            delay_ms = self._settings.initial_rebalance_delay_ms
            self._extension_ms = max(timeout_ms - delay_ms, 0)
            timeout_ms = delay_ms
        self._join_deadline_ms = now_ms + timeout_ms
        if timeout_ms == 0:
            self._complete_join(now_ms)
        else:
            self._settle(now_ms)

    def _settle(self, now_ms: int) -> None:
        """End the join phase as soon as nobody is waited for. The first one lasts as long as it lasts."""
        if not self.members or (not self._initial and self._roster.all_joined):
            self._complete_join(now_ms)

    def _settle_or_rebalance(self, reason: str, now_ms: int) -> None:
        """Somebody has joined: go on with the join phase, or begin one."""
        if self._state is State.PREPARING_REBALANCE:
            self._settle(now_ms)
        else:
            self._rebalance(reason, now_ms)

    def _join_time_over(self, now_ms: int) -> None:
        """End the join phase, or wait on if the group is still growing (InitialDelayedJoin)."""
        if not (self._initial and self._newcomers and self._extension_ms):
            self._complete_join(now_ms)
            return
        self._newcomers = False
        delay_ms = min(self._settings.initial_rebalance_delay_ms, self._extension_ms)
        self._extension_ms -= delay_ms
        self._join_deadline_ms = now_ms + delay_ms

    def _complete_join(self, now_ms: int) -> None:
        """Begin the next generation, with whoever has joined and the static members who have not."""
        for member in [m for m in self.members.values() if m.join_token is None and not m.is_static]:
            self._remove(member, "it did not join again within the rebalance time-out", warn=True)
        if not self._roster.elect():
            # Only static members are left, and none has joined: wait for one, or until their sessions end.
            self._join_deadline_ms = now_ms + self._roster.rebalance_timeout_ms
            return
        self._join_deadline_ms = NEVER_MS
        self.generation += 1
        if self.members:
            self._begin_generation(now_ms)
        else:
            self._become_empty()

    def _begin_generation(self, now_ms: int) -> None:
        self.protocol_name = self._roster.select_protocol()
        self._subscribed = self._subscribed_topics()
        self._move(Event.JOINED)
        members = self._metadata_of_all()
        for member in self.members.values():
            self._end_join(member, self._joined(member, members if member.member_id == self.leader else []))
            member.is_new = False
            self._touch(member, now_ms)
        self._unsynced.update(self.members)
        self._sync_deadline_ms = now_ms + self._roster.rebalance_timeout_ms

    def _become_empty(self) -> None:
        """Nobody is left. The generation is stored, so that it does not go back after a restart."""
        self.protocol_name = None
        self._subscribed = frozenset()
        self._assigned_bytes = 0
        self._sessions_ms = self._roster.expires_ms
        self._move(Event.DESERTED)
        self._store(self.record(), _nothing)
        self._tell_rebalanced()

    def _joined(
        self,
        member: Member,
        members: list[JoinGroupResponseMember],
        leader: str | None = None,
        skip: bool = False,
    ) -> JoinGroupResponse:
        """That a member is part of this generation.

        :param members: what the leader gets to assign from; empty for the others.
        :param leader: who is said to lead, if not the leader.
        :param skip: the leader is not to assign (KIP-814).
        """
        return JoinGroupResponse(
            generation_id=self.generation,
            protocol_type=self.protocol_type,
            protocol_name=self.protocol_name,
            leader=leader or self.leader or "",
            skip_assignment=skip,
            member_id=member.member_id,
            members=members,
        )

    def _metadata_of_all(self) -> list[JoinGroupResponseMember]:
        name = self.protocol_name
        return [
            JoinGroupResponseMember(m.member_id, m.group_instance_id, m.metadata(name))
            for m in self.members.values()
        ]

    # The sync phase

    def _sync_time_over(self, now_ms: int) -> None:
        """Remove those who have joined and then did not ask for their assignment."""
        for member_id in self._unsynced.copy():
            reason = "it did not sync within the rebalance time-out"
            self._remove(self._roster.members[member_id], reason, warn=True)
        self._rebalance("members did not sync in time", now_ms)

    def _assign_nothing(self, error: ErrorCode, now_ms: int) -> None:
        """Tell everyone who waits for an assignment why there is none."""
        self._assigned_bytes = 0
        for member in self.members.values():
            member.assignment = b""
            if self._end_sync(member, SyncGroupResponse(error_code=error)):
                self._touch(member, now_ms)

    def _tell_rebalanced(self) -> None:
        self._tell(
            "group {group} rebalanced: generation {generation}, {members} members, {reason}",
            generation=self.generation,
            members=len(self.members),
            reason=self._reason,
        )


def _nothing(error: ErrorCode, now_ms: int) -> None:
    """If an empty generation is not stored, the one before may be loaded; its members time out then."""
