"""When a member shows that it lives, and when it is taken for dead: times, and nothing else."""

from __future__ import annotations

import attrs

from kafkatx.clientcore.group.membership.actions import NEVER_MS


@attrs.define
class HeartbeatTimer:
    """The heartbeats of a member that has joined (Apache Kafka's ``Heartbeat``).

    :ivar due_ms: when the next heartbeat is to be sent, if none is under way.
    :ivar session_deadline_ms: when the coordinator is given up: no heartbeat was answered for a session.
    """

    interval_ms: int
    session_ms: int
    due_ms: int = NEVER_MS
    session_deadline_ms: int = NEVER_MS
    token: int | None = None
    """Of the heartbeat under way."""

    @property
    def deadline_ms(self) -> int:
        """When something is to be done."""
        return min(self.session_deadline_ms, NEVER_MS if self.token is not None else self.due_ms)

    def start(self, now_ms: int) -> None:
        """The member has joined: its session begins."""
        self.token = None
        self.due_ms = now_ms + self.interval_ms
        self.session_deadline_ms = now_ms + self.session_ms

    def stop(self) -> None:
        """It is no member now, or waits for the others to join."""
        self.token = None
        self.due_ms = self.session_deadline_ms = NEVER_MS

    def sent(self, token: int, now_ms: int) -> None:
        """A heartbeat is under way; the next is due an interval after it was sent, not after its answer."""
        self.token = token
        self.due_ms = now_ms + self.interval_ms

    def answered(self, now_ms: int) -> None:
        """It was answered."""
        self.token = None
        self.session_deadline_ms = now_ms + self.session_ms

    def retry_at(self, due_ms: int) -> None:
        """It was not, or in vain: try again then."""
        self.token = None
        self.due_ms = due_ms


@attrs.define
class PollTimer:
    """How long the application may work on what it was given (``max.poll.interval.ms``, KIP-62).

    :ivar deadline_ms: when it is over; NEVER_MS while the application waits for records.
    :ivar expired: it was over: the member has left, and joins again when the application asks for more.
    """

    interval_ms: int
    deadline_ms: int = NEVER_MS
    expired: bool = False

    def polled(self, waiting: bool, now_ms: int) -> bool:
        """The application asks for more; tell whether that wakes the member up."""
        self.deadline_ms = NEVER_MS if waiting else now_ms + self.interval_ms
        woken, self.expired = self.expired, False
        return woken

    def expire(self) -> None:
        """It was too long."""
        self.deadline_ms = NEVER_MS
        self.expired = True
