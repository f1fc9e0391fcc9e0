"""Heartbeats, leaving, commits, descriptions, loading and unloading of a classic group."""

from __future__ import annotations

import attrs
from twisted.trial.unittest import SynchronousTestCase

from kafkatx.errors import ErrorCode, ProtocolViolation
from kafkatx.group.actions import NEVER_MS, Group, Record
from kafkatx.group.classic import ClassicGroup, Member
from kafkatx.group.classic.records import GroupMetadataValue, decode_key, decode_value, encode_value
from kafkatx.group.settings import GroupSettings
from kafkatx.wire.messages.leave_group import MemberIdentity
from tests.group.classic.driver import (
    NOW_MS,
    REBALANCE_MS,
    SESSION_MS,
    SETTINGS,
    WALL_MS,
    GroupDriver,
    subscription,
)


class HeartbeatTests(SynchronousTestCase):
    def setUp(self) -> None:
        """Make a group without members."""
        self.driver = GroupDriver()

    def test_each_state(self) -> None:
        """A heartbeat answers 27 in the join phase only, and NONE in the sync phase and when stable."""
        driver = self.driver
        self.assertIs(driver.heartbeat("a"), ErrorCode.UNKNOWN_MEMBER_ID)
        token = driver.join(version=3)
        (member,) = driver.group.members
        self.assertIs(driver.heartbeat(member), ErrorCode.REBALANCE_IN_PROGRESS)
        driver.pass_ms(3000)
        self.assertFalse(driver.waits(token))
        self.assertIs(driver.heartbeat(member), ErrorCode.NONE)
        driver.settle([member])
        self.assertIs(driver.heartbeat(member), ErrorCode.NONE)
        driver.perform(driver.group.unload(ErrorCode.NOT_COORDINATOR, driver.now_ms))
        self.assertIs(driver.heartbeat(member), ErrorCode.COORDINATOR_NOT_AVAILABLE)

    def test_generation(self) -> None:
        """A generation other than the present one is ILLEGAL_GENERATION, and no sign of life."""
        (member,) = self.driver.stable(1)
        self.driver.pass_ms(SESSION_MS - 1)
        for generation in (-1, 0, 2):
            self.assertIs(self.driver.heartbeat(member, generation), ErrorCode.ILLEGAL_GENERATION)
        self.driver.pass_ms(1)
        self.assertEqual(self.driver.group.state, "Empty")

    def test_sign_of_life(self) -> None:
        """Heartbeats keep the session alive, both when the group is stable and before the sync."""
        (member,) = self.driver.stable(1)
        for _ in range(5):
            self.driver.pass_ms(SESSION_MS - 1)
            self.assertIs(self.driver.heartbeat(member), ErrorCode.NONE)
        self.driver.join(member)
        for _ in range(5):
            self.driver.pass_ms(SESSION_MS - 1)
            self.assertIs(self.driver.heartbeat(member), ErrorCode.NONE)


