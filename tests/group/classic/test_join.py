"""JoinGroup: which members may join, and how joining changes the group."""

from __future__ import annotations

import attrs
from twisted.trial.unittest import SynchronousTestCase

from kafkatx.errors import ErrorCode
from kafkatx.group.actions import Client
from kafkatx.wire.messages.join_group import JoinGroupRequest, JoinGroupRequestProtocol
from tests.group.classic.driver import NOW_MS, RANGE, REBALANCE_MS, SETTINGS, GroupDriver, subscription

BOTH = (("range", b"r"), ("sticky", b"s"))


class RefusedTests(SynchronousTestCase):
    def setUp(self) -> None:
        """Make a group without members."""
        self.driver = GroupDriver()

    def assert_refused(self, token: int, error: ErrorCode) -> None:
        """Assert that the answer has this error and no generation."""
        self.assertIs(self.driver.error(token), error)
        self.assertEqual(
            (self.driver.answers[token].generation_id, self.driver.answers[token].members), (-1, [])
        )

    def test_session_timeout(self) -> None:
        """A session time-out outside group.min/max.session.timeout.ms is refused; the bounds are allowed."""
        for session_ms in (-1, 0, 5999, 1_800_001):
            token = self.driver.join(version=3, session_ms=session_ms)
            self.assert_refused(token, ErrorCode.INVALID_SESSION_TIMEOUT)
        self.assertTrue(self.driver.unused)
        for session_ms in (6000, 1_800_000):
            self.assertTrue(self.driver.waits(self.driver.join(version=3, session_ms=session_ms)))

    def test_no_protocol(self) -> None:
        """A member without a protocol type or without protocols cannot join an empty group."""
        for token in (self.driver.join(protocol_type=""), self.driver.join(protocols=[])):
            self.assert_refused(token, ErrorCode.INCONSISTENT_GROUP_PROTOCOL)
        self.assertTrue(self.driver.unused)
        self.assertEqual(self.driver.group.protocol_type, "")

    def test_another_type(self) -> None:
        """A member of another protocol type is refused while the group has members, and accepted after."""
        (member,) = self.driver.stable(1)
        token = self.driver.join(protocol_type="connect")
        self.assert_refused(token, ErrorCode.INCONSISTENT_GROUP_PROTOCOL)
        self.driver.leave(member)
        self.driver.stable(1, protocol_type="connect")
        self.assertEqual(self.driver.group.protocol_type, "connect")

    def test_nothing_in_common(self) -> None:
        """A member that shares no protocol with all others is refused, whether it is new or joins again."""
        _, b = self.driver.stable(2)
        token = self.driver.join(version=3, protocols=[("sticky", b""), ("roundrobin", b"")])
        self.assert_refused(token, ErrorCode.INCONSISTENT_GROUP_PROTOCOL)
        token = self.driver.join(b, protocols=[("sticky", b"")])
        self.assert_refused(token, ErrorCode.INCONSISTENT_GROUP_PROTOCOL)
        self.assertEqual(self.driver.member(token), b)
        self.assertEqual(self.driver.group.state, "Stable")

    def test_unknown_member(self) -> None:
        """A member id that the group does not know is refused, with and without other members."""
        self.assert_refused(self.driver.join("c-99"), ErrorCode.UNKNOWN_MEMBER_ID)
        self.driver.stable(1)
        self.assert_refused(self.driver.join("c-99"), ErrorCode.UNKNOWN_MEMBER_ID)
        self.assertEqual(self.driver.group.state, "Stable")

    def test_dead_group(self) -> None:
        """A dead group sends its clients to look for the coordinator."""
        self.driver.perform(self.driver.group.unload(ErrorCode.NOT_COORDINATOR, self.driver.now_ms))
        self.assert_refused(self.driver.join(version=3), ErrorCode.COORDINATOR_NOT_AVAILABLE)


