"""Tests of kafkatx.clientcore.group.membership.member_state."""

from __future__ import annotations

from twisted.trial.unittest import SynchronousTestCase

from kafkatx.clientcore.backoff import Backoff
from kafkatx.clientcore.group.membership import (
    NEVER_MS,
    AssignmentChange,
    Event,
    LeaveCompleted,
    LogMessage,
    MemberSettings,
    NotifyApplication,
    ReportFailure,
    SendRequest,
    State,
)
from kafkatx.clientcore.group.membership.member_state import IMMEDIATE_RETRIES, NO_GENERATION, MemberState
from kafkatx.errors import KafkaTXError
from kafkatx.types import TopicPartition
from kafkatx.wire.messages.heartbeat import HeartbeatRequest

T0 = TopicPartition("t", 0)


class MemberStateTests(SynchronousTestCase):
    def setUp(self) -> None:
        """Make a new member, with heartbeats of 10 ms, a session of 100 ms and a poll interval of 50 ms."""
        self.state = MemberState(
            MemberSettings(
                "g",
                heartbeat_interval_ms=10,
                session_timeout_ms=100,
                max_poll_interval_ms=50,
                backoff=Backoff(first_ms=1000, longest_ms=1000, jitter=0.0),
            )
        )

    def stable(self) -> MemberState:
        """Return a member that has joined at 0, with one partition."""
        state = self.state
        state.state, state.generation, state.member_id = State.STABLE, 3, "me"
        state.owned = frozenset({T0})
        state._topics = frozenset({"t"})
        state._heartbeat.start(0)
        return state

    def test_deadline(self) -> None:
        """The deadline is the earliest of heartbeat, poll timer and retry, as far as they count."""
        self.assertEqual((self.state.deadline_ms, self.state.subscribed), (NEVER_MS, False))
        state = self.stable()
        self.assertEqual((state.deadline_ms, state.subscribed), (10, True))
        state._poll_timer.polled(False, -45)
        self.assertEqual(state.deadline_ms, 5)
        state._join_reason, state._retry_ms = "test", 3
        self.assertEqual(state.deadline_ms, 3)

    def test_no_rejoin_while_notifying(self) -> None:
        """A member does not join while the application handles a change, or after its poll timer expired."""
        state = self.stable()
        state._join_reason, state._retry_ms = "test", 3
        state._notify(AssignmentChange.REVOKED, frozenset({T0}))
        self.assertEqual(
            state._take_actions(), [NotifyApplication(AssignmentChange.REVOKED, frozenset({T0}))]
        )
        self.assertFalse(state._wants_to_join)
        state._notifying = None
        self.assertTrue(state._wants_to_join)
        state._poll_timer.expire()
        self.assertFalse(state._wants_to_join)

    def test_tokens(self) -> None:
        """Each request has a token of its own; actions are taken once, in order."""
        requests = [HeartbeatRequest("g", generation, "me") for generation in (1, 2)]
        tokens = [self.state._send(request, timeout_ms=9) for request in requests]
        self.assertNotEqual(*tokens)
        sent = [SendRequest(*pair, 9) for pair in zip(tokens, requests, strict=True)]
        self.assertEqual((self.state._take_actions(), self.state._take_actions()), (sent, []))

    def test_retries(self) -> None:
        """A few failed attempts are repeated at once, the next ones after a pause."""
        pauses = []
        for _ in range(IMMEDIATE_RETRIES + 1):
            self.state._schedule_rejoin("test", 500, at_once=True)
            pauses.append(self.state._retry_ms - 500)
        self.assertEqual(pauses, [0] * IMMEDIATE_RETRIES + [1000])
        self.state._schedule_rejoin("test", 500, at_once=False)
        self.assertEqual(self.state._retry_ms, 1500)

    def test_reset(self) -> None:
        """A reset drops the generation and stops heartbeats; an unknown member id is dropped, too."""
        for forget_id, member_id in ((False, "me"), (True, "")):
            self.setUp()
            state = self.stable()
            state._reset("test", forget_id=forget_id)
            self.assertEqual((state.state, state.generation), (State.UNJOINED, NO_GENERATION))
            self.assertEqual((state.member_id, state._heartbeat.deadline_ms), (member_id, NEVER_MS))
            self.assertEqual(state.owned, {T0})  # until the application has been told of the loss
            (message,) = state._take_actions()
            assert isinstance(message, LogMessage)
            self.assertEqual(dict(message.values), {"reason": "test"})

    def test_failure(self) -> None:
        """A failed member reports its error at its end, and completes a leave that was under way."""
        state, error = self.stable(), KafkaTXError("test")
        state._fail(error)
        self.assertEqual((state.error, state.generation, state._take_actions()), (error, NO_GENERATION, []))
        state._leaving = Event.LEFT
        state._end_failed(error)
        self.assertEqual(state._take_actions(), [ReportFailure(error), LeaveCompleted()])
        self.assertEqual((state.state, state.deadline_ms), (State.CLOSED, NEVER_MS))