class LeaveTests(SynchronousTestCase):
    def setUp(self) -> None:
        """Make a stable group of three."""
        self.driver = GroupDriver()
        self.a, self.b, self.c = self.driver.stable(3)

    def test_one(self) -> None:
        """Before version 3 one member leaves; the others rebalance."""
        for version, member in enumerate((self.a, self.b, self.c)):
            self.assertEqual(self.driver.leave(member, version=version).error_code, 0)
        self.assertEqual((self.driver.group.state, self.driver.group.generation), ("Empty", 2))

    def test_unknown(self) -> None:
        """An unknown member is reported in the answer before version 3, and in the member's result since."""
        self.assertEqual(self.driver.leave("x", version=2).error_code, ErrorCode.UNKNOWN_MEMBER_ID)
        left = self.driver.leave("x", version=3)
        self.assertEqual((left.error_code, left.members[0].error_code), (0, ErrorCode.UNKNOWN_MEMBER_ID))
        self.assertEqual(self.driver.group.state, "Stable")

    def test_many(self) -> None:
        """Several members leave at once, each with its own result, and the rest rebalance once (KIP-345)."""
        left = self.driver.leave(self.a, "x", self.b, self.b)
        codes = [member.error_code for member in left.members]
        unknown = ErrorCode.UNKNOWN_MEMBER_ID
        self.assertEqual(codes, [0, unknown, 0, unknown])
        self.assertEqual([member.member_id for member in left.members], [self.a, "x", self.b, self.b])
        token = self.driver.join(self.c)
        self.assertEqual(self.driver.answers[token].generation_id, 2)

    def test_nobody(self) -> None:
        """A request that names no members changes nothing."""
        self.assertEqual(self.driver.leave(version=3).members, [])
        self.assertEqual(self.driver.group.state, "Stable")

    def test_reason(self) -> None:
        """The reason that a client gives (KIP-800) is logged."""
        self.driver.leave(MemberIdentity(self.a, None, "the consumer is being closed"))
        told = [line.values["reason"] for line in self.driver.told if "removed" in line.text]
        self.assertEqual(told, ["it has left: the consumer is being closed"])

    def test_by_instance(self) -> None:
        """An administrator removes static members by their instances, without knowing member ids."""
        driver = GroupDriver()
        tokens = [driver.join(instance=name) for name in ("i", "j")]
        driver.pass_ms(6000)
        driver.settle([driver.member(token) for token in tokens])
        left = driver.leave(MemberIdentity("", "i"), MemberIdentity("", "x"), MemberIdentity("", None))
        unknown = ErrorCode.UNKNOWN_MEMBER_ID
        self.assertEqual([member.error_code for member in left.members], [0, unknown, unknown])
        self.assertEqual([m.group_instance_id for m in driver.group.members.values()], ["j"])

    def test_by_another_instance(self) -> None:
        """A member id with the instance id of another member removes no member."""
        driver = GroupDriver()
        tokens = [driver.join(instance=name) for name in ("i", "j")]
        driver.pass_ms(6000)
        driver.settle([driver.member(token) for token in tokens])
        left = driver.leave(MemberIdentity(driver.member(tokens[0]), "j"))
        self.assertEqual(left.members[0].error_code, ErrorCode.FENCED_INSTANCE_ID)
        self.assertEqual((driver.group.state, len(driver.group.members)), ("Stable", 2))

    def test_given_id(self) -> None:
        """A pending member may leave: the group stops waiting for it, and does not rebalance."""
        driver = self.driver
        given = driver.member(driver.join(version=4))
        self.assertEqual(driver.leave(given).members[0].error_code, 0)
        self.assertEqual(driver.group.state, "Stable")
        given = driver.member(driver.join(version=4))
        tokens = [driver.join(member) for member in (self.a, self.b, self.c)]
        self.assertTrue(driver.waits(tokens[0]))
        driver.leave(given)
        self.assertEqual(driver.answers[tokens[0]].generation_id, 2)

    def test_the_last_that_was_waited_for(self) -> None:
        """The join phase ends when the last member leaves that it waits for."""
        tokens = [self.driver.join(member) for member in (self.a, self.b)]
        self.driver.leave(self.c)
        self.assertEqual([self.driver.answers[token].generation_id for token in tokens], [2, 2])

    def test_leader_leaves(self) -> None:
        """Another member leads the next generation after the leader left."""
        self.driver.leave(self.a)
        tokens = [self.driver.join(member) for member in (self.b, self.c)]
        self.assertEqual({self.driver.answers[token].leader for token in tokens}, {self.b})

    def test_dead_group(self) -> None:
        """A dead group sends its clients to look for the coordinator."""
        self.driver.perform(self.driver.group.unload(ErrorCode.NOT_COORDINATOR, self.driver.now_ms))
        left = self.driver.leave(self.a)
        self.assertEqual((left.error_code, left.members), (ErrorCode.COORDINATOR_NOT_AVAILABLE, []))


