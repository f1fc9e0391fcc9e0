"""Heartbeats, their responses, and concurrent events."""

from __future__ import annotations

from twisted.trial.unittest import SynchronousTestCase

from kafkatx.clientcore.errors import ConnectionFailed
from kafkatx.clientcore.group.assignors import COOPERATIVE_STICKY, RANGE
from kafkatx.clientcore.group.membership import State
from kafkatx.errors import ErrorCode
from kafkatx.group.protocol import parse_subscription
from kafkatx.wire.messages.heartbeat import HeartbeatRequest, HeartbeatResponse
from kafkatx.wire.messages.join_group import (
    JoinGroupRequest,
)
from kafkatx.wire.messages.sync_group import SyncGroupResponse
from tests.clientcore.group.membership.alone import COOPERATIVE, Alone
from tests.clientcore.group.membership.world import BEAT_MS, SESSION_MS


class HeartbeatTests(SynchronousTestCase):
    def test_interval(self) -> None:
        """Heartbeats are sent one at a time, an interval after the last one, with generation and ids."""
        member = Alone(group_instance_id="one").stable(0)
        member.pass_ms(BEAT_MS)
        self.assertEqual(member.last, HeartbeatRequest("g", 1, "me", "one"))
        member.pass_ms(BEAT_MS)
        self.assertEqual(len(member.sent(HeartbeatRequest)), 1)
        member.answer(HeartbeatResponse())
        member.wake()
        self.assertEqual(len(member.sent(HeartbeatRequest)), 2)

    def test_rebalance(self) -> None:
        """REBALANCE_IN_PROGRESS makes an eager member revoke all and join; a cooperative one just joins."""
        for assignors, kinds in (((RANGE,), ["assigned", "revoked"]), ((COOPERATIVE_STICKY,), ["assigned"])):
            member = Alone(assignors=assignors)
            member.subscribe("t")
            member.join(protocol=assignors[0].name)
            member.sync(0)
            member.pass_ms(BEAT_MS)
            member.answer(HeartbeatResponse(error_code=ErrorCode.REBALANCE_IN_PROGRESS))
            self.assertEqual((member.kinds, member.state), (kinds, State.JOINING))
            self.assertEqual(member.last.reason, "group is already rebalancing")
            self.assertEqual(member.last.member_id, "me")

    def test_unknown(self) -> None:
        """UNKNOWN_MEMBER_ID loses all partitions, and the member joins as a new one."""
        member = Alone(**COOPERATIVE)
        member.subscribe("t")
        member.join(protocol="cooperative-sticky")
        member.sync(0, 1)
        member.pass_ms(BEAT_MS)
        member.answer(HeartbeatResponse(error_code=ErrorCode.UNKNOWN_MEMBER_ID))
        self.assertEqual(member.calls[-1], ("lost", {("t", 0), ("t", 1)}))
        self.assertEqual((member.last.member_id, member.state, member.numbers), ("", State.JOINING, []))

    def test_illegal(self) -> None:
        """ILLEGAL_GENERATION loses all partitions, and the member joins with its member id."""
        member = Alone().stable(0)
        member.pass_ms(BEAT_MS)
        member.answer(HeartbeatResponse(error_code=ErrorCode.ILLEGAL_GENERATION))
        self.assertEqual((member.calls[-1], member.last.member_id), (("lost", {("t", 0)}), "me"))

    def test_fenced(self) -> None:
        """FENCED_INSTANCE_ID loses all partitions, and ends the membership."""
        member = Alone(group_instance_id="one").stable(0)
        member.pass_ms(BEAT_MS)
        member.answer(HeartbeatResponse(error_code=ErrorCode.FENCED_INSTANCE_ID))
        self.assertEqual((member.kinds, member.state), (["assigned", "lost"], State.CLOSED))
        self.assertIn("another member has joined with group.instance.id=one", str(member.errors[0]))

    def test_coordinator_moves(self) -> None:
        """The member stays in its generation while it looks for the coordinator."""
        member = Alone().stable(0)
        member.pass_ms(BEAT_MS)
        member.answer(HeartbeatResponse(error_code=ErrorCode.NOT_COORDINATOR))
        self.assertEqual((member.forgot, member.state), (1, State.STABLE))
        member.pass_ms(100)
        member.refuse(ConnectionFailed("x"))
        self.assertEqual((member.forgot, member.state), (2, State.STABLE))
        member.pass_ms(200)
        member.answer(HeartbeatResponse())
        self.assertEqual((len(member.sent(HeartbeatRequest)), member.kinds), (3, ["assigned"]))

    def test_recovers(self) -> None:
        """The pauses between attempts start again from the shortest after a response."""
        member = Alone().stable(0)
        member.pass_ms(BEAT_MS)
        for pause_ms in (100, 200):
            member.refuse(ConnectionFailed("x"))
            member.pass_ms(pause_ms)
        member.answer(HeartbeatResponse())
        member.pass_ms(BEAT_MS)
        member.refuse(ConnectionFailed("x"))
        self.assertEqual(member.machine.deadline_ms - member.world.now_ms, 100)

    def test_not_while_joining(self) -> None:
        """No heartbeats are sent while the member joins again, since its JoinGroup is pending."""
        member = Alone(**COOPERATIVE)
        member.subscribe("t")
        member.join(protocol="cooperative-sticky")
        member.sync(0)
        member.subscribe("t", "u")
        member.pass_ms(SESSION_MS)
        self.assertEqual((member.sent(HeartbeatRequest), member.forgot), ([], 0))

    def test_silence(self) -> None:
        """A coordinator without responses for a session is looked up again."""
        member = Alone().stable(0)
        member.pass_ms(SESSION_MS)
        self.assertEqual((member.forgot, len(member.sent(HeartbeatRequest))), (1, 1))
        member.pass_ms(100)
        self.assertEqual(len(member.sent(HeartbeatRequest)), 2)

    def test_late_answer(self) -> None:
        """A response to a heartbeat of an earlier generation is ignored."""
        member = Alone().stable(0)
        member.pass_ms(BEAT_MS)
        member.subscribe("t", "u")
        member.join(2)
        member.sync(0)
        member.answer(HeartbeatResponse(error_code=ErrorCode.UNKNOWN_MEMBER_ID), back=3)
        self.assertEqual(member.state, State.STABLE)

    def test_while_revoking(self) -> None:
        """Heartbeats continue while the application handles a revocation, and the generation stays."""
        member = Alone().stable(0)
        member.patient = True
        member.subscribe("t", "u")
        self.assertEqual((member.kinds, member.state), (["assigned", "revoked"], State.STABLE))
        for _ in range(5):
            member.pass_ms(BEAT_MS)
            member.answer(HeartbeatResponse(error_code=ErrorCode.REBALANCE_IN_PROGRESS))
        self.assertEqual(len(member.sent(HeartbeatRequest)), 5)
        self.assertEqual(member.machine.commit_identity(), (1, "me"))
        self.assertEqual(member.numbers, [0])
        member.finish()
        self.assertEqual((member.numbers, member.state), ([], State.JOINING))

    def test_lost_while_revoking(self) -> None:
        """Partitions lost while the application gives up others are reported afterwards."""
        member = Alone(**COOPERATIVE)
        member.subscribe("t", "u")
        member.join(protocol="cooperative-sticky")
        member.answer(
            SyncGroupResponse(
                assignment=b"\0\1\0\0\0\2\0\1t\0\0\0\1\0\0\0\0\0\1u\0\0\0\1\0\0\0\0\xff\xff\xff\xff"
            )
        )
        member.patient = True
        member.subscribe("t")
        self.assertEqual(member.calls[-1], ("revoked", {("u", 0)}))
        member.pass_ms(BEAT_MS)
        member.answer(HeartbeatResponse(error_code=ErrorCode.UNKNOWN_MEMBER_ID))
        self.assertEqual(member.kinds, ["assigned", "revoked"])
        member.finish()
        self.assertEqual(member.calls[-1], ("lost", {("t", 0)}))
        self.assertEqual(len(member.sent(JoinGroupRequest)), 1)
        member.finish()
        self.assertEqual(len(member.sent(JoinGroupRequest)), 2)


