"""Who may join a group, and what joining does to it."""

from __future__ import annotations

import attrs
from twisted.trial.unittest import SynchronousTestCase

from kafkatx.errors import ErrorCode
from kafkatx.group.actions import Client
from kafkatx.wire.messages.join_group import JoinGroupRequest, JoinGroupRequestProtocol
from tests.group.classic.acting import NOW_MS, RANGE, REBALANCE_MS, SETTINGS, Acting, subscription

BOTH = (("range", b"r"), ("sticky", b"s"))


class RefusedTests(SynchronousTestCase):
    def setUp(self) -> None:
        """A group without members."""
        self.acting = Acting()

    def assert_refused(self, token: int, error: ErrorCode) -> None:
        """The answer was this error, with no generation."""
        self.assertIs(self.acting.error(token), error)
        self.assertEqual(
            (self.acting.answers[token].generation_id, self.acting.answers[token].members), (-1, [])
        )

    def test_session_timeout(self) -> None:
        """A session time-out outside group.min/max.session.timeout.ms is refused; the bounds are allowed."""
        for session_ms in (-1, 0, 5999, 1_800_001):
            token = self.acting.join(version=3, session_ms=session_ms)
            self.assert_refused(token, ErrorCode.INVALID_SESSION_TIMEOUT)
        self.assertTrue(self.acting.unused)
        for session_ms in (6000, 1_800_000):
            self.assertTrue(self.acting.waits(self.acting.join(version=3, session_ms=session_ms)))

    def test_no_protocol(self) -> None:
        """Without a protocol type, or without a protocol, nobody can join an empty group."""
        for token in (self.acting.join(protocol_type=""), self.acting.join(protocols=[])):
            self.assert_refused(token, ErrorCode.INCONSISTENT_GROUP_PROTOCOL)
        self.assertTrue(self.acting.unused)
        self.assertEqual(self.acting.group.protocol_type, "")

    def test_another_type(self) -> None:
        """The protocol type of a group with members is theirs; when all have left any may come."""
        (member,) = self.acting.stable(1)
        token = self.acting.join(protocol_type="connect")
        self.assert_refused(token, ErrorCode.INCONSISTENT_GROUP_PROTOCOL)
        self.acting.leave(member)
        self.acting.stable(1, protocol_type="connect")
        self.assertEqual(self.acting.group.protocol_type, "connect")

    def test_nothing_in_common(self) -> None:
        """One of the protocols must be offered by all members, whether a member comes or joins again."""
        _, b = self.acting.stable(2)
        token = self.acting.join(version=3, protocols=[("sticky", b""), ("roundrobin", b"")])
        self.assert_refused(token, ErrorCode.INCONSISTENT_GROUP_PROTOCOL)
        token = self.acting.join(b, protocols=[("sticky", b"")])
        self.assert_refused(token, ErrorCode.INCONSISTENT_GROUP_PROTOCOL)
        self.assertEqual(self.acting.member(token), b)
        self.assertEqual(self.acting.group.state, "Stable")

    def test_unknown_member(self) -> None:
        """An id that is no member's is unknown: in an empty group, and in one with members."""
        self.assert_refused(self.acting.join("c-99"), ErrorCode.UNKNOWN_MEMBER_ID)
        self.acting.stable(1)
        self.assert_refused(self.acting.join("c-99"), ErrorCode.UNKNOWN_MEMBER_ID)
        self.assertEqual(self.acting.group.state, "Stable")

    def test_dead_group(self) -> None:
        """A group that ended sends its clients to look for the coordinator."""
        self.acting.perform(self.acting.group.unload(ErrorCode.NOT_COORDINATOR, self.acting.now_ms))
        self.assert_refused(self.acting.join(version=3), ErrorCode.COORDINATOR_NOT_AVAILABLE)