class MemberIdRequiredTests(SynchronousTestCase):
    """KIP-394: only for JoinGroup v4+ with an empty member id and without an instance id."""

    def test_version_4(self) -> None:
        """From version 4 on a member without an id is given one, and joins with it."""
        for version in range(4, 10):
            driver = GroupDriver()
            token = driver.join(version=version, client="my-client")
            self.assertIs(driver.error(token), ErrorCode.MEMBER_ID_REQUIRED)
            self.assertEqual(driver.member(token), "my-client-1")
            self.assertEqual((driver.group.state, len(driver.group.members)), ("Empty", 0))
            again = driver.join("my-client-1", version=version)
            driver.pass_ms(3000)
            self.assertEqual(driver.answers[again].leader, "my-client-1")

    def test_before_version_4(self) -> None:
        """A member before version 4 is added at once, and learns its id with the generation."""
        for version in range(4):
            driver = GroupDriver()
            token = driver.join(version=version, client="my-client")
            self.assertEqual(list(driver.group.members), ["my-client-1"])
            driver.pass_ms(3000)
            self.assertEqual(driver.member(token), "my-client-1")

    def test_static_member(self) -> None:
        """A static member needs no id; its id begins with the instance id."""
        driver = GroupDriver()
        token = driver.join(instance="i", client="my-client")
        driver.pass_ms(3000)
        self.assertEqual(driver.member(token), "i-1")

    def test_given_id_with_an_instance(self) -> None:
        """A static member cannot join with an id that was given to a dynamic member."""
        driver = GroupDriver()
        given = driver.member(driver.join(version=5))
        token = driver.join(given, instance="i")
        self.assertIs(driver.error(token), ErrorCode.UNKNOWN_MEMBER_ID)
        self.assertEqual(len(driver.group.members), 0)

    def test_given_ids_are_no_members(self) -> None:
        """Pending members neither lead nor are sent to the leader."""
        driver = GroupDriver()
        token = driver.join(version=3)
        driver.join(version=4)
        driver.pass_ms(6000)
        self.assertEqual(len(driver.answers[token].members), 1)


class GroupMaxSizeTests(SynchronousTestCase):
    def full(self, count: int = 2) -> tuple[GroupDriver, list[str]]:
        """Return a stable group of *count* members, which is its limit."""
        driver = GroupDriver(attrs.evolve(SETTINGS, max_size=count))
        return driver, driver.stable(count)

    def test_full(self) -> None:
        """A full group accepts no new member; its members may join again."""
        driver, (a, b) = self.full()
        token = driver.join(version=3)
        self.assertIs(driver.error(token), ErrorCode.GROUP_MAX_SIZE_REACHED)
        self.assertEqual(driver.member(token), "")
        self.assertEqual(driver.group.state, "Stable")
        token = driver.join(version=3, protocol_type="connect")
        self.assertIs(driver.error(token), ErrorCode.GROUP_MAX_SIZE_REACHED)
        tokens = [driver.join(a), driver.join(b)]
        self.assertEqual([driver.answers[token].generation_id for token in tokens], [2, 2])
        self.assertIs(driver.error(driver.join(version=3)), ErrorCode.GROUP_MAX_SIZE_REACHED)

    def test_join_phase(self) -> None:
        """The join phase counts the members that have joined; a member that joins twice counts once."""
        driver, (a, b) = self.full()
        driver.join(a)
        new = driver.join(version=3)
        self.assertTrue(driver.waits(new))
        again = driver.join(a)
        self.assertTrue(driver.waits(again))
        late = driver.join(b)
        self.assertIs(driver.error(late), ErrorCode.GROUP_MAX_SIZE_REACHED)
        self.assertEqual(set(driver.group.members), {a, driver.member(new)})
        self.assertEqual(driver.answers[again].generation_id, 2)

    def test_given_id(self) -> None:
        """A pending member that joins after the group became full is refused, and its id is forgotten."""
        driver = GroupDriver(attrs.evolve(SETTINGS, max_size=1))
        given = driver.member(driver.join(version=4))
        (a,) = driver.stable(1)
        self.assertIs(driver.error(driver.join(given)), ErrorCode.GROUP_MAX_SIZE_REACHED)
        token = driver.join(a)
        self.assertEqual(driver.answers[token].generation_id, 2)

    def test_static_member_comes_back(self) -> None:
        """A static member that comes back to a full group takes its own place, in every state."""
        driver = GroupDriver(attrs.evolve(SETTINGS, max_size=1))
        driver.join(instance="i")
        token = driver.join(instance="i")
        self.assertTrue(driver.waits(token))
        driver.pass_ms(6000)
        driver.settle([driver.member(token)])
        self.assertIs(driver.error(driver.join(instance="i")), ErrorCode.NONE)
        self.assertIs(driver.error(driver.join(instance="j")), ErrorCode.GROUP_MAX_SIZE_REACHED)