class CommitTests(SynchronousTestCase):
    def setUp(self) -> None:
        """Make a group without members."""
        self.driver = GroupDriver()

    def test_without_members(self) -> None:
        """An empty group accepts commits from any member id without a generation, and none with one."""
        for member in ("", "a"):
            self.assertIs(self.driver.commit(member), ErrorCode.NONE)
        self.assertIs(self.driver.commit("a", 1), ErrorCode.UNKNOWN_MEMBER_ID)

    def test_of_a_stranger(self) -> None:
        """A group with members accepts commits of its members only, and of the present generation only."""
        (member,) = self.driver.stable(1)
        self.assertIs(self.driver.commit(), ErrorCode.UNKNOWN_MEMBER_ID)
        self.assertIs(self.driver.commit("x", 1), ErrorCode.UNKNOWN_MEMBER_ID)
        self.assertIs(self.driver.commit(member), ErrorCode.ILLEGAL_GENERATION)
        self.assertIs(self.driver.commit(member, 2), ErrorCode.ILLEGAL_GENERATION)
        self.assertIs(self.driver.commit(member, 1, "i"), ErrorCode.UNKNOWN_MEMBER_ID)
        self.assertIs(self.driver.commit(member, 1), ErrorCode.NONE)

    def test_join_phase(self) -> None:
        """In the join phase members may still commit; in the sync phase they must sync first."""
        driver = self.driver
        (member,) = driver.stable(1)
        driver.join(version=4)
        driver.join(member)
        self.assertIs(driver.commit(member, 1), ErrorCode.NONE)
        driver.pass_ms(SESSION_MS)
        self.assertEqual(driver.group.state, "CompletingRebalance")
        self.assertIs(driver.commit(member, 2), ErrorCode.REBALANCE_IN_PROGRESS)

    def test_sign_of_life(self) -> None:
        """A commit is a sign of life."""
        (member,) = self.driver.stable(1)
        for _ in range(3):
            self.driver.pass_ms(SESSION_MS - 1)
            self.assertIs(self.driver.commit(member, 1), ErrorCode.NONE)

    def test_dead_group(self) -> None:
        """A dead group accepts no commits, and returns no offsets."""
        self.assertIs(self.driver.group.check_fetch("a", 1, NOW_MS), ErrorCode.NONE)
        self.driver.perform(self.driver.group.unload(ErrorCode.NOT_COORDINATOR, NOW_MS))
        self.assertIs(self.driver.commit(), ErrorCode.COORDINATOR_NOT_AVAILABLE)
        self.assertIs(self.driver.group.check_fetch("a", 1, NOW_MS), ErrorCode.GROUP_ID_NOT_FOUND)