class MemberIdRequiredTests(SynchronousTestCase):
    """KIP-394: only for JoinGroup v4+ with an empty member id and without an instance id."""

    def test_version_4(self) -> None:
        """From version 4 on a member without an id is given one, and joins with it."""
        for version in range(4, 10):
            acting = Acting()
            token = acting.join(version=version, client="my-client")
            self.assertIs(acting.error(token), ErrorCode.MEMBER_ID_REQUIRED)
            self.assertEqual(acting.member(token), "my-client-1")
            self.assertEqual((acting.group.state, len(acting.group.members)), ("Empty", 0))
            again = acting.join("my-client-1", version=version)
            acting.pass_ms(3000)
            self.assertEqual(acting.answers[again].leader, "my-client-1")

    def test_before_version_4(self) -> None:
        """Before that it is a member at once, and learns its id with the generation."""
        for version in range(4):
            acting = Acting()
            token = acting.join(version=version, client="my-client")
            self.assertEqual(list(acting.group.members), ["my-client-1"])
            acting.pass_ms(3000)
            self.assertEqual(acting.member(token), "my-client-1")

    def test_static_member(self) -> None:
        """A static member needs no id; its id begins with the instance id."""
        acting = Acting()
        token = acting.join(instance="i", client="my-client")
        acting.pass_ms(3000)
        self.assertEqual(acting.member(token), "i-1")

    def test_given_id_with_an_instance(self) -> None:
        """An id that was given to a dynamic member is not a static member's."""
        acting = Acting()
        given = acting.member(acting.join(version=5))
        token = acting.join(given, instance="i")
        self.assertIs(acting.error(token), ErrorCode.UNKNOWN_MEMBER_ID)
        self.assertEqual(len(acting.group.members), 0)

    def test_given_ids_are_no_members(self) -> None:
        """Ids that were given out are not members: they neither lead nor are sent to the leader."""
        acting = Acting()
        token = acting.join(version=3)
        acting.join(version=4)
        acting.pass_ms(6000)
        self.assertEqual(len(acting.answers[token].members), 1)


class GroupMaxSizeTests(SynchronousTestCase):
    def full(self, count: int = 2) -> tuple[Acting, list[str]]:
        """A stable group that can have so many members, and has them."""
        acting = Acting(attrs.evolve(SETTINGS, max_size=count))
        return acting, acting.stable(count)

    def test_full(self) -> None:
        """A full group takes nobody new; its members may join again."""
        acting, (a, b) = self.full()
        token = acting.join(version=3)
        self.assertIs(acting.error(token), ErrorCode.GROUP_MAX_SIZE_REACHED)
        self.assertEqual(acting.member(token), "")
        self.assertEqual(acting.group.state, "Stable")
        token = acting.join(version=3, protocol_type="connect")
        self.assertIs(acting.error(token), ErrorCode.GROUP_MAX_SIZE_REACHED)
        tokens = [acting.join(a), acting.join(b)]
        self.assertEqual([acting.answers[token].generation_id for token in tokens], [2, 2])
        self.assertIs(acting.error(acting.join(version=3)), ErrorCode.GROUP_MAX_SIZE_REACHED)

    def test_join_phase(self) -> None:
        """In the join phase those count who have joined; a member that joins once more is not one more."""
        acting, (a, b) = self.full()
        acting.join(a)
        new = acting.join(version=3)
        self.assertTrue(acting.waits(new))
        again = acting.join(a)
        self.assertTrue(acting.waits(again))
        late = acting.join(b)
        self.assertIs(acting.error(late), ErrorCode.GROUP_MAX_SIZE_REACHED)
        self.assertEqual(set(acting.group.members), {a, acting.member(new)})
        self.assertEqual(acting.answers[again].generation_id, 2)

    def test_given_id(self) -> None:
        """An id that was given before the group was full is forgotten when it comes too late."""
        acting = Acting(attrs.evolve(SETTINGS, max_size=1))
        given = acting.member(acting.join(version=4))
        (a,) = acting.stable(1)
        self.assertIs(acting.error(acting.join(given)), ErrorCode.GROUP_MAX_SIZE_REACHED)
        token = acting.join(a)
        self.assertEqual(acting.answers[token].generation_id, 2)

    def test_static_member_comes_back(self) -> None:
        """A static member that comes back to a full group takes its own place, whatever the state."""
        acting = Acting(attrs.evolve(SETTINGS, max_size=1))
        acting.join(instance="i")
        token = acting.join(instance="i")
        self.assertTrue(acting.waits(token))
        acting.pass_ms(6000)
        acting.settle([acting.member(token)])
        self.assertIs(acting.error(acting.join(instance="i")), ErrorCode.NONE)
        self.assertIs(acting.error(acting.join(instance="j")), ErrorCode.GROUP_MAX_SIZE_REACHED)


