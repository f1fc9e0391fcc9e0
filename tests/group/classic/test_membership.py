"""Membership of a classic group: checks of requests, sessions, removal, and the stored record."""

from __future__ import annotations

from twisted.trial.unittest import SynchronousTestCase

from kafkatx.errors import ErrorCode
from kafkatx.group.actions import NEVER_MS, Answer, LogLine
from kafkatx.group.classic.member import Member
from kafkatx.group.classic.membership import Membership
from kafkatx.group.classic.outbox import Outbox
from kafkatx.group.classic.records import decode_key, decode_value
from kafkatx.group.classic.states import Event, State
from tests.group.classic.driver import subscription

NOW_MS, WALL_MS = 1000, 5000


def member(name: str, instance: str | None = None, session_ms: int = 100) -> Member:
    """Return a member that offers ``range`` with a subscription to a topic of its own name."""
    protocols = (("range", subscription(name)),)
    return Member(name, instance, "c", "/host", 60_000, session_ms, protocols, assignment=b"part")


class MembershipTests(SynchronousTestCase):
    def setUp(self) -> None:
        """Make a stable group of a dynamic and a static member."""
        self.outbox = Outbox()
        self.membership = Membership("g", self.outbox, lambda: WALL_MS)
        self.a, self.b = member("a"), member("b", "i", 300)
        self.membership.reset([self.a, self.b], "consumer", 7, NOW_MS)

    def test_reset(self) -> None:
        """A reset group with members is stable and their sessions begin; without members it is empty."""
        self.assertEqual((self.membership.state, self.membership.generation), (State.STABLE, 7))
        self.assertEqual((self.a.deadline_ms, self.b.deadline_ms), (NOW_MS + 100, NOW_MS + 300))
        self.assertEqual((self.membership.sessions_ms, self.membership.assigned_bytes), (NOW_MS + 100, 8))
        self.membership.reset([], "consumer", 8, NOW_MS)
        self.assertEqual((self.membership.state, self.membership.sessions_ms), (State.EMPTY, NEVER_MS))

    def test_check_member(self) -> None:
        """Dynamic members are checked by their ids; static ones are fenced if the id is another's."""
        check = self.membership.check_member
        self.assertEqual(check("a", None), ErrorCode.NONE)
        self.assertEqual(check("b", "i"), ErrorCode.NONE)
        self.assertEqual(check("c", None), ErrorCode.UNKNOWN_MEMBER_ID)
        self.assertEqual(check("a", "i"), ErrorCode.FENCED_INSTANCE_ID)
        self.assertEqual(check("a", "other"), ErrorCode.UNKNOWN_MEMBER_ID)

    def test_dead(self) -> None:
        """A dead group answers that the coordinator has moved."""
        self.membership.move(Event.UNLOADED)
        self.assertEqual(self.membership.check_member("a", None), ErrorCode.COORDINATOR_NOT_AVAILABLE)

    def test_check_generation(self) -> None:
        """Membership is checked before the generation."""
        check = self.membership.check_generation
        self.assertEqual(check("a", None, 7), ErrorCode.NONE)
        self.assertEqual(check("a", None, 6), ErrorCode.ILLEGAL_GENERATION)
        self.assertEqual(check("c", None, 6), ErrorCode.UNKNOWN_MEMBER_ID)

    def test_heartbeats_do_not_move_the_check(self) -> None:
        """A heartbeat moves the member's deadline, but not the time of the next check of all sessions."""
        self.membership.touch(self.a, NOW_MS + 50)
        self.assertEqual((self.a.deadline_ms, self.membership.sessions_ms), (NOW_MS + 150, NOW_MS + 100))

    def test_expire(self) -> None:
        """Only members and pending ids whose sessions have ended are removed, with a line in the log."""
        self.membership.roster.expect("p", NOW_MS + 100)
        self.assertEqual(self.membership.expire(NOW_MS + 99), 0)
        self.assertEqual(self.membership.expire(NOW_MS + 100), 1)
        self.assertEqual((list(self.membership.members), self.membership.roster.pending), (["b"], {}))
        (line,) = self.outbox.take()
        assert isinstance(line, LogLine)
        self.assertTrue(line.warn)
        self.assertEqual(line.values["member"], "a")

    def test_remove_answers(self) -> None:
        """Waiting requests of a removed member are answered so that it joins again, without an id."""
        self.a.join_token, self.a.sync_token = "join", "sync"
        self.membership.remove(self.a, "test")
        answers = [action for action in self.outbox.take() if isinstance(action, Answer)]
        self.assertEqual([answer.token for answer in answers], ["join", "sync"])
        for answer in answers:
            self.assertEqual(answer.response.error_code, ErrorCode.UNKNOWN_MEMBER_ID)
        self.assertEqual(answers[0].response.member_id, "")

    def test_subscriptions(self) -> None:
        """The subscribed topics are those of all members; of other protocol types they are unknown."""
        self.membership.select_protocol()
        self.assertEqual(self.membership.protocol_name, "range")
        self.assertEqual(self.membership.subscribed, {"a", "b"})
        self.membership.protocol_type = "connect"
        self.membership.read_subscriptions()
        self.assertIsNone(self.membership.subscribed)

    def test_record(self) -> None:
        """The record has the members with their assignments, or with those that are being stored."""
        self.membership.select_protocol()
        record = self.membership.record()
        value = decode_value(record.value or b"")
        self.assertEqual((decode_key(record.key), value.generation, value.leader), ("g", 7, "a"))
        self.assertEqual([m.assignment for m in value.members], [b"part", b"part"])
        value = decode_value(self.membership.record({"b": b"new"}).value or b"")
        self.assertEqual([m.assignment for m in value.members], [b"", b"new"])

    def test_move(self) -> None:
        """A change of state is stamped with the wall clock; one that the table lacks raises an error."""
        self.membership.move(Event.REBALANCE)
        self.assertEqual(
            (self.membership.state, self.membership.state_since_ms), (State.PREPARING_REBALANCE, WALL_MS)
        )
        self.assertRaises(RuntimeError, self.membership.move, Event.ASSIGNED)
