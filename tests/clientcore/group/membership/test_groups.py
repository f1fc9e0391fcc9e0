"""Our members in a group that the broker's own code coordinates."""

from __future__ import annotations

from typing import Any

from twisted.trial.unittest import SynchronousTestCase

from kafkatx.clientcore.errors import ConnectionFailed
from kafkatx.clientcore.group.assignors import COOPERATIVE_STICKY, RANGE, ROUND_ROBIN, STICKY
from kafkatx.clientcore.group.membership import State
from kafkatx.errors import ErrorCode, RequestError
from kafkatx.types import TopicPartition
from kafkatx.wire.messages.join_group import JoinGroupRequest
from tests.clientcore.group.membership.alone import COOPERATIVE
from tests.clientcore.group.membership.world import BEAT_MS, POLL_MS, SESSION_MS, SETTLED_MS, World

STRATEGIES = ((RANGE,), (ROUND_ROBIN,), (STICKY,), (COOPERATIVE_STICKY,), (RANGE, COOPERATIVE_STICKY))


class SharingTests(SynchronousTestCase):
    def test_strategies(self) -> None:
        """Three members share evenly with every strategy; when one leaves or dies, the others have all."""
        for assignors in STRATEGIES:
            world = World({"t": 6})
            first, second, third = (world.member("t", assignors=assignors) for _ in range(3))
            world.pass_ms(SETTLED_MS)
            self.assertEqual((world.shared, world.whole("t")), ({"m0": 2, "m1": 2, "m2": 2}, True))
            second.close()
            world.pass_ms(SESSION_MS)
            self.assertEqual((world.shared, world.whole("t")), ({"m0": 3, "m1": 0, "m2": 3}, True))
            third.frozen = True
            world.pass_ms(2 * SESSION_MS)
            self.assertEqual(len(first.machine.owned), 6)
            third.thaw()
            world.pass_ms(SETTLED_MS)
            self.assertIn("lost", third.kinds)
            self.assertEqual((world.shared, world.whole("t")), ({"m0": 3, "m1": 0, "m2": 3}, True))

    def test_quiet(self) -> None:
        """No member of a stable group joins again."""
        world = World({"t": 6})
        members = [world.member("t", **COOPERATIVE) for _ in range(3)]
        world.pass_ms(SETTLED_MS)
        joins = [len(member.sent(JoinGroupRequest)) for member in members]
        world.tell_topics()
        world.pass_ms(SETTLED_MS)
        self.assertEqual([len(member.sent(JoinGroupRequest)) for member in members], joins)

    def test_cooperative_keeps(self) -> None:
        """Members of a cooperative group revoke only the partitions that a new member gets."""
        world = World({"t": 6})
        first, second = (world.member("t", **COOPERATIVE) for _ in range(2))
        world.pass_ms(SETTLED_MS)
        before = [set(member.machine.owned) for member in (first, second)]
        world.member("t", **COOPERATIVE)
        world.pass_ms(SETTLED_MS)
        self.assertEqual(world.shared, {"m0": 2, "m1": 2, "m2": 2})
        for member, had in zip((first, second), before, strict=True):
            self.assertLess(set(member.machine.owned), had)
            self.assertEqual(sum(len(gone) for kind, gone in member.calls[2:] if kind == "revoked"), 1)

    def test_rolling_upgrade(self) -> None:
        """Members with range alone and with both strategies agree on range (KIP-429's way to upgrade)."""
        world = World({"t": 4})
        world.member("t", assignors=(RANGE,))
        world.member("t", assignors=(COOPERATIVE_STICKY, RANGE))
        world.pass_ms(SETTLED_MS)
        self.assertEqual((world.shared, world.group.protocol_name), ({"m0": 2, "m1": 2}, "range"))

    def test_nothing_in_common(self) -> None:
        """A member without an assignor in common with the group fails; the group goes on."""
        world = World({"t": 4})
        world.member("t", assignors=(RANGE,))
        other = world.member("t", assignors=(STICKY,))
        (error,) = other.errors
        assert isinstance(error, RequestError)
        self.assertEqual(error.code, ErrorCode.INCONSISTENT_GROUP_PROTOCOL)
        world.pass_ms(SETTLED_MS)
        self.assertEqual(world.shared, {"m0": 4, "m1": 0})

    def test_different_topics(self) -> None:
        """Members get partitions of their topics only, and the leader watches the topics of all."""
        world = World({"t": 3, "u": 3})
        first, second = world.member("t"), world.member("t", "u")
        world.pass_ms(SETTLED_MS)
        self.assertTrue(world.whole("t", "u"))
        self.assertEqual({at.topic for at in first.machine.owned}, {"t"})
        self.assertIn({"t", "u"}, (first.watched, second.watched))

    def test_changes_its_mind(self) -> None:
        """A new subscription revokes the old topics and gets the new ones, also in a cooperative group."""
        for settings in ({}, COOPERATIVE):
            world = World({"t": 2, "u": 2})
            member: Any = world.member("t", **settings)
            member.subscribe("u")
            world.pass_ms(SETTLED_MS)
            self.assertTrue(world.whole("u"))
            self.assertIn(("revoked", {("t", 0), ("t", 1)}), member.calls)

    def test_topic_grows(self) -> None:
        """The leader has new partitions assigned, of existing and new topics."""
        for settings in ({}, COOPERATIVE):
            world = World({"t": 2})
            world.member("t", "u", **settings)
            world.member("t", "u", **settings)
            world.pass_ms(SETTLED_MS)
            world.topics.update(t=4, u=2)
            world.tell_topics()
            world.pass_ms(SETTLED_MS)
            self.assertTrue(world.whole("t", "u"))
            self.assertEqual(world.shared, {"m0": 3, "m1": 3})

    def test_slow_application(self) -> None:
        """A rebalance waits for a slow application no longer than its rebalance time-out."""
        world = World({"t": 2})
        slow = world.member("t")
        slow.patient = True
        slow.finish()
        other = world.member("t")
        world.pass_ms(POLL_MS - 1)
        self.assertEqual((slow.kinds[-1], world.shared), ("revoked", {"m0": 2, "m1": 0}))
        world.pass_ms(SESSION_MS)
        self.assertEqual(world.shared["m1"], 2)
        slow.patient = False
        slow.finish()
        world.pass_ms(SETTLED_MS)
        self.assertEqual((world.shared, other.errors), ({"m0": 1, "m1": 1}, []))

    def test_stuck_application(self) -> None:
        """An application that does not poll loses all partitions, and gets some when it polls again."""
        world = World({"t": 2})
        slow, other = world.member("t"), world.member("t")
        world.pass_ms(SETTLED_MS)
        slow.poll()
        world.pass_ms(POLL_MS + BEAT_MS)
        self.assertEqual((world.shared, slow.state), ({"m0": 0, "m1": 2}, State.UNJOINED))
        slow.poll()
        world.pass_ms(BEAT_MS)
        self.assertEqual((world.shared, other.kinds[-1]), ({"m0": 1, "m1": 1}, "assigned"))