class JoinAgainTests(SynchronousTestCase):
    def setUp(self) -> None:
        """A stable group of a leader and a follower."""
        self.acting = Acting()
        self.leader, self.follower = self.acting.stable(2)

    def test_follower(self) -> None:
        """A follower that joins again unchanged is told its generation; nobody rebalances."""
        token = self.acting.join(self.follower)
        joined = self.acting.answers[token]
        self.assertEqual((joined.error_code, joined.generation_id, joined.members), (0, 1, []))
        self.assertEqual((joined.leader, joined.member_id), (self.leader, self.follower))
        self.assertEqual(self.acting.group.state, "Stable")

    def test_changed_follower(self) -> None:
        """One that has changed begins a rebalance; so does another order of the same protocols."""
        acting = self.acting
        self.assertTrue(acting.waits(acting.join(self.follower, protocols=BOTH)))
        self.assertEqual(acting.group.state, "PreparingRebalance")
        acting.join(self.leader)
        acting.settle([self.leader, self.follower])
        self.assertTrue(acting.waits(acting.join(self.follower, protocols=BOTH[::-1])))

    def test_leader(self) -> None:
        """A leader that joins a stable group again begins a rebalance, changed or not."""
        self.assertTrue(self.acting.waits(self.acting.join(self.leader)))
        self.assertIs(self.acting.heartbeat(self.follower), ErrorCode.REBALANCE_IN_PROGRESS)

    def test_before_the_sync(self) -> None:
        """Who missed the answer of the join phase is told again: the leader with the list of members."""
        acting = self.acting
        acting.join(self.leader)
        acting.join(self.follower)
        self.assertEqual(acting.group.state, "CompletingRebalance")
        to_leader, to_follower = acting.join(self.leader), acting.join(self.follower)
        self.assertEqual(len(acting.answers[to_leader].members), 2)
        self.assertEqual(acting.answers[to_follower].members, [])
        self.assertEqual(acting.answers[to_follower].generation_id, 2)
        self.assertEqual(acting.group.state, "CompletingRebalance")

    def test_changed_before_the_sync(self) -> None:
        """Who has changed before it synced begins another rebalance; who waits for its part learns of it."""
        acting = self.acting
        acting.join(self.leader)
        acting.join(self.follower)
        waiting = acting.sync(self.follower)
        acting.join(self.leader, protocols=BOTH)
        self.assertIs(acting.error(waiting), ErrorCode.REBALANCE_IN_PROGRESS)
        self.assertEqual(acting.group.state, "PreparingRebalance")

    def test_asks_again(self) -> None:
        """A member whose JoinGroup waits and comes again is answered there; the earlier one gets 27."""
        acting = self.acting
        first, second = acting.join(self.leader), acting.join(self.leader)
        self.assertIs(acting.error(first), ErrorCode.REBALANCE_IN_PROGRESS)
        self.assertEqual(acting.member(first), self.leader)
        acting.join(self.follower)
        self.assertEqual(acting.answers[second].generation_id, 2)

    def test_changed_time_outs(self) -> None:
        """Time-outs are those that a member named last."""
        acting = self.acting
        acting.join(self.follower, protocols=BOTH, session_ms=20_000, rebalance_ms=90_000)
        member = acting.group.members[self.follower]
        self.assertEqual((member.session_timeout_ms, member.rebalance_timeout_ms), (20_000, 90_000))
        acting.join(self.leader)
        acting.settle([self.leader, self.follower])
        for _ in range(3):
            acting.pass_ms(6000)
            acting.heartbeat(self.leader)
        self.assertEqual(len(acting.group.members), 2)

    def test_reason(self) -> None:
        """What a client says of its reason (KIP-800) is told when the rebalance ends."""
        acting = self.acting
        acting.join(self.leader, reason="need to revoke partitions")
        acting.join(self.follower)
        acting.settle([self.leader, self.follower])
        self.assertEqual(
            acting.told[-1].values["reason"], f"{self.leader} joined again: need to revoke partitions"
        )

    def test_new_member(self) -> None:
        """A new member begins a rebalance; all three are in the next generation."""
        acting = self.acting
        new = acting.join(version=3)
        acting.join(self.leader)
        acting.join(self.follower)
        self.assertEqual(acting.answers[new].leader, self.leader)
        self.assertEqual(len(acting.group.members), 3)


