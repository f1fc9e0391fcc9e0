"""Leaving the group, by request or by a time-out, and commits."""

from __future__ import annotations

from twisted.trial.unittest import SynchronousTestCase

from kafkatx.clientcore.errors import CommitFailed, ConnectionFailed
from kafkatx.clientcore.group.membership import NO_MEMBER, State
from kafkatx.errors import ErrorCode
from kafkatx.wire.messages.heartbeat import HeartbeatResponse
from kafkatx.wire.messages.join_group import (
    JoinGroupRequest,
)
from kafkatx.wire.messages.leave_group import LeaveGroupRequest, LeaveGroupResponse
from kafkatx.wire.messages.sync_group import SyncGroupResponse
from tests.clientcore.group.membership.alone import COOPERATIVE, Alone
from tests.clientcore.group.membership.world import BEAT_MS, NOW_MS, POLL_MS


class PollTests(SynchronousTestCase):
    def test_overdue(self) -> None:
        """A slow application loses all partitions; the member joins again with the next poll."""
        member = Alone().stable(0)
        member.poll()
        member.pass_ms(POLL_MS - 1)
        self.assertEqual(member.kinds, ["assigned"])
        member.pass_ms(1)
        (request,) = member.sent(LeaveGroupRequest)
        self.assertEqual((request.members[0].member_id, request.member_id), ("me", "me"))
        self.assertEqual(request.members[0].reason, "consumer poll timeout has expired.")
        self.assertEqual((member.calls[-1], member.state), (("lost", {("t", 0)}), State.UNJOINED))
        self.assertTrue(member.idle)
        joins = len(member.sent(JoinGroupRequest))
        member.pass_ms(POLL_MS)
        member.poll()
        self.assertEqual((len(member.sent(JoinGroupRequest)), member.last.member_id), (joins + 1, ""))

    def test_polls(self) -> None:
        """Each poll restarts the poll timer."""
        member = Alone().stable(0)
        for _ in range(3):
            member.poll()
            member.pass_ms(POLL_MS - 1)
        self.assertEqual(member.sent(LeaveGroupRequest), [])

    def test_waiting(self) -> None:
        """The poll timer stands still while the application waits for records, and before the first poll."""
        member = Alone().stable(0)
        member.pass_ms(POLL_MS * 2)
        member.poll()
        member.poll(waiting=True)
        member.pass_ms(POLL_MS * 2)
        self.assertEqual((member.sent(LeaveGroupRequest), member.state), ([], State.STABLE))

    def test_static(self) -> None:
        """A static member that times out sends no LeaveGroup: its session ends."""
        member = Alone(group_instance_id="one").stable(0)
        member.poll()
        member.pass_ms(POLL_MS)
        self.assertEqual((member.sent(LeaveGroupRequest), member.kinds[-1]), ([], "lost"))
        self.assertTrue(member.idle)

    def test_while_revoking(self) -> None:
        """The poll timer runs while the application handles a revocation."""
        member = Alone().stable(0)
        member.poll()
        member.patient = True
        member.subscribe("u")
        member.pass_ms(POLL_MS)
        self.assertEqual((member.kinds, len(member.sent(LeaveGroupRequest))), (["assigned", "revoked"], 1))
        member.finish()
        self.assertEqual((member.kinds[-1], member.state), ("revoked", State.UNJOINED))