class ShownTests(SynchronousTestCase):
    def setUp(self) -> None:
        """Make a group without members."""
        self.driver = GroupDriver()

    def test_group(self) -> None:
        """The group provides the interface that the broker uses; mypy checks the types."""
        group: Group = self.driver.group
        self.assertEqual((group.group_id, group.kind, group.state), ("g", "classic", "Empty"))
        self.assertEqual((group.has_members, group.empty_since_ms, group.protocol_type), (False, -1, ""))

    def test_describe(self) -> None:
        """DescribeGroups shows protocol, metadata and assignments of a stable group only."""
        driver = self.driver
        token = driver.join(instance="i", client="my-client")
        shown = driver.group.describe()
        self.assertEqual(
            (shown.group_state, shown.protocol_type, shown.protocol_data),
            ("PreparingRebalance", "consumer", ""),
        )
        (member,) = shown.members
        self.assertEqual((member.member_id, member.group_instance_id), ("i-1", "i"))
        self.assertEqual((member.client_id, member.client_host), ("my-client", "/10.0.0.1"))
        self.assertEqual((member.member_metadata, member.member_assignment), (b"", b""))
        driver.pass_ms(3000)
        self.assertEqual(driver.group.describe().group_state, "CompletingRebalance")
        driver.settle([driver.member(token)])
        shown = driver.group.describe()
        self.assertEqual((shown.group_id, shown.group_state, shown.protocol_data), ("g", "Stable", "range"))
        (member,) = shown.members
        self.assertEqual((member.member_metadata, member.member_assignment), (b"r", b"part of i-1"))
        driver.join("i-1", instance="i", protocols=[("range", b"new")])
        driver.settle(["i-1"])
        driver.join(version=4)
        driver.join("i-1", instance="i")
        shown = driver.group.describe()
        self.assertEqual((shown.group_state, shown.protocol_data), ("PreparingRebalance", ""))
        (member,) = shown.members
        self.assertEqual((member.member_metadata, member.member_assignment), (b"", b""))
        driver.leave("i-1")
        shown = driver.group.describe()
        self.assertEqual((shown.group_state, shown.protocol_type, shown.members), ("Empty", "consumer", []))

    def test_subscribes(self) -> None:
        """A consumer group subscribes to the topics of its members, and to none without members."""
        driver = self.driver
        self.assertFalse(driver.group.subscribes("a"))
        tokens = [driver.join(version=3, protocols=[("range", subscription(topic))]) for topic in "ab"]
        self.assertTrue(driver.group.subscribes("c"))  # the subscriptions are not known yet
        driver.pass_ms(6000)
        self.assertEqual([driver.group.subscribes(topic) for topic in "abc"], [True, True, False])
        driver.settle([driver.member(token) for token in tokens])
        driver.leave(driver.member(tokens[0]))
        driver.join(driver.member(tokens[1]), protocols=[("range", subscription("b"))])
        self.assertEqual([driver.group.subscribes(topic) for topic in "abc"], [False, True, False])
        driver.leave(driver.member(tokens[1]))
        self.assertFalse(driver.group.subscribes("b"))

    def test_subscribes_to_who_knows_what(self) -> None:
        """A group whose metadata is no subscription is subscribed to every topic while it has members."""
        looks_like_one = {"protocol_type": "connect", "protocols": [("range", subscription("a"))]}
        for options in (looks_like_one, {"protocols": [("range", b"\0")]}):
            driver = GroupDriver()
            members = driver.stable(1, **options)
            self.assertTrue(driver.group.subscribes("t"))
            driver.leave(*members)
            self.assertFalse(driver.group.subscribes("t"))

    def test_subscribes_after_coming_back(self) -> None:
        """A static member that comes back with another subscription is subscribed to those topics."""
        driver = self.driver
        token = driver.join(instance="i", protocols=[("range", subscription("a"))])
        driver.pass_ms(3000)
        driver.settle([driver.member(token)])
        driver.join(instance="i", protocols=[("range", subscription("b"))])
        self.assertEqual([driver.group.subscribes(topic) for topic in "ab"], [False, True])

    def test_empty_since(self) -> None:
        """A group that has lost its members reports since when, on the wall clock."""
        driver = self.driver
        members = driver.stable(1)
        self.assertEqual(driver.group.empty_since_ms, -1)
        driver.leave(*members)
        since_ms = WALL_MS + driver.now_ms
        driver.pass_ms(1000)
        driver.join(version=4)
        self.assertEqual(driver.group.empty_since_ms, since_ms)

    def test_tombstones(self) -> None:
        """The tombstone of a group is one record: its key without a value."""
        (tombstone,) = self.driver.group.tombstones()
        self.assertIsNone(tombstone.value)
        self.assertEqual(decode_key(tombstone.key), "g")
        self.assertEqual(tombstone.key, self.driver.group.record().key)