class JoinAgainTests(SynchronousTestCase):
    def setUp(self) -> None:
        """Make a stable group of a leader and a follower."""
        self.driver = GroupDriver()
        self.leader, self.follower = self.driver.stable(2)

    def test_follower(self) -> None:
        """A follower that joins again unchanged gets its generation, and the group does not rebalance."""
        token = self.driver.join(self.follower)
        joined = self.driver.answers[token]
        self.assertEqual((joined.error_code, joined.generation_id, joined.members), (0, 1, []))
        self.assertEqual((joined.leader, joined.member_id), (self.leader, self.follower))
        self.assertEqual(self.driver.group.state, "Stable")

    def test_changed_follower(self) -> None:
        """A follower whose protocols, or their order, have changed begins a rebalance."""
        driver = self.driver
        self.assertTrue(driver.waits(driver.join(self.follower, protocols=BOTH)))
        self.assertEqual(driver.group.state, "PreparingRebalance")
        driver.join(self.leader)
        driver.settle([self.leader, self.follower])
        self.assertTrue(driver.waits(driver.join(self.follower, protocols=BOTH[::-1])))

    def test_leader(self) -> None:
        """A leader that joins a stable group again begins a rebalance, changed or not."""
        self.assertTrue(self.driver.waits(self.driver.join(self.leader)))
        self.assertIs(self.driver.heartbeat(self.follower), ErrorCode.REBALANCE_IN_PROGRESS)

    def test_before_the_sync(self) -> None:
        """A member that joins again before it synced gets the same answer, the leader with the members."""
        driver = self.driver
        driver.join(self.leader)
        driver.join(self.follower)
        self.assertEqual(driver.group.state, "CompletingRebalance")
        to_leader, to_follower = driver.join(self.leader), driver.join(self.follower)
        self.assertEqual(len(driver.answers[to_leader].members), 2)
        self.assertEqual(driver.answers[to_follower].members, [])
        self.assertEqual(driver.answers[to_follower].generation_id, 2)
        self.assertEqual(driver.group.state, "CompletingRebalance")

    def test_changed_before_the_sync(self) -> None:
        """A member that joins changed before the sync begins a rebalance, and waiting SyncGroups get 27."""
        driver = self.driver
        driver.join(self.leader)
        driver.join(self.follower)
        waiting = driver.sync(self.follower)
        driver.join(self.leader, protocols=BOTH)
        self.assertIs(driver.error(waiting), ErrorCode.REBALANCE_IN_PROGRESS)
        self.assertEqual(driver.group.state, "PreparingRebalance")

    def test_asks_again(self) -> None:
        """A second JoinGroup of a waiting member is the one that is answered; the first gets 27."""
        driver = self.driver
        first, second = driver.join(self.leader), driver.join(self.leader)
        self.assertIs(driver.error(first), ErrorCode.REBALANCE_IN_PROGRESS)
        self.assertEqual(driver.member(first), self.leader)
        driver.join(self.follower)
        self.assertEqual(driver.answers[second].generation_id, 2)

    def test_changed_time_outs(self) -> None:
        """The time-outs are those of the member's last JoinGroup."""
        driver = self.driver
        driver.join(self.follower, protocols=BOTH, session_ms=20_000, rebalance_ms=90_000)
        member = driver.group.members[self.follower]
        self.assertEqual((member.session_timeout_ms, member.rebalance_timeout_ms), (20_000, 90_000))
        driver.join(self.leader)
        driver.settle([self.leader, self.follower])
        for _ in range(3):
            driver.pass_ms(6000)
            driver.heartbeat(self.leader)
        self.assertEqual(len(driver.group.members), 2)

    def test_reason(self) -> None:
        """The reason of a client (KIP-800) is logged when the rebalance ends."""
        driver = self.driver
        driver.join(self.leader, reason="need to revoke partitions")
        driver.join(self.follower)
        driver.settle([self.leader, self.follower])
        self.assertEqual(
            driver.told[-1].values["reason"], f"{self.leader} joined again: need to revoke partitions"
        )

    def test_new_member(self) -> None:
        """A new member begins a rebalance, and all three are in the next generation."""
        driver = self.driver
        new = driver.join(version=3)
        driver.join(self.leader)
        driver.join(self.follower)
        self.assertEqual(driver.answers[new].leader, self.leader)
        self.assertEqual(len(driver.group.members), 3)


