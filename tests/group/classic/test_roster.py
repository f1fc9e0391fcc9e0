"""The members of a classic group, and the protocols that all of them offer."""

from __future__ import annotations

from twisted.trial.unittest import SynchronousTestCase

from kafkatx.group.actions import NEVER_MS
from kafkatx.group.classic.member import Member
from kafkatx.group.classic.roster import Roster


def member(member_id: str, *names: str, instance: str | None = None, rebalance_ms: int = 1) -> Member:
    """Return a member that offers protocols of these names."""
    protocols = tuple((name, member_id.encode()) for name in names)
    return Member(member_id, instance, "c", "/h", rebalance_ms, 1, protocols)


class ProtocolTests(SynchronousTestCase):
    def test_votes(self) -> None:
        """The selected protocol has most votes among those that all members offer."""
        roster = Roster(
            [member("a", "x", "range"), member("b", "sticky", "range"), member("c", "range", "sticky")]
        )
        roster.add(member("d", "sticky", "range", "x"))
        self.assertEqual(roster.select_protocol(), "range")
        roster.remove(roster.members["a"])
        self.assertEqual(roster.select_protocol(), "sticky")

    def test_draw(self) -> None:
        """The vote of the first member decides a draw."""
        roster = Roster([member("a", "range", "sticky"), member("b", "sticky", "range")])
        self.assertEqual(roster.select_protocol(), "range")

    def test_offered_by_all(self) -> None:
        """A protocol is available only while all members offer it, whatever members change."""
        a, b = member("a", "range", "sticky"), member("b", "sticky")
        roster = Roster([a, b])
        self.assertFalse(roster.offered_by_all("range"))
        self.assertTrue(roster.offered_by_all("sticky"))
        roster.offer(b, (("range", b""),))
        self.assertTrue(roster.offered_by_all("range"))
        self.assertFalse(roster.offered_by_all("sticky"))
        roster.remove(b)
        self.assertTrue(roster.offered_by_all("sticky"))


class LeaderTests(SynchronousTestCase):
    def test_first_leads(self) -> None:
        """The first member leads, then the next one; a roster without members has no leader."""
        roster = Roster([member("a", "x"), member("b", "x"), member("c", "x")])
        self.assertEqual(roster.leader, "a")
        roster.remove(roster.members["b"])
        self.assertEqual(roster.leader, "a")
        roster.remove(roster.members["a"])
        self.assertEqual(roster.leader, "c")
        roster.remove(roster.members["c"])
        self.assertIsNone(roster.leader)

    def test_elect(self) -> None:
        """A leader that has not joined is replaced by a member that has, if there is one."""
        a, b = member("a", "x"), member("b", "x")
        roster = Roster([a, b])
        self.assertFalse(roster.elect())
        self.assertEqual(roster.leader, "a")
        b.join_token = 1
        self.assertTrue(roster.elect())
        self.assertEqual(roster.leader, "b")

    def test_elect_keeps_the_leader(self) -> None:
        """A leader that has joined remains the leader."""
        a, b = member("a", "x"), member("b", "x")
        roster = Roster([a, b])
        a.join_token = b.join_token = 1
        self.assertTrue(roster.elect())
        self.assertEqual(roster.leader, "a")


class InstanceTests(SynchronousTestCase):
    def test_replace(self) -> None:
        """The new member takes over the instance id, and the leadership if the old one led."""
        old, new = member("a", "x", instance="i"), member("b", "x", instance="i")
        roster = Roster([old, member("c", "x")])
        roster.replace(old, new)
        self.assertIs(roster.instance("i"), new)
        self.assertEqual(roster.leader, "b")
        self.assertEqual(set(roster.members), {"b", "c"})

    def test_replace_a_follower(self) -> None:
        """A member that replaces a follower is a follower."""
        old, new = member("a", "x", instance="i"), member("b", "x", instance="i")
        roster = Roster([member("c", "x"), old])
        roster.replace(old, new)
        self.assertEqual(roster.leader, "c")

    def test_instance(self) -> None:
        """A missing instance id differs from the empty instance id."""
        roster = Roster([member("a", "x", instance="")])
        self.assertIsNone(roster.instance(None))
        self.assertIsNotNone(roster.instance(""))
        roster.remove(roster.members["a"])
        self.assertIsNone(roster.instance(""))
        self.assertEqual(roster.instances, {})


class TimeTests(SynchronousTestCase):
    def test_rebalance_timeout(self) -> None:
        """The rebalance time-out is the longest of all members."""
        roster = Roster([member("a", "x", rebalance_ms=5), member("b", "x", rebalance_ms=7)])
        self.assertEqual(roster.rebalance_timeout_ms, 7)
        self.assertEqual(Roster().rebalance_timeout_ms, 0)

    def test_expires(self) -> None:
        """The earliest end of a session or pending id counts; a waiting member that is not new has none."""
        a, b = member("a", "x"), member("b", "x")
        a.deadline_ms, b.deadline_ms = 5, 7
        roster = Roster([a, b])
        self.assertEqual(roster.expires_ms, 5)
        a.sync_token = 1
        self.assertEqual(roster.expires_ms, 7)
        a.is_new = True
        self.assertEqual(roster.expires_ms, 5)
        roster.pending["p"] = 3
        self.assertEqual(roster.expires_ms, 3)
        self.assertEqual(Roster().expires_ms, NEVER_MS)

    def test_joined(self) -> None:
        """All have joined when every member waits and no pending id is left."""
        a, b = member("a", "x"), member("b", "x")
        roster = Roster([a, b])
        a.join_token = 1
        self.assertEqual((roster.joined, roster.all_joined), (1, False))
        b.join_token = 2
        self.assertEqual((roster.joined, roster.all_joined), (2, True))
        roster.pending["p"] = 3
        self.assertFalse(roster.all_joined)
        p = member("p", "x")
        p.join_token = 3
        roster.add(p)
        self.assertTrue(roster.all_joined)