class LoadedTests(SynchronousTestCase):
    def loaded(self, record: Record, settings: GroupSettings = SETTINGS) -> GroupDriver:
        """Return a group that is loaded from a record."""
        driver = GroupDriver(settings)
        driver.group.replay(record.value or b"", driver.now_ms)
        driver.pass_ms(1000)
        driver.perform(driver.group.loaded(driver.now_ms))
        return driver

    def test_stable(self) -> None:
        """The members of a loaded group continue without a rebalance."""
        before = GroupDriver()
        tokens = [before.join(instance="i"), before.join(version=3)]
        before.pass_ms(6000)
        i, other = before.settle([before.member(token) for token in tokens])
        driver = self.loaded(before.records[-1])
        group = driver.group
        self.assertEqual((group.state, group.generation, group.leader), ("Stable", 1, i))
        self.assertEqual((group.protocol_type, group.protocol_name), ("consumer", "range"))
        self.assertIs(driver.heartbeat(i, instance="i"), ErrorCode.NONE)
        self.assertIs(driver.commit(other, 1), ErrorCode.NONE)
        self.assertEqual(driver.answers[driver.sync(other)].assignment, f"part of {other}".encode())
        self.assertEqual(driver.error(driver.join(other)), ErrorCode.NONE)
        self.assertEqual(group.describe().members, before.group.describe().members)
        self.assertTrue(driver.waits(driver.join(i, instance="i")))  # the leader
        self.assertEqual(group.record().key, before.group.record().key)

    def test_leader(self) -> None:
        """A leader that is not the first member of the record is the leader after loading."""
        before = GroupDriver()
        tokens = [before.join(instance=name) for name in ("i", "j")]
        before.pass_ms(6000)
        before.settle([before.member(token) for token in tokens])
        token = before.join(instance="i")
        driver = self.loaded(before.records[-1])
        self.assertEqual(driver.group.leader, before.member(token))

    def test_sessions(self) -> None:
        """Sessions begin when loading ends; members that do not come back are removed when they end."""
        before = GroupDriver()
        before.stable(2)
        driver = self.loaded(before.records[-1])
        driver.pass_ms(SESSION_MS - 1)
        self.assertEqual(len(driver.group.members), 2)
        driver.pass_ms(1)
        self.assertEqual((driver.group.state, driver.group.generation), ("Empty", 2))

    def test_empty(self) -> None:
        """A loaded group without members keeps its generation and the time since when it is empty."""
        before = GroupDriver()
        before.leave(*before.stable(2))
        driver = self.loaded(before.records[-1])
        self.assertEqual((driver.group.state, driver.group.generation), ("Empty", 2))
        self.assertEqual(driver.group.empty_since_ms, before.group.empty_since_ms)
        self.assertEqual(driver.group.deadline_ms, NEVER_MS)
        self.assertFalse(driver.unused)
        self.assertFalse(driver.group.subscribes("t"))
        driver.stable(1)
        self.assertEqual(driver.group.generation, 3)

    def test_never_had_a_member(self) -> None:
        """A group that never had a member does not tell since when it is empty; commit times count."""
        driver = GroupDriver()
        driver.group.replay(encode_value(GroupMetadataValue("", 0, None, None, WALL_MS, [])), NOW_MS)
        self.assertEqual((driver.group.state, driver.group.empty_since_ms), ("Empty", -1))

    def test_last_record_counts(self) -> None:
        """The last of several records determines the loaded group."""
        before = GroupDriver()
        members = before.stable(2)
        before.leave(*members)
        driver = GroupDriver()
        for record in before.records:
            driver.group.replay(record.value or b"", driver.now_ms)
        self.assertEqual((driver.group.state, len(driver.group.members)), ("Empty", 0))
        self.assertEqual(driver.group.deadline_ms, NEVER_MS)
        driver.group.replay(before.records[0].value or b"", driver.now_ms)
        self.assertEqual((driver.group.state, set(driver.group.members)), ("Stable", set(members)))

    def test_too_large(self) -> None:
        """A loaded group above group.max.size rebalances, and the last member to join is refused."""
        before = GroupDriver()
        a, b = before.stable(2)
        driver = self.loaded(before.records[-1], attrs.evolve(SETTINGS, max_size=1))
        self.assertEqual(driver.group.state, "PreparingRebalance")
        token = driver.join(b)
        self.assertIs(driver.error(driver.join(a)), ErrorCode.GROUP_MAX_SIZE_REACHED)
        self.assertEqual(driver.answers[token].leader, b)

    def test_upgrade_of_a_loaded_member(self) -> None:
        """A loaded member that offers more than the recorded protocol begins a rebalance."""
        before = GroupDriver()
        a, b = before.stable(2, protocols=[("range", b"r"), ("sticky", b"s")])
        driver = self.loaded(before.records[-1])
        both = [("range", b"r"), ("sticky", b"s")]
        tokens = [driver.join(member, protocols=both) for member in (a, b)]
        self.assertEqual({driver.answers[token].generation_id for token in tokens}, {2})

    def test_damaged(self) -> None:
        """A malformed record raises an error, and leaves the group as it was."""
        driver = GroupDriver()
        for value in (b"", b"\0", b"\0\7", b"\0\3\0"):
            with self.assertRaises(ProtocolViolation):
                driver.group.replay(value, NOW_MS)
        self.assertTrue(driver.unused)