class ProtocolTests(SynchronousTestCase):
    def test_votes(self) -> None:
        """The protocol is the one with most votes among those that all offer, and so is the metadata."""
        driver = GroupDriver()
        tokens = [driver.join(version=3, protocols=offer) for offer in (BOTH, BOTH[::-1], BOTH[::-1])]
        driver.pass_ms(6000)
        joined = driver.answers[tokens[0]]
        self.assertEqual(joined.protocol_name, "sticky")
        self.assertEqual([m.metadata for m in joined.members], [b"s"] * 3)

    def test_upgrade(self) -> None:
        """A protocol to which members move one after the other is chosen once all offer it."""
        driver = GroupDriver()
        a, b = driver.stable(2)
        self.assertEqual(driver.group.protocol_name, "range")
        driver.join(a, protocols=BOTH[::-1])
        driver.join(b)
        self.assertEqual(driver.group.protocol_name, "range")
        driver.settle([a, b])
        driver.join(b, protocols=BOTH[::-1])
        driver.join(a, protocols=BOTH[::-1])
        self.assertEqual(driver.group.protocol_name, "sticky")

    def test_same_name_twice(self) -> None:
        """A protocol that one member offers twice counts as offered by one member."""
        driver = GroupDriver()
        driver.join(version=3, protocols=[("range", b"1"), ("range", b"2")])
        token = driver.join(version=3, protocols=[("sticky", b"")])
        self.assertIs(driver.error(token), ErrorCode.INCONSISTENT_GROUP_PROTOCOL)
        driver.leave(next(iter(driver.group.members)))
        driver.stable(2)
        self.assertEqual(driver.group.state, "Stable")

    def test_every_version(self) -> None:
        """JoinGroup and SyncGroup work in every version; type and name are answered from 7 and 5 on."""
        for version in range(10):
            driver = GroupDriver()
            token = driver.join(version=version)
            if version >= 4:
                token = driver.join(driver.member(token), version=version)
            driver.pass_ms(6000)
            joined = driver.answers[token]
            self.assertEqual((joined.error_code, joined.protocol_name), (0, "range"))
            self.assertEqual(joined.protocol_type, "consumer" if version >= 7 else None)
            synced = driver.sync(joined.member_id, {joined.member_id: b"part"}, version=min(version, 5))
            self.assertEqual(driver.answers[synced].assignment, b"part")

    def test_metadata_of_a_buffer(self) -> None:
        """Metadata that is a slice of a request's buffer is copied, since the buffer is reused."""
        driver = GroupDriver()
        buffer = bytearray(b"metadata")
        protocol = JoinGroupRequestProtocol("range", memoryview(buffer))  # type: ignore[arg-type]
        request = JoinGroupRequest("g", 10_000, 60_000, "", None, "consumer", [protocol])
        driver.versions[0] = 3
        driver.perform(driver.group.join(request, 3, Client("c", "/h"), 0, NOW_MS))
        buffer[:] = b"XXXXXXXX"
        driver.pass_ms(6000)
        self.assertEqual(driver.answers[0].members[0].metadata, b"metadata")


class CooperativeTests(SynchronousTestCase):
    def test_two_rebalances_in_a_row(self) -> None:
        """Cooperative members send their owned partitions, revoke some, and join again at once (KIP-429).

        The group rebalances twice: owned partitions are passed on to the leader, and members that joined
        again before all had synced get the members of the next generation.
        """
        driver = GroupDriver()
        (a,) = driver.stable(1, protocols=[("cooperative-sticky", subscription("t"))])
        owns_both = subscription("t", rest=b"owns t-0 and t-1")
        owns_none = subscription("t", rest=b"owns nothing")
        b_token = driver.join(version=3, protocols=[("cooperative-sticky", owns_none)])
        self.assertIs(driver.heartbeat(a), ErrorCode.REBALANCE_IN_PROGRESS)
        self.assertIs(driver.commit(a, 1), ErrorCode.NONE)
        a_token = driver.join(a, protocols=[("cooperative-sticky", owns_both)])
        self.assertEqual([m.metadata for m in driver.answers[a_token].members], [owns_both, owns_none])
        b = driver.member(b_token)
        synced = driver.sync(a, {a: b"t-0", b: b""}, generation=2, version=3)
        self.assertEqual(driver.answers[synced].assignment, b"t-0")
        owns_one = subscription("t", rest=b"owns t-0")
        a_token = driver.join(a, protocols=[("cooperative-sticky", owns_one)])  # b has not even synced
        self.assertIs(driver.error(driver.sync(b, generation=2, version=3)), ErrorCode.REBALANCE_IN_PROGRESS)
        driver.join(b, protocols=[("cooperative-sticky", owns_none)])
        self.assertEqual([m.metadata for m in driver.answers[a_token].members], [owns_one, owns_none])
        driver.sync(a, {a: b"t-0", b: b"t-1"}, generation=3, version=3)
        self.assertEqual(driver.answers[driver.sync(b, generation=3, version=3)].assignment, b"t-1")
        self.assertEqual((driver.group.state, driver.group.generation), ("Stable", 3))


class ManyTests(SynchronousTestCase):
    def test_a_hundred_members(self) -> None:
        """A rebalance of a hundred members ends when the last of them joins."""
        driver = GroupDriver()
        members = driver.stable(100)
        tokens = [driver.join(member, protocols=RANGE) for member in members]
        self.assertEqual({driver.answers[token].generation_id for token in tokens}, {2})
        driver.settle(members)
        driver.pass_ms(REBALANCE_MS // 10)
        self.assertEqual((driver.group.state, len(driver.group.members)), ("Stable", 100))
