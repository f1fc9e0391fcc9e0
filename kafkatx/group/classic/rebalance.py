"""The rebalance of a classic group: the join phase, the sync phase, and their time limits. Pure.

The rules are those of Apache Kafka's coordinator (``GroupCoordinator.scala`` of 3.9, and
``GroupMetadataManager.java``, which does the same):

*   An EMPTY group waits ``group.initial.rebalance.delay.ms``, and waits as long again whenever a new member
    has joined meanwhile, at most the rebalance time-out in total (KIP-134).
*   Any other group waits until all members have joined again, at most the longest rebalance time-out among
    them. Then dynamic members that have not joined are removed. Static ones stay until their session ends.
*   In the new generation every member must sync within the rebalance time-out, or is removed (KAFKA-12890).
    This includes static members that did not join again: they belong to the new generation too.
"""

from __future__ import annotations

from kafkatx.errors import ErrorCode
from kafkatx.group.actions import NEVER_MS
from kafkatx.group.classic.membership import Membership, join_response, members_for_leader
from kafkatx.group.classic.outbox import Outbox
from kafkatx.group.classic.states import Event, State
from kafkatx.group.settings import GroupSettings
from kafkatx.wire.messages.sync_group import SyncGroupResponse


class Rebalance:
    """Moves a group from one generation to the next.

    :ivar unsynced: ids of the members that have yet to sync in this generation.
    """

    def __init__(self, membership: Membership, outbox: Outbox, settings: GroupSettings) -> None:
        self._membership = membership
        self._outbox = outbox
        self._settings = settings
        self._reason = ""
        self._is_initial = self._has_newcomers = False
        self._extension_ms = 0
        self.unsynced: set[str] = set()
        self._join_deadline_ms = self._sync_deadline_ms = NEVER_MS

    @property
    def deadline_ms(self) -> int:
        """The earliest end of a phase."""
        return min(self._join_deadline_ms, self._sync_deadline_ms)

    def advance(self, now_ms: int) -> None:
        """End the phases whose time is over."""
        if self._join_deadline_ms <= now_ms:
            self._end_join_phase(now_ms)
        if self._sync_deadline_ms <= now_ms:
            self._end_sync_phase(now_ms)

    def stop(self) -> None:
        """Cancel all deadlines."""
        self.unsynced.clear()
        self._join_deadline_ms = self._sync_deadline_ms = NEVER_MS

    def begin(self, reason: str, now_ms: int) -> None:
        """Start a join phase. Members waiting for an assignment are told that the group rebalances."""
        membership = self._membership
        self._reason = reason
        if membership.state is State.COMPLETING_REBALANCE:
            self.fail_assignment(ErrorCode.REBALANCE_IN_PROGRESS, now_ms)
        self.unsynced.clear()
        self._sync_deadline_ms = NEVER_MS
        self._is_initial = membership.state is State.EMPTY
        membership.move(Event.REBALANCE)
        timeout_ms = membership.roster.rebalance_timeout_ms
        if self._is_initial:
            self._has_newcomers = False
            delay_ms = self._settings.initial_rebalance_delay_ms
            self._extension_ms = max(timeout_ms - delay_ms, 0)
            timeout_ms = delay_ms
        self._join_deadline_ms = now_ms + timeout_ms
        if timeout_ms == 0:
            self._complete_join(now_ms)
        else:
            self._complete_join_if_ready(now_ms)

    # Events of members

    def newcomer(self) -> None:
        """Extend an initial join phase: a new member has joined."""
        self._has_newcomers = True

    def member_joined(self, reason: str, now_ms: int) -> None:
        """Complete the join phase if this was the last member to join, or start a join phase."""
        if self._membership.state is State.PREPARING_REBALANCE:
            self._complete_join_if_ready(now_ms)
        else:
            self.begin(reason, now_ms)

    def members_left(self, count: int, reason: str, now_ms: int) -> None:
        """Rebalance after *count* members have left, or complete a join phase that waited for them only."""
        if self._membership.state is State.PREPARING_REBALANCE:
            self._complete_join_if_ready(now_ms)
        elif count:
            self.begin(reason, now_ms)

    def member_synced(self, member_id: str) -> None:
        """Note that a member has synced in this generation."""
        self.unsynced.discard(member_id)
        if not self.unsynced:
            self._sync_deadline_ms = NEVER_MS

    def member_replaced(self, old_id: str, new_id: str) -> None:
        """Note that a static member has another member id."""
        if old_id in self.unsynced:
            self.unsynced.remove(old_id)
            self.unsynced.add(new_id)

    # The join phase

    def _complete_join_if_ready(self, now_ms: int) -> None:
        """End the join phase if all members have joined. An initial one lasts until its time is over."""
        membership = self._membership
        if not membership.members or (not self._is_initial and membership.roster.all_joined):
            self._complete_join(now_ms)

    def _end_join_phase(self, now_ms: int) -> None:
        """End the join phase, or extend it if the group is still growing (``InitialDelayedJoin``)."""
        if not (self._is_initial and self._has_newcomers and self._extension_ms):
            self._complete_join(now_ms)
            return
        self._has_newcomers = False
        delay_ms = min(self._settings.initial_rebalance_delay_ms, self._extension_ms)
        self._extension_ms -= delay_ms
        self._join_deadline_ms = now_ms + delay_ms

    def _complete_join(self, now_ms: int) -> None:
        """Start the next generation with the members that have joined, and static ones that have not."""
        membership = self._membership
        for member in [m for m in membership.members.values() if m.join_token is None and not m.is_static]:
            membership.remove(member, "it did not join again within the rebalance time-out", warn=True)
        if not membership.roster.elect():
            # Only static members are left and none has joined: wait for one, or until their sessions end.
            self._join_deadline_ms = now_ms + membership.roster.rebalance_timeout_ms
            return
        self._join_deadline_ms = NEVER_MS
        membership.generation += 1
        if membership.members:
            self._begin_generation(now_ms)
        else:
            self._become_empty()

    def _begin_generation(self, now_ms: int) -> None:
        membership = self._membership
        membership.select_protocol()
        membership.move(Event.JOINED)
        members = members_for_leader(membership)
        leader = membership.roster.leader
        for member in membership.members.values():
            listed = members if member.member_id == leader else []
            membership.end_join(member, join_response(membership, member, listed))
            member.is_new = False
            membership.touch(member, now_ms)
        self.unsynced.update(membership.members)
        self._sync_deadline_ms = now_ms + membership.roster.rebalance_timeout_ms

    def _become_empty(self) -> None:
        """Store the empty generation, so that the generation does not decrease after a restart."""
        membership = self._membership
        membership.protocol_name = None
        membership.subscribed = frozenset()
        membership.assigned_bytes = 0
        membership.sessions_ms = membership.roster.expires_ms
        membership.move(Event.DESERTED)
        self._outbox.store(membership.record(), _ignore)
        self.log_completed()

    # The sync phase

    def _end_sync_phase(self, now_ms: int) -> None:
        """Remove the members that have joined and did not sync, and rebalance."""
        for member_id in self.unsynced.copy():
            reason = "it did not sync within the rebalance time-out"
            self._membership.remove(self._membership.members[member_id], reason, warn=True)
        self.begin("members did not sync in time", now_ms)

    def fail_assignment(self, error: ErrorCode, now_ms: int) -> None:
        """Clear all assignments and answer the waiting SyncGroups with *error*."""
        membership = self._membership
        membership.assigned_bytes = 0
        for member in membership.members.values():
            member.assignment = b""
            if membership.end_sync(member, SyncGroupResponse(error_code=error)):
                membership.touch(member, now_ms)

    def log_completed(self) -> None:
        """Log that the rebalance is complete."""
        self._outbox.log(
            "group {group} rebalanced: generation {generation}, {members} members, {reason}",
            generation=self._membership.generation,
            members=len(self._membership.members),
            reason=self._reason,
        )


def _ignore(error: ErrorCode, now_ms: int) -> None:
    """Ignore a failed store: a restart then loads the generation before, whose members expire."""
