"""The state of a group member, and the actions that it returns.

The base of :class:`~kafkatx.clientcore.group.membership.machine.MemberMachine`; see there.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from kafkatx.clientcore.group.assignors import Assignor
from kafkatx.clientcore.group.membership.actions import (
    NEVER_MS,
    Action,
    AssignmentChange,
    ForgetCoordinator,
    LeaveCompleted,
    LogMessage,
    NotifyApplication,
    ReportFailure,
    SendRequest,
)
from kafkatx.clientcore.group.membership.leader import GroupLeader
from kafkatx.clientcore.group.membership.settings import MemberSettings
from kafkatx.clientcore.group.membership.states import Event, State, next_state
from kafkatx.clientcore.group.membership.timers import HeartbeatTimer, PollTimer
from kafkatx.errors import KafkaTXError
from kafkatx.types import TopicPartition
from kafkatx.wire.schema import Message

NO_GENERATION = -1
IMMEDIATE_RETRIES = 3
"""Failed attempts to join in a row that are followed by another without a pause."""

Partitions = frozenset[TopicPartition]


class MemberState:
    """The state of a member.

    :ivar generation: the group generation of :attr:`owned`; NO_GENERATION: these partitions are lost.
    :ivar member_id: given by the coordinator; "" if there is none.
    :ivar owned: partitions that the application has. They are removed after the application was told, not
        before.
    """

    def __init__(self, settings: MemberSettings) -> None:
        self.settings = settings
        self.state = State.UNJOINED
        self.generation = NO_GENERATION
        self.member_id = ""
        self.owned: Partitions = frozenset()
        self._assignor: Assignor | None = None
        self._topics: frozenset[str] | None = None
        self._matches: Callable[[str], bool] | None = None
        self._joined_topics: frozenset[str] = frozenset()
        self._last_assignment: tuple[Partitions | None, int] = (None, NO_GENERATION)
        """The last assignment and its generation, for the assignors' user data."""
        self._new_assignment: Partitions | None = None
        """An assignment that the application has not been told of yet."""
        self._group_leader: GroupLeader | None = None
        self._assigned_counts: Mapping[str, int] | None = None
        """The partition counts of the last assignment that this member made as the leader."""
        self._join_reason: str | None = None
        """The reason to (re)join; None if there is none."""
        self._notifying: NotifyApplication | None = None
        self._leaving: Event | None = None
        self._error: KafkaTXError | None = None
        self._heartbeat = HeartbeatTimer(settings.heartbeat_interval_ms, settings.session_timeout_ms)
        self._poll_timer = PollTimer(settings.max_poll_interval_ms)
        self._failures = 0
        self._retry_ms = 0
        self._token: int | None = None
        """The token of the request or the partition counts that the next step waits for."""
        self._tokens = 0
        self._actions: list[Action] = []

    @property
    def error(self) -> KafkaTXError | None:
        """The error that ended the membership, if any."""
        return self._error

    @property
    def subscribed(self) -> bool:
        """True if there is a subscription, even if to no topics."""
        return self._topics is not None

    @property
    def deadline_ms(self) -> int:
        """The time at which :meth:`advance` must be called; possibly nothing is due yet then."""
        deadline_ms = self._heartbeat.deadline_ms
        if self._is_member:
            deadline_ms = min(deadline_ms, self._poll_timer.deadline_ms)
        if self._wants_to_join:
            deadline_ms = min(deadline_ms, self._retry_ms)
        return deadline_ms

    @property
    def _is_member(self) -> bool:
        """True while heartbeats are sent and the poll timer runs."""
        return self.state in (State.SYNCING, State.STABLE) and self.generation != NO_GENERATION

    @property
    def _wants_to_join(self) -> bool:
        """True if the member is to join as soon as the retry pause is over."""
        return (
            self.state in (State.UNJOINED, State.STABLE)
            and self._notifying is None
            and self._topics is not None
            and self._join_reason is not None
            and not self._poll_timer.expired
        )

    # Actions

    def _take_actions(self) -> list[Action]:
        out, self._actions = self._actions, []
        return out

    def _send(self, request: Message, timeout_ms: int = 0, separate_connection: bool = False) -> int:
        self._tokens += 1
        self._actions.append(SendRequest(self._tokens, request, timeout_ms, separate_connection))
        return self._tokens

    def _notify(self, change: AssignmentChange, partitions: Partitions) -> None:
        self._notifying = NotifyApplication(change, partitions)
        self._actions.append(self._notifying)

    def _log(self, text: str, warn: bool = False, **values: object) -> None:
        self._actions.append(LogMessage(text, values, warn))

    # Transitions

    def _transition(self, event: Event) -> None:
        self.state = next_state(self.state, event)

    def _pause_ms(self) -> int:
        return round(self.settings.backoff.pause_s(max(self._failures - 1, 0)) * 1000)

    def _schedule_rejoin(self, reason: str, now_ms: int, *, at_once: bool) -> None:
        """Schedule another attempt to join, at once or after a pause."""
        self._failures += 1
        self._join_reason = reason
        self._retry_ms = (
            now_ms if at_once and self._failures <= IMMEDIATE_RETRIES else now_ms + self._pause_ms()
        )

    def _forget_coordinator(self) -> None:
        self._actions.append(ForgetCoordinator())

    def _reset(self, reason: str, *, forget_id: bool) -> None:
        """Lose the generation and all partitions: the coordinator does not know this member any more.

        :param forget_id: the coordinator does not know the member id either.
        """
        self._log("{member} of group {group} resets its generation: {reason}", reason=reason)
        self._transition(Event.RESET)
        self.generation = NO_GENERATION
        if forget_id:
            self.member_id = ""
        self._token = self._new_assignment = self._group_leader = None
        self._join_reason = reason
        self._heartbeat.stop()

    def _fail(self, error: KafkaTXError) -> None:
        """End the membership, once the application knows that its partitions are lost."""
        self._error = error
        self.generation = NO_GENERATION
        self._token = self._new_assignment = self._group_leader = None
        self._heartbeat.stop()

    def _end_failed(self, error: KafkaTXError) -> None:
        self._transition(Event.CLOSE)
        self._retry_ms = NEVER_MS
        self._actions.append(ReportFailure(error))
        if self._leaving is not None:
            self._actions.append(LeaveCompleted())
