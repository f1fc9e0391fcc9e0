"""One member of a consumer group, sans-I/O: events and time in, actions out.

The driver calls a method for each event, performs the returned actions in order, and calls
:meth:`MemberMachine.advance` at :attr:`MemberMachine.deadline_ms`. The rules are those of Apache Kafka's
``AbstractCoordinator`` and ``ConsumerCoordinator``:

*   Eager rebalance: all partitions are revoked before the member joins (KIP-54). Cooperative rebalance: only
    those of unsubscribed topics, and after the assignment those that are not in it; then the member joins
    once more, so that they are assigned to their new owners (KIP-429).
*   After UNKNOWN_MEMBER_ID and ILLEGAL_GENERATION all partitions are lost. FENCED_INSTANCE_ID ends the
    membership.
*   The leader rejoins when the partition counts of the group's topics change, every member when its
    subscription changes.
*   A member whose application takes longer than ``max.poll.interval.ms`` leaves, and rejoins at the next poll
    (KIP-62). Static members do not leave; their session expires (KIP-345).

The application is told of one change at a time, and the next step waits until it is done; heartbeats go on
meanwhile. Two things differ from Apache Kafka: lost partitions are reported at once, not by the next
``poll``, and a revocation without partitions is not reported.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping

from kafkatx.clientcore.errors import CommitFailed, retriable
from kafkatx.clientcore.group.membership.actions import (
    NEVER_MS,
    Action,
    AssignmentChange,
    LeaveCompleted,
    WatchTopics,
)
from kafkatx.clientcore.group.membership.coordinator_errors import (
    COORDINATOR_MOVED,
    MEMBERSHIP_LOST,
    fatal_error,
)
from kafkatx.clientcore.group.membership.joining_member import JoiningMember
from kafkatx.clientcore.group.membership.member_state import NO_GENERATION
from kafkatx.clientcore.group.membership.states import Event, State
from kafkatx.errors import ErrorCode, KafkaTXError
from kafkatx.types import TopicPartition
from kafkatx.wire.messages.heartbeat import HeartbeatRequest, HeartbeatResponse
from kafkatx.wire.messages.join_group import JoinGroupResponse
from kafkatx.wire.messages.leave_group import LeaveGroupRequest, MemberIdentity
from kafkatx.wire.messages.sync_group import SyncGroupResponse
from kafkatx.wire.schema import Message

NO_MEMBER = (NO_GENERATION, "")
"""Generation and member id of a commit from outside of the group."""


class MemberMachine(JoiningMember):
    """The state machine of a member. It starts without a subscription, and so does not join."""

    # Called for the application

    def subscribe(
        self, topics: Collection[str], now_ms: int, matches: Callable[[str], bool] | None = None
    ) -> list[Action]:
        """Subscribe to these topics, which replace earlier ones.

        :param matches: with a pattern, returns whether another topic matches it.
        """
        if self._topics is None:
            self._join_reason = "the consumer has subscribed"
        self._topics, self._matches = frozenset(topics), matches
        return self._run_steps(now_ms)

    def unsubscribe(self, now_ms: int) -> list[Action]:
        """Leave the group; :class:`LeaveCompleted` follows. The member may subscribe again after it."""
        return self._begin_leaving(Event.LEFT, now_ms)

    def close(self, now_ms: int) -> list[Action]:
        """Leave the group for good; :class:`LeaveCompleted` comes when that is done."""
        return self._begin_leaving(Event.CLOSE, now_ms)

    def _begin_leaving(self, event: Event, now_ms: int) -> list[Action]:
        if self.state is State.CLOSED:
            self._actions.append(LeaveCompleted())
        else:
            self._leaving = Event.CLOSE if self._leaving is Event.CLOSE else event
            self._topics = self._matches = self._join_reason = None
        return self._run_steps(now_ms)

    def polled(self, waiting: bool, now_ms: int, since_ms: int | None = None) -> list[Action]:
        """Restart the timer of ``max.poll.interval.ms``, because the application asks for records.

        :param waiting: the application has to wait: the timer stops until the next call.
        :param since_ms: when the timer starts; None: now.
        """
        if self._poll_timer.polled(waiting, now_ms if since_ms is None else since_ms):
            self._join_reason = "the application asks for records again"
        return self._run_steps(now_ms)

    def commit_identity(self) -> tuple[int, str]:
        """Return the generation and member id to commit with; :data:`NO_MEMBER` without a subscription.

        :raises CommitFailed: this is not a member now, or is joining: REBALANCE_IN_PROGRESS,
            UNKNOWN_MEMBER_ID.
        """
        if self.state is State.STABLE and self.generation != NO_GENERATION:
            return self.generation, self.member_id
        if self._topics is None and not self.owned and self._leaving is None:
            return NO_MEMBER
        if self.state in (State.JOINING, State.SYNCING):
            raise CommitFailed(
                ErrorCode.REBALANCE_IN_PROGRESS,
                f"group {self.settings.group_id!r} rebalances: commit again when partitions are assigned",
            )
        raise CommitFailed(
            ErrorCode.UNKNOWN_MEMBER_ID,
            f"this consumer was removed from group {self.settings.group_id!r} and lost its partitions: "
            "increase max.poll.interval.ms, or decrease max.poll.records",
        )

    # Events

    def response_received(self, token: int, response: Message, now_ms: int) -> list[Action]:
        """Handle the response to a request of :class:`SendRequest`; outdated ones are ignored."""
        if isinstance(response, HeartbeatResponse):
            if token == self._heartbeat.token:
                self._heartbeat_answered(response, now_ms)
        elif token == self._token:
            self._token = None
            if self.state is State.LEAVING:
                self._end_leaving()
            elif isinstance(response, JoinGroupResponse):
                self._joined(response, now_ms)
            elif isinstance(response, SyncGroupResponse):
                self._synced(response, now_ms)
        return self._run_steps(now_ms)

    def request_failed(self, token: int, error: Exception, now_ms: int) -> list[Action]:
        """Handle a request without a response, or partition counts that could not be read."""
        known = error if isinstance(error, KafkaTXError) else KafkaTXError(f"group coordination: {error!r}")
        if token not in (self._token, self._heartbeat.token) or self.state is State.CLOSED:
            return self._take_actions()
        if self.state is State.LEAVING:
            # Without LeaveGroup the coordinator removes the member when its session expires.
            self._token = None
            self._end_leaving()
        elif not retriable(error):
            self._fail(known)
        else:
            self._forget_coordinator()
            if token == self._heartbeat.token:
                self._failures += 1
                self._heartbeat.retry_at(now_ms + self._pause_ms())
            else:
                self._token = None
                self._transition(Event.REFUSED)
                self._schedule_rejoin(
                    f"rebalance failed due to {type(error).__name__}", now_ms, at_once=False
                )
        return self._run_steps(now_ms)

    def partition_counts_received(self, token: int, counts: Mapping[str, int], now_ms: int) -> list[Action]:
        """Take the partition counts of :class:`RequestPartitionCounts`, without missing topics."""
        if token == self._token and self._group_leader is not None:
            self._token = None
            self._assign(self._group_leader, dict(counts))
        return self._run_steps(now_ms)

    def metadata_changed(self, counts: Mapping[str, int], now_ms: int) -> list[Action]:
        """Handle new partition counts, at least those of :class:`WatchTopics`."""
        if (
            self._group_leader is not None
            and self._group_leader.outdated(counts)
            and self._join_reason is None
        ):
            self._join_reason = "cached metadata has changed"
        return self._run_steps(now_ms)

    def application_notified(self, now_ms: int) -> list[Action]:
        """Continue after the application has handled the last :class:`NotifyApplication`."""
        call, self._notifying = self._notifying, None
        if call is not None and call.change is not AssignmentChange.ASSIGNED:
            self.owned -= call.partitions
        return self._run_steps(now_ms)

    def commit_failed(self, code: ErrorCode, generation: int, member_id: str, now_ms: int) -> list[Action]:
        """Handle a commit with this generation and member id that was answered with an error."""
        if self.state is State.STABLE and (generation, member_id) == (self.generation, self.member_id):
            if code is ErrorCode.REBALANCE_IN_PROGRESS:
                self._join_reason = (
                    self._join_reason or "offset commit failed since group is already rebalancing"
                )
            elif code in MEMBERSHIP_LOST:
                self._lose_membership(code)
            elif code is ErrorCode.FENCED_INSTANCE_ID:
                self._fail(fatal_error(code, self.settings))
        return self._run_steps(now_ms)

    # Time

    def advance(self, now_ms: int) -> list[Action]:
        """Handle the time: send a heartbeat, retry, or leave."""
        if self._heartbeat.session_deadline_ms <= now_ms:
            self._log("group {group}: no response from the coordinator for session.timeout.ms", warn=True)
            self._forget_coordinator()
            self._heartbeat.answered(now_ms)
            self._heartbeat.retry_at(now_ms + self._pause_ms())
        if self._is_member and self._poll_timer.deadline_ms <= now_ms:
            self._poll_timeout_expired()
        elif self._heartbeat.token is None and self._heartbeat.due_ms <= now_ms:
            self._send_heartbeat(now_ms)
        return self._run_steps(now_ms)

    def _send_heartbeat(self, now_ms: int) -> None:
        request = HeartbeatRequest(
            self.settings.group_id, self.generation, self.member_id, self.settings.group_instance_id
        )
        self._heartbeat.sent(self._send(request), now_ms)

    def _heartbeat_answered(self, response: HeartbeatResponse, now_ms: int) -> None:
        code = ErrorCode.of(response.error_code)
        if code in (ErrorCode.NONE, ErrorCode.REBALANCE_IN_PROGRESS):
            self._heartbeat.answered(now_ms)
            self._failures = 0
            if code and self.state is State.STABLE:
                self._join_reason = self._join_reason or "group is already rebalancing"
        elif code in MEMBERSHIP_LOST:
            self._lose_membership(code)
        elif code.retriable:
            if code in COORDINATOR_MOVED:
                self._forget_coordinator()
            self._failures += 1
            self._heartbeat.retry_at(now_ms + self._pause_ms())
        else:
            self._fail(fatal_error(code, self.settings))

    def _lose_membership(self, code: ErrorCode) -> None:
        self._reset(
            f"encountered {code.name} from the coordinator", forget_id=code is ErrorCode.UNKNOWN_MEMBER_ID
        )

    def _poll_timeout_expired(self) -> None:
        """Leave, so that other members process its partitions: the application has taken too long."""
        self._log(
            "{member} leaves group {group}: its application has not polled for {interval} ms; "
            "increase max.poll.interval.ms, or decrease max.poll.records",
            warn=True,
            interval=self._poll_timer.interval_ms,
        )
        self._poll_timer.expire()
        if self.settings.group_instance_id is None:
            request = self._leave_request("consumer poll timeout has expired.")
            self._send(request, separate_connection=self._waits_for_others)
        self._reset("consumer poll timeout has expired", forget_id=True)

    # Steps

    def _run_steps(self, now_ms: int) -> list[Action]:
        """Take steps until one has to wait; return the actions."""
        while self._step(now_ms):
            pass
        return self._take_actions()

    def _step(self, now_ms: int) -> bool:
        """Take the next step; return True if another may follow at once."""
        if self._notifying is not None or self.state in (State.CLOSED, State.LEAVING):
            return False
        if self.owned and self.generation == NO_GENERATION:
            self._notify(AssignmentChange.LOST, self.owned)
        elif self._error is not None:
            self._end_failed(self._error)
        elif self._leaving is not None:
            return self._leave()
        elif self._new_assignment is not None:
            self._apply_assignment(self._new_assignment)
        elif self._is_due_to_join(now_ms):
            self._revoke_and_join(now_ms)
        return False

    def _apply_assignment(self, target: frozenset[TopicPartition]) -> None:
        """Revoke partitions that are not in the assignment, then add new ones."""
        revoked = self.owned - target
        if revoked:
            self._join_reason = "need to revoke partitions and re-join"
            self._notify(AssignmentChange.REVOKED, revoked)
        else:
            added, self.owned, self._new_assignment = target - self.owned, target, None
            self._notify(AssignmentChange.ASSIGNED, added)

    def _is_due_to_join(self, now_ms: int) -> bool:
        if self.state is State.STABLE and self._join_reason is None and self._topics != self._joined_topics:
            self._join_reason = "subscription has changed"
        return self._wants_to_join and self._retry_ms <= now_ms

    def _revoke_and_join(self, now_ms: int) -> None:
        """Revoke what must be revoked before joining, then join."""
        topics = self._topics or frozenset()
        revoked = self.owned
        if self.settings.cooperative:
            revoked = frozenset(at for at in self.owned if at.topic not in topics)
        if revoked:
            self._notify(AssignmentChange.REVOKED, revoked)
        else:
            self._join(topics, now_ms)

    # Leaving

    def _leave(self) -> bool:
        """Give up all partitions, send LeaveGroup unless static, and end."""
        if self.owned:
            self._notify(
                AssignmentChange.REVOKED if self.state is State.STABLE else AssignmentChange.LOST, self.owned
            )
            return False
        self._heartbeat.stop()
        self._new_assignment = self._group_leader = None
        self._actions.append(WatchTopics(frozenset()))
        if self.member_id and self.settings.group_instance_id is None:
            separate_connection = self._waits_for_others
            self._transition(Event.LEAVE)
            self._token = self._send(
                self._leave_request("the consumer is being closed"), separate_connection=separate_connection
            )
            return False
        self._end_leaving()
        return True

    @property
    def _waits_for_others(self) -> bool:
        """True if a JoinGroup or SyncGroup waits for other members, possibly dead ones."""
        return self.state in (State.JOINING, State.SYNCING)

    def _leave_request(self, reason: str) -> LeaveGroupRequest:
        return LeaveGroupRequest(
            group_id=self.settings.group_id,
            member_id=self.member_id,
            members=[MemberIdentity(self.member_id, self.settings.group_instance_id, reason)],
        )

    def _end_leaving(self) -> None:
        event, self._leaving = self._leaving or Event.CLOSE, None
        self.generation, self.member_id, self._token = NO_GENERATION, "", None
        self._retry_ms = NEVER_MS if event is Event.CLOSE else 0
        self._transition(event)
        self._actions.append(LeaveCompleted())