class LeavingTests(SynchronousTestCase):
    def test_close(self) -> None:
        """A leave revokes partitions, then tells the coordinator, then completes."""
        member = Alone().stable(0)
        member.patient = True
        member.close()
        self.assertEqual((member.calls[-1], member.sent(LeaveGroupRequest)), (("revoked", {("t", 0)}), []))
        self.assertEqual(member.machine.commit_identity(), (1, "me"))
        member.finish()
        self.assertEqual(
            (member.state, member.last.members[0].reason), (State.LEAVING, "the consumer is being closed")
        )
        member.answer(LeaveGroupResponse())
        self.assertEqual((member.state, member.left, member.idle), (State.CLOSED, 1, True))
        member.close()
        self.assertEqual(member.left, 2)

    def test_unsubscribe(self) -> None:
        """A member that has left may subscribe again."""
        member = Alone().stable(0)
        member.do(member.machine.unsubscribe(NOW_MS))
        member.answer(LeaveGroupResponse(error_code=ErrorCode.UNKNOWN_MEMBER_ID))
        self.assertEqual((member.state, member.left, member.machine.member_id), (State.UNJOINED, 1, ""))
        self.assertTrue(member.idle)
        self.assertEqual(member.machine.commit_identity(), NO_MEMBER)
        member.subscribe("t")
        self.assertEqual((member.state, member.last.member_id), (State.JOINING, ""))

    def test_subscribe_while_leaving(self) -> None:
        """A subscription during a leave makes the member join when it has left."""
        member = Alone().stable(0)
        member.do(member.machine.unsubscribe(NOW_MS))
        member.subscribe("u")
        self.assertEqual(member.state, State.LEAVING)
        member.answer(LeaveGroupResponse())
        self.assertEqual(member.state, State.JOINING)

    def test_close_while_unsubscribing(self) -> None:
        """A close during a leave is permanent."""
        member = Alone().stable(0)
        member.do(member.machine.unsubscribe(NOW_MS))
        member.close()
        member.answer(LeaveGroupResponse())
        self.assertEqual((member.state, member.left), (State.CLOSED, 1))

    def test_unsubscribe_while_closing(self) -> None:
        """An unsubscribe after a close does not undo it."""
        member = Alone().stable(0)
        member.close()
        member.do(member.machine.unsubscribe(NOW_MS))
        member.answer(LeaveGroupResponse())
        self.assertEqual(member.state, State.CLOSED)

    def test_unreachable(self) -> None:
        """A member whose LeaveGroup fails has left nevertheless."""
        member = Alone().stable(0)
        member.close()
        member.refuse(ConnectionFailed("gone"))
        self.assertEqual((member.state, member.left), (State.CLOSED, 1))

    def test_static(self) -> None:
        """A static member that leaves keeps its place, and sends no LeaveGroup."""
        member = Alone(group_instance_id="one").stable(0)
        member.close()
        self.assertEqual((member.sent(LeaveGroupRequest), member.state, member.left), ([], State.CLOSED, 1))

    def test_never_joined(self) -> None:
        """A member that was never in a group sends no LeaveGroup."""
        member = Alone()
        member.close()
        self.assertEqual((member.asked, member.state, member.left), ([], State.CLOSED, 1))

    def test_while_joining(self) -> None:
        """A cooperative member that leaves during a rebalance cannot commit: its partitions are lost."""
        member = Alone(**COOPERATIVE)
        member.subscribe("t")
        member.join(protocol="cooperative-sticky")
        member.sync(0)
        member.subscribe("t", "u")
        member.close()
        self.assertEqual((member.kinds[-1], member.state), ("lost", State.LEAVING))

    def test_fails_while_leaving(self) -> None:
        """A membership that fails while the application revokes partitions has also left."""
        member = Alone(group_instance_id="one").stable(0)
        member.patient = True
        member.close()
        member.pass_ms(BEAT_MS)
        member.answer(HeartbeatResponse(error_code=ErrorCode.FENCED_INSTANCE_ID))
        member.finish()
        self.assertEqual((member.left, len(member.errors), member.state), (1, 1, State.CLOSED))


class CommittingTests(SynchronousTestCase):
    def test_identity(self) -> None:
        """A member commits with its generation, and an application outside of the group without one."""
        member = Alone()
        self.assertEqual(member.machine.commit_identity(), NO_MEMBER)
        self.assertEqual(member.stable(0).machine.commit_identity(), (1, "me"))

    def test_rebalance(self) -> None:
        """Commits are refused during a rebalance and after the end of the membership."""
        member = Alone()
        member.subscribe("t")
        error = self.assertRaises(CommitFailed, member.machine.commit_identity)
        self.assertEqual(error.code, ErrorCode.REBALANCE_IN_PROGRESS)
        member.join()
        self.assertRaises(CommitFailed, member.machine.commit_identity)
        member.answer(SyncGroupResponse(error_code=ErrorCode.NOT_COORDINATOR))
        error = self.assertRaises(CommitFailed, member.machine.commit_identity)
        self.assertEqual(error.code, ErrorCode.UNKNOWN_MEMBER_ID)

    def refused(self, code: ErrorCode, generation: int = 1) -> Alone:
        """Return a member whose commit is refused with *code*."""
        member = Alone(group_instance_id="one").stable(0)
        member.do(member.machine.commit_failed(code, generation, "me", NOW_MS))
        return member

    def test_refused(self) -> None:
        """The error of a commit changes the state of the member."""
        self.assertEqual(self.refused(ErrorCode.REBALANCE_IN_PROGRESS).state, State.JOINING)
        self.assertEqual(self.refused(ErrorCode.UNKNOWN_MEMBER_ID).kinds[-1], "lost")
        self.assertEqual(self.refused(ErrorCode.ILLEGAL_GENERATION).kinds[-1], "lost")
        self.assertEqual(self.refused(ErrorCode.FENCED_INSTANCE_ID).state, State.CLOSED)
        self.assertEqual(self.refused(ErrorCode.OFFSET_METADATA_TOO_LARGE).state, State.STABLE)

    def test_refused_before(self) -> None:
        """A commit of an ended generation says nothing about the current one."""
        self.assertEqual(self.refused(ErrorCode.UNKNOWN_MEMBER_ID, generation=0).kinds, ["assigned"])