class ProtocolTests(SynchronousTestCase):
    def test_votes(self) -> None:
        """The protocol is what most members like best of what all offer; the metadata is of that one."""
        acting = Acting()
        tokens = [acting.join(version=3, protocols=offer) for offer in (BOTH, BOTH[::-1], BOTH[::-1])]
        acting.pass_ms(6000)
        joined = acting.answers[tokens[0]]
        self.assertEqual(joined.protocol_name, "sticky")
        self.assertEqual([m.metadata for m in joined.members], [b"s"] * 3)

    def test_upgrade(self) -> None:
        """Members move to another protocol one after the other: it is chosen once all offer it."""
        acting = Acting()
        a, b = acting.stable(2)
        self.assertEqual(acting.group.protocol_name, "range")
        acting.join(a, protocols=BOTH[::-1])
        acting.join(b)
        self.assertEqual(acting.group.protocol_name, "range")
        acting.settle([a, b])
        acting.join(b, protocols=BOTH[::-1])
        acting.join(a, protocols=BOTH[::-1])
        self.assertEqual(acting.group.protocol_name, "sticky")

    def test_same_name_twice(self) -> None:
        """A protocol that one member offers twice is not offered by two."""
        acting = Acting()
        acting.join(version=3, protocols=[("range", b"1"), ("range", b"2")])
        token = acting.join(version=3, protocols=[("sticky", b"")])
        self.assertIs(acting.error(token), ErrorCode.INCONSISTENT_GROUP_PROTOCOL)
        acting.leave(next(iter(acting.group.members)))
        acting.stable(2)
        self.assertEqual(acting.group.state, "Stable")

    def test_every_version(self) -> None:
        """Join, sync and the answers of both do in every version; type and name are told from 7 and 5 on."""
        for version in range(10):
            acting = Acting()
            token = acting.join(version=version)
            if version >= 4:
                token = acting.join(acting.member(token), version=version)
            acting.pass_ms(6000)
            joined = acting.answers[token]
            self.assertEqual((joined.error_code, joined.protocol_name), (0, "range"))
            self.assertEqual(joined.protocol_type, "consumer" if version >= 7 else None)
            synced = acting.sync(joined.member_id, {joined.member_id: b"part"}, version=min(version, 5))
            self.assertEqual(acting.answers[synced].assignment, b"part")

    def test_metadata_of_a_buffer(self) -> None:
        """Metadata that is a slice of a request's buffer is copied: the buffer will hold the next request."""
        acting = Acting()
        buffer = bytearray(b"metadata")
        protocol = JoinGroupRequestProtocol("range", memoryview(buffer))  # type: ignore[arg-type]
        request = JoinGroupRequest("g", 10_000, 60_000, "", None, "consumer", [protocol])
        acting.versions[0] = 3
        acting.perform(acting.group.join(request, 3, Client("c", "/h"), 0, NOW_MS))
        buffer[:] = b"XXXXXXXX"
        acting.pass_ms(6000)
        self.assertEqual(acting.answers[0].members[0].metadata, b"metadata")


class CooperativeTests(SynchronousTestCase):
    def test_two_rebalances_in_a_row(self) -> None:
        """Cooperative members tell what they own, give partitions up, and join at once again (KIP-429).

        To the group it is two rebalances: what is owned passes through to the leader, and the members that
        joined again before everybody had synced get all of the next generation.
        """
        acting = Acting()
        (a,) = acting.stable(1, protocols=[("cooperative-sticky", subscription("t"))])
        owns_both = subscription("t", rest=b"owns t-0 and t-1")
        owns_none = subscription("t", rest=b"owns nothing")
        b_token = acting.join(version=3, protocols=[("cooperative-sticky", owns_none)])
        self.assertIs(acting.heartbeat(a), ErrorCode.REBALANCE_IN_PROGRESS)
        self.assertIs(acting.commit(a, 1), ErrorCode.NONE)
        a_token = acting.join(a, protocols=[("cooperative-sticky", owns_both)])
        self.assertEqual([m.metadata for m in acting.answers[a_token].members], [owns_both, owns_none])
        b = acting.member(b_token)
        synced = acting.sync(a, {a: b"t-0", b: b""}, generation=2, version=3)
        self.assertEqual(acting.answers[synced].assignment, b"t-0")
        owns_one = subscription("t", rest=b"owns t-0")
        a_token = acting.join(a, protocols=[("cooperative-sticky", owns_one)])  # b has not even synced
        self.assertIs(acting.error(acting.sync(b, generation=2, version=3)), ErrorCode.REBALANCE_IN_PROGRESS)
        acting.join(b, protocols=[("cooperative-sticky", owns_none)])
        self.assertEqual([m.metadata for m in acting.answers[a_token].members], [owns_one, owns_none])
        acting.sync(a, {a: b"t-0", b: b"t-1"}, generation=3, version=3)
        self.assertEqual(acting.answers[acting.sync(b, generation=3, version=3)].assignment, b"t-1")
        self.assertEqual((acting.group.state, acting.group.generation), ("Stable", 3))


class ManyTests(SynchronousTestCase):
    def test_a_hundred_members(self) -> None:
        """A rebalance of a hundred members ends with the last of them."""
        acting = Acting()
        members = acting.stable(100)
        tokens = [acting.join(member, protocols=RANGE) for member in members]
        self.assertEqual({acting.answers[token].generation_id for token in tokens}, {2})
        acting.settle(members)
        acting.pass_ms(REBALANCE_MS // 10)
        self.assertEqual((acting.group.state, len(acting.group.members)), ("Stable", 100))
