"""Tests of kafkatx.clientcore.legacy.zookeeper.member."""

from __future__ import annotations

from twisted.trial.unittest import SynchronousTestCase

from kafkatx.clientcore.legacy.zookeeper.member import GroupMember, Step


class GroupMemberTests(SynchronousTestCase):
    def setUp(self) -> None:
        """Make a member that has not joined."""
        self.member = GroupMember(backoff_s=2.0, max_retries=2)

    def balance(self) -> None:
        """Take the member to its first balance."""
        self.member.connected()
        self.member.registered()
        self.member.rebalance_started()
        self.member.balanced()

    def test_join(self) -> None:
        """A member registers, rebalances, and waits."""
        self.assertIs(self.member.next(0), Step.REGISTER)
        self.member.connected()
        self.member.registered()
        self.assertIs(self.member.next(0), Step.REBALANCE)
        self.member.rebalance_started()
        self.member.balanced()
        self.assertIs(self.member.next(0), Step.WAIT)
        self.assertIsNone(self.member.wait_s(0))

    def test_change_meanwhile(self) -> None:
        """A change during a rebalance asks for one more; several ask for one."""
        self.balance()
        self.member.changed()
        self.member.rebalance_started()
        self.member.changed()
        self.member.changed()
        self.member.balanced()
        self.assertIs(self.member.next(0), Step.REBALANCE)
        self.member.rebalance_started()
        self.member.balanced()
        self.assertIs(self.member.next(0), Step.WAIT)

    def test_failed(self) -> None:
        """A failed rebalance is repeated after the pause, also if there are changes, and told once."""
        self.member.connected()
        self.member.registered()
        told = []
        for attempt in range(4):
            self.member.rebalance_started()
            told.append(self.member.failed(attempt * 2.0))
            self.member.changed()
            self.assertIs(self.member.next(attempt * 2.0 + 1), Step.WAIT)
            self.assertEqual(self.member.wait_s(attempt * 2.0 + 1), 1.0)
            self.assertIs(self.member.next(attempt * 2.0 + 2), Step.REBALANCE)
        self.assertEqual(told, [False, True, False, False])

    def test_told_again(self) -> None:
        """After a success failures are counted anew."""
        self.member.failed(0)
        self.balance()
        self.assertEqual([self.member.failed(0), self.member.failed(0)], [False, True])

    def test_suspended(self) -> None:
        """Without a connection the member keeps its partitions and waits; then it looks for changes."""
        self.balance()
        self.member.suspended()
        self.member.changed()
        self.assertIs(self.member.next(0), Step.WAIT)
        self.member.connected()
        self.assertIs(self.member.next(0), Step.REBALANCE)

    def test_lost(self) -> None:
        """After the end of its session the member drops its partitions, and registers anew."""
        self.balance()
        self.member.session_lost()
        self.assertIs(self.member.next(0), Step.DROP)
        self.member.dropped()
        self.assertIs(self.member.next(0), Step.REGISTER)

    def test_unregistered(self) -> None:
        """A member whose node was deleted registers again, after the pause, and then rebalances."""
        self.balance()
        self.member.unregistered()
        self.member.failed(0)
        self.assertIs(self.member.next(1), Step.WAIT)
        self.assertIs(self.member.next(2), Step.REGISTER)
        self.member.registered()
        self.assertIs(self.member.next(2), Step.REBALANCE)

    def test_lost_while_registering(self) -> None:
        """A node that was created in a session that is lost does not count."""
        self.member.connected()
        self.member.session_lost()
        self.member.registered()
        self.member.dropped()
        self.assertIs(self.member.next(0), Step.REGISTER)

    def test_leave(self) -> None:
        """A member that is to leave does nothing else."""
        self.balance()
        self.member.session_lost()
        self.member.leave()
        self.assertIs(self.member.next(0), Step.LEAVE)