class CooperativeTests(SynchronousTestCase):
    def test_revokes_and_rejoins(self) -> None:
        """Partitions not in the new assignment are revoked, then new ones added, then the member rejoins."""
        member = Alone(**COOPERATIVE)
        member.subscribe("t")
        member.join(protocol="cooperative-sticky")
        member.sync(0, 1)
        member.pass_ms(BEAT_MS)
        member.answer(HeartbeatResponse(error_code=ErrorCode.REBALANCE_IN_PROGRESS))
        self.assertEqual(member.numbers, [0, 1])
        member.join(2, protocol="cooperative-sticky")
        member.sync(1, 2)
        self.assertEqual(member.calls[1:], [("revoked", {("t", 0)}), ("assigned", {("t", 2)})])
        self.assertEqual((member.numbers, member.state), ([1, 2], State.JOINING))
        self.assertEqual(member.last.reason, "need to revoke partitions and re-join")

    def test_keeps_while_retrying(self) -> None:
        """A member keeps its partitions while its JoinGroup fails with retriable errors."""
        member = Alone(**COOPERATIVE)
        member.subscribe("t")
        member.join(protocol="cooperative-sticky")
        member.sync(0)
        member.subscribe("t", "u")
        member.refuse(ConnectionFailed("x"))
        member.pass_ms(100)
        said = parse_subscription(member.last.protocols[0].metadata)
        self.assertEqual((member.kinds, said.generation_id), (["assigned"], 1))

    def test_mixed_is_eager(self) -> None:
        """A member revokes all partitions if one of the possible assignors is not cooperative."""
        member = Alone(assignors=(COOPERATIVE_STICKY, RANGE))
        member.subscribe("t")
        member.join(protocol="cooperative-sticky")
        member.sync(0)
        member.subscribe("t", "u")
        self.assertEqual(member.calls[-1], ("revoked", {("t", 0)}))
