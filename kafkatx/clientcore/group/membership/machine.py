"""One member of a consumer group, sans-I/O: events and time in, actions out.

Whoever drives it calls a method for each event, does the actions that it gives in their order, and calls
:meth:`MemberMachine.advance` at :attr:`MemberMachine.deadline_ms`. The rules are those of Apache Kafka's
``AbstractCoordinator`` and ``ConsumerCoordinator``:

*   eager: all partitions are revoked before the member joins (KIP-54's world); cooperative: only those of
    topics that are not subscribed to any more, and after the assignment those that are not in it; then the
    member joins once more, so that they get a new owner (KIP-429).
*   UNKNOWN_MEMBER_ID and ILLEGAL_GENERATION lose all partitions. FENCED_INSTANCE_ID ends the membership.
*   The leader joins again when topics of the group have other partitions than it shared out, every member
    when its subscription is another.
*   A member whose application takes longer than ``max.poll.interval.ms`` leaves, and joins again when more
    is asked for (KIP-62). Static members do not leave; their session ends (KIP-345).

The application hears of one change at a time, and the next step waits until it is done with it; heartbeats
go on meanwhile. Two things differ from Apache Kafka's: that partitions are lost is told at once, not by
the next ``poll``; and nothing is told where the partitions of a revocation would be none.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from typing import Any

from kafkatx.clientcore.errors import CommitFailed, retriable
from kafkatx.clientcore.group.membership.actions import NEVER_MS, Action, Change, Left, Watch
from kafkatx.clientcore.group.membership.core import NO_GENERATION
from kafkatx.clientcore.group.membership.join import Joining
from kafkatx.clientcore.group.membership.refusals import ELSEWHERE, RESETS, fatal
from kafkatx.clientcore.group.membership.states import Event, State
from kafkatx.errors import ErrorCode, KafkaTXError
from kafkatx.wire.messages.heartbeat import HeartbeatRequest, HeartbeatResponse
from kafkatx.wire.messages.join_group import JoinGroupResponse
from kafkatx.wire.messages.leave_group import LeaveGroupRequest, MemberIdentity
from kafkatx.wire.messages.sync_group import SyncGroupResponse

NOBODY = (NO_GENERATION, "")
"""Generation and member id of a commit from outside of the group."""


class MemberMachine(Joining):
    """The machine. It begins without a subscription, and so joins nothing."""

    # What the application wants

    def subscribe(
        self, topics: Collection[str], now_ms: int, matches: Callable[[str], bool] | None = None
    ) -> list[Action]:
        """Want these topics from now on, instead of those before.

        :param matches: where they are those that match a pattern: whether another one does, too.
        """
        if self._topics is None:
            self._reason = "the consumer has subscribed"
        self._topics, self._matches = frozenset(topics), matches
        return self._go(now_ms)

    def unsubscribe(self, now_ms: int) -> list[Action]:
        """Leave the group; :class:`Left` comes when that is done. One may subscribe again after it."""
        return self._begin_leaving(Event.LEFT, now_ms)

    def close(self, now_ms: int) -> list[Action]:
        """Leave the group for good; :class:`Left` comes when that is done."""
        return self._begin_leaving(Event.CLOSE, now_ms)

    def _begin_leaving(self, event: Event, now_ms: int) -> list[Action]:
        if self.state is State.CLOSED:
            self._out.append(Left())
        else:
            self._leaving = Event.CLOSE if self._leaving is Event.CLOSE else event
            self._topics = self._matches = self._reason = None
        return self._go(now_ms)

    def polled(self, waiting: bool, now_ms: int, since_ms: int | None = None) -> list[Action]:
        """The application asks for records: ``max.poll.interval.ms`` begins anew.

        :param waiting: there are none, and it waits: the time stands still until the next call.
        :param since_ms: it begins then; None: now.
        """
        if self._patience.polled(waiting, now_ms if since_ms is None else since_ms):
            self._reason = "the application asks for records again"
        return self._go(now_ms)

    def committing(self) -> tuple[int, str]:
        """Generation and member id to commit by; of nobody, if this is no member and does not want to be.

        :raises CommitFailed: it is none now, or is joining: REBALANCE_IN_PROGRESS, UNKNOWN_MEMBER_ID.
        """
        if self.state is State.STABLE and self.generation != NO_GENERATION:
            return self.generation, self.member_id
        if self._topics is None and not self.owned and self._leaving is None:
            return NOBODY
        if self.state in (State.JOINING, State.SYNCING):
            raise CommitFailed(
                ErrorCode.REBALANCE_IN_PROGRESS,
                f"group {self.settings.group_id!r} rebalances: commit again when partitions are assigned",
            )
        raise CommitFailed(
            ErrorCode.UNKNOWN_MEMBER_ID,
            f"this consumer is out of group {self.settings.group_id!r}, and others have its partitions: "
            "give max.poll.interval.ms more time, or max.poll.records fewer records",
        )

    # What comes from outside

    def answered(self, token: int, response: Any, now_ms: int) -> list[Action]:
        """The answer to a request of :class:`Ask`. One that nobody waits for any more is ignored."""
        if token == self._pulse.token:
            self._beaten(response, now_ms)
        elif token == self._token:
            self._token = None
            if self.state is State.LEAVING:
                self._end_leaving()
            elif isinstance(response, JoinGroupResponse):
                self._joined(response, now_ms)
            elif isinstance(response, SyncGroupResponse):
                self._synced(response, now_ms)
        return self._go(now_ms)

    def failed(self, token: int, error: Exception, now_ms: int) -> list[Action]:
        """There is no answer, or topics could not be looked at; *error* tells why."""
        known = error if isinstance(error, KafkaTXError) else KafkaTXError(f"group coordination: {error!r}")
        if token not in (self._token, self._pulse.token) or self.state is State.CLOSED:
            return self._done()
        if self.state is State.LEAVING:  # whoever cannot say good-bye is missed after its session
            self._token = None
            self._end_leaving()
        elif not retriable(error):
            self._fail(known)
        else:
            self._forget()
            if token == self._pulse.token:
                self._failures += 1
                self._pulse.again(now_ms + self._pause_ms())
            else:
                self._token = None
                self._move(Event.REFUSED)
                self._again(f"rebalance failed due to {type(error).__name__}", now_ms, at_once=False)
        return self._go(now_ms)

    def looked(self, token: int, counts: Mapping[str, int], now_ms: int) -> list[Action]:
        """How many partitions the topics of :class:`Look` have; without those that are not there."""
        if token == self._token and self._lead is not None:
            self._token = None
            self._share_out(self._lead, dict(counts))
        return self._go(now_ms)

    def metadata(self, counts: Mapping[str, int], now_ms: int) -> list[Action]:
        """How many partitions topics have now, at least those of :class:`Watch`."""
        if self._lead is not None and self._lead.outdated(counts) and self._reason is None:
            self._reason = "cached metadata has changed"
        return self._go(now_ms)

    def called(self, now_ms: int) -> list[Action]:
        """The application is done with the last :class:`Call`."""
        call, self._calling = self._calling, None
        if call is not None and call.change is not Change.ASSIGNED:
            self.owned -= call.partitions
        return self._go(now_ms)

    def commit_refused(self, code: ErrorCode, generation: int, member_id: str, now_ms: int) -> list[Action]:
        """A commit by this generation and member id was answered with an error."""
        if self.state is State.STABLE and (generation, member_id) == (self.generation, self.member_id):
            if code is ErrorCode.REBALANCE_IN_PROGRESS:
                self._reason = self._reason or "offset commit failed since group is already rebalancing"
            elif code in RESETS:
                self._lose(code)
            elif code is ErrorCode.FENCED_INSTANCE_ID:
                self._fail(fatal(code, self.settings))
        return self._go(now_ms)

    # Time

    def advance(self, now_ms: int) -> list[Action]:
        """Time has passed: send a heartbeat, try again, or leave."""
        if self._pulse.silent_ms <= now_ms:
            self._tell("group {group}: the coordinator has been silent for a session", warn=True)
            self._forget()
            self._pulse.heard(now_ms)
            self._pulse.again(now_ms + self._pause_ms())
        if self._is_member and self._patience.over_ms <= now_ms:
            self._overdue()
        elif self._pulse.token is None and self._pulse.due_ms <= now_ms:
            self._beat(now_ms)
        return self._go(now_ms)

    def _beat(self, now_ms: int) -> None:
        request = HeartbeatRequest(
            self.settings.group_id, self.generation, self.member_id, self.settings.group_instance_id
        )
        self._pulse.sent(self._ask(request), now_ms)

    def _beaten(self, response: HeartbeatResponse, now_ms: int) -> None:
        code = ErrorCode.of(response.error_code)
        if code in (ErrorCode.NONE, ErrorCode.REBALANCE_IN_PROGRESS):
            self._pulse.heard(now_ms)
            self._failures = 0
            if code and self.state is State.STABLE:
                self._reason = self._reason or "group is already rebalancing"
        elif code in RESETS:
            self._lose(code)
        elif code.retriable:
            if code in ELSEWHERE:
                self._forget()
            self._failures += 1
            self._pulse.again(now_ms + self._pause_ms())
        else:
            self._fail(fatal(code, self.settings))

    def _lose(self, code: ErrorCode) -> None:
        self._reset(
            f"encountered {code.name} from the coordinator", forget_id=code is ErrorCode.UNKNOWN_MEMBER_ID
        )

    def _overdue(self) -> None:
        """The application has taken too long: leave, so that somebody else does its work."""
        self._tell(
            "{member} leaves group {group}: its application has not asked for records for {interval} ms; "
            "give max.poll.interval.ms more, or max.poll.records less",
            warn=True,
            interval=self._patience.interval_ms,
        )
        self._patience.end()
        if self.settings.group_instance_id is None:
            request = self._leave_request("consumer poll timeout has expired.")
            self._ask(request, aside=self._waits_for_others)
        self._reset("consumer poll timeout has expired", forget_id=True)

    # The next step

    def _go(self, now_ms: int) -> list[Action]:
        """Take steps until one has to be waited for."""
        while self._step(now_ms):
            pass
        return self._done()

    def _step(self, now_ms: int) -> bool:
        """Take the next step; tell whether another may follow at once."""
        if self._calling is not None or self.state in (State.CLOSED, State.LEAVING):
            return False
        if self.owned and self.generation == NO_GENERATION:
            self._call(Change.LOST, self.owned)
        elif self._error is not None:
            self._end_failed(self._error)
        elif self._leaving is not None:
            return self._leave()
        elif self._target is not None:
            self._adopt(self._target)
        elif self._is_due_to_join(now_ms):
            self._prepare(now_ms)
        return False

    def _adopt(self, target: frozenset[Any]) -> None:
        """Come to the assignment: give up what is not in it, then take what is new."""
        revoked = self.owned - target
        if revoked:
            self._reason = "need to revoke partitions and re-join"
            self._call(Change.REVOKED, revoked)
        else:
            added, self.owned, self._target = target - self.owned, target, None
            self._call(Change.ASSIGNED, added)

    def _is_due_to_join(self, now_ms: int) -> bool:
        if self.state is State.STABLE and self._reason is None and self._topics != self._joined_topics:
            self._reason = "subscription has changed"
        return self._wants_to_join and self._retry_ms <= now_ms

    def _prepare(self, now_ms: int) -> None:
        """Give up what must be given up before joining, and join."""
        topics = self._topics or frozenset()
        revoked = self.owned
        if self.settings.cooperative:
            revoked = frozenset(at for at in self.owned if at.topic not in topics)
        if revoked:
            self._call(Change.REVOKED, revoked)
        else:
            self._join(topics, now_ms)

    # The way out

    def _leave(self) -> bool:
        """Give up all partitions, say good-bye if that is due, and end."""
        if self.owned:
            self._call(Change.REVOKED if self.state is State.STABLE else Change.LOST, self.owned)
            return False
        self._pulse.stop()
        self._target = self._lead = None
        self._out.append(Watch(frozenset()))
        if self.member_id and self.settings.group_instance_id is None:
            aside = self._waits_for_others
            self._move(Event.LEAVE)
            self._token = self._ask(self._leave_request("the consumer is being closed"), aside=aside)
            return False
        self._end_leaving()
        return True

    @property
    def _waits_for_others(self) -> bool:
        """Whether a JoinGroup or SyncGroup is answered only when others have come, a dead member perhaps."""
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
        self._move(event)
        self._out.append(Left())