class StaticTests(SynchronousTestCase):
    def test_comes_back(self) -> None:
        """A static member that comes back within its session keeps its partitions, without a rebalance."""
        world = World({"t": 4})
        world.member("t", group_instance_id="one")
        second = world.member("t", group_instance_id="two")
        world.pass_ms(SETTLED_MS)
        had, generation = second.machine.owned, world.group.generation
        second.close()
        again = world.member("t", group_instance_id="two")
        self.assertEqual((again.machine.owned, world.group.generation), (had, generation))
        self.assertNotEqual(again.machine.member_id, "")

    def test_leader_comes_back(self) -> None:
        """A leader that comes back assigns nothing anew, and watches topics as before (KIP-814)."""
        world = World({"t": 4})
        first = world.member("t", group_instance_id="one")
        world.member("t", group_instance_id="two")
        world.pass_ms(SETTLED_MS)
        had, generation = first.machine.owned, world.group.generation
        first.close()
        again = world.member("t", group_instance_id="one")
        self.assertEqual((again.machine.owned, world.group.generation), (had, generation))
        world.topics["t"] = 6
        world.tell_topics()
        world.pass_ms(SETTLED_MS)
        self.assertEqual(world.shared, {"m0": 0, "m1": 3, "m2": 3})

    def test_topic_grows_while_the_leader_is_away(self) -> None:
        """A static leader that was slow while its topic grew has the new partitions assigned."""
        world = World({"t": 4})
        leader = world.member("t", group_instance_id="one")
        world.member("t", group_instance_id="two").poll(waiting=True)
        world.pass_ms(SETTLED_MS)
        leader.poll()
        world.pass_ms(POLL_MS)
        self.assertEqual(leader.machine.owned, frozenset())
        world.topics["t"] = 6
        world.tell_topics()
        leader.poll(waiting=True)
        world.pass_ms(SETTLED_MS)
        self.assertTrue(world.whole("t"), world.shared)

    def test_fenced(self) -> None:
        """The first of two members with the same instance id is fenced by its next heartbeat, and fails."""
        world = World({"t": 4})
        first = world.member("t", group_instance_id="one")
        first.frozen = True
        second = world.member("t", group_instance_id="one")
        self.assertEqual(len(second.machine.owned), 4)
        first.thaw()
        world.pass_ms(BEAT_MS)
        (error,) = first.errors
        assert isinstance(error, RequestError)
        self.assertEqual((error.code, first.kinds[-1]), (ErrorCode.FENCED_INSTANCE_ID, "lost"))
        self.assertEqual((first.state, second.state), (State.CLOSED, State.STABLE))


class NetworkTests(SynchronousTestCase):
    def test_short_break(self) -> None:
        """A coordinator that is away for less than a session changes nothing."""
        world = World({"t": 2})
        member = world.member("t")
        member.deaf = ConnectionFailed("away")
        world.pass_ms(SESSION_MS - BEAT_MS)
        member.deaf = None
        world.pass_ms(SETTLED_MS)
        self.assertEqual((member.kinds, len(member.sent(JoinGroupRequest))), (["assigned"], 2))
        self.assertGreater(member.forgot, 1)

    def test_long_break(self) -> None:
        """A member whose coordinator was away for longer loses its partitions, and joins again."""
        world = World({"t": 2})
        member = world.member("t")
        member.deaf = ConnectionFailed("away")
        world.pass_ms(2 * SESSION_MS)
        self.assertFalse(world.group.has_members)
        member.deaf = None
        world.pass_ms(SETTLED_MS)
        self.assertEqual(member.kinds, ["assigned", "lost", "assigned"])
        self.assertEqual(
            world.owners, dict.fromkeys([TopicPartition("t", 0), TopicPartition("t", 1)], member)
        )