class ConvertedTests(SynchronousTestCase):
    def test_of(self) -> None:
        """A group that used the consumer protocol begins with a rebalance, its members known by their ids."""
        driver = GroupDriver()
        members = [
            Member(
                name,
                None,
                "c",
                "/h",
                REBALANCE_MS,
                SESSION_MS,
                (("range", subscription("t")),),
                name.encode(),
            )
            for name in ("a", "b")
        ]
        driver.group = ClassicGroup.from_members(
            "g", SETTINGS, driver.new_member_id, driver.wall_ms, members, 7, NOW_MS
        )
        self.assertEqual((driver.group.state, driver.group.generation), ("PreparingRebalance", 7))
        stored = decode_value(driver.group.record().value or b"")
        self.assertEqual([m.assignment for m in stored.members], [b"a", b"b"])
        self.assertEqual((stored.protocol_type, stored.protocol, stored.leader), ("consumer", "range", "a"))
        self.assertEqual(stored.current_state_timestamp, driver.wall_ms())
        self.assertIs(driver.heartbeat("a"), ErrorCode.REBALANCE_IN_PROGRESS)
        self.assertIs(driver.commit("b", 7), ErrorCode.NONE)
        tokens = [driver.join(name, protocols=[("range", subscription("t"))]) for name in ("a", "b")]
        self.assertEqual({driver.answers[token].generation_id for token in tokens}, {8})

    def test_of_silent_members(self) -> None:
        """Members that never join are removed when their sessions end."""
        driver = GroupDriver()
        members = [Member("a", None, "c", "/h", REBALANCE_MS, SESSION_MS, (("range", b""),))]
        driver.group = ClassicGroup.from_members(
            "g", SETTINGS, driver.new_member_id, driver.wall_ms, members, 7, NOW_MS
        )
        driver.pass_ms(SESSION_MS)
        self.assertEqual((driver.group.state, driver.group.generation), ("Empty", 8))


class UnloadTests(SynchronousTestCase):
    def test_all_who_wait(self) -> None:
        """Unloading answers all waiting requests, removes all members, and leaves no deadline."""
        driver = GroupDriver()
        (a,) = driver.stable(1)
        joins = [driver.join(a), driver.join(version=3)]
        driver.perform(driver.group.unload(ErrorCode.NOT_COORDINATOR, driver.now_ms))
        self.assertNotIn(None, [driver.answers.get(token) for token in joins])
        self.assertIs(driver.error(joins[1]), ErrorCode.NOT_COORDINATOR)
        self.assertEqual((driver.group.state, len(driver.group.members)), ("Dead", 0))
        self.assertEqual(driver.group.deadline_ms, NEVER_MS)

    def test_conversion(self) -> None:
        """A conversion tells members that wait for an assignment to join again."""
        driver = GroupDriver()
        tokens = [driver.join(version=3) for _ in range(2)]
        driver.pass_ms(6000)
        waiting = driver.sync(driver.member(tokens[1]))
        driver.perform(driver.group.unload(ErrorCode.REBALANCE_IN_PROGRESS, driver.now_ms))
        self.assertIs(driver.error(waiting), ErrorCode.REBALANCE_IN_PROGRESS)

    def test_while_storing(self) -> None:
        """A store that ends after the group is dead changes nothing."""
        driver = GroupDriver()
        token = driver.join(version=3)
        driver.pass_ms(3000)
        driver.holds = True
        driver.sync(driver.member(token), {})
        driver.perform(driver.group.unload(ErrorCode.NOT_COORDINATOR, driver.now_ms))
        driver.end_store()
        self.assertEqual(driver.group.state, "Dead")
