"""Members of the classic protocol in a group of KIP-848."""

from __future__ import annotations

import attrs

from kafkatx.errors import ErrorCode
from kafkatx.group.protocol import version_of
from kafkatx.wire.messages.leave_group import MemberIdentity
from tests.group.consumer.driver import CLASSIC_SESSION_MS, REBALANCE_MS, MixedTestCase, cluster, t, topic

ALL = t(0, 1, 2, 3, 4, 5)
REBALANCE = ErrorCode.REBALANCE_IN_PROGRESS


class JoinTests(MixedTestCase):
    def setUp(self) -> None:
        """Make a group with a member of KIP-848."""
        super().setUp()
        self.joined("a")

    def settle(self, member_id: str, generation: int) -> int:
        """Revoke partitions of the member of KIP-848; the classic one joins again and gets them."""
        kept = self.assigned(self.send("a", 1))
        self.send("a", 1, owned=kept)
        self.assertEqual(self.beat(member_id, generation), REBALANCE)
        joined = self.classic_join(member_id)
        self.assertEqual(self.synced(member_id, joined.generation_id), ALL - kept)
        again: int = joined.generation_id
        return again

    def test_id_required(self) -> None:
        """A new member is given an id first, except a static one and one of an old version."""
        response = self.classic_join()
        self.assertEqual(
            (response.error_code, response.member_id), (ErrorCode.MEMBER_ID_REQUIRED, "client-1")
        )
        self.assertEqual(len(self.group.consumer_describe().members), 1)
        self.assertEqual(self.classic_join(group_instance_id="i").error_code, 0)
        self.assertEqual(self.classic_join(version=3).error_code, 0)

    def test_joined(self) -> None:
        """A join is answered at once, without a leader, and with a protocol that the member offered."""
        self.classic_join("b", protocols=("range", "roundrobin"))
        response = self.classic_join("b", protocols=("range", "roundrobin"))
        self.assertEqual(
            (response.protocol_type, response.protocol_name, response.leader, response.members),
            ("consumer", "range", "", []),
        )
        self.assertEqual((response.member_id, response.generation_id), ("b", 2))

    def test_gets_its_share(self) -> None:
        """A classic member gets its half when the other has given it up, and has nothing until then."""
        member_id, generation = self.classic_joined()
        self.assertEqual(self.synced(member_id, generation), set())
        self.assertEqual(self.beat(member_id, generation), 0)
        generation = self.settle(member_id, generation)
        self.assertEqual(self.beat(member_id, generation), 0)
        self.assertEqual(self.group.state, "Stable")

    def test_gives_up(self) -> None:
        """A classic member revokes partitions by joining again without them; only then another gets them."""
        member_id, generation = self.classic_joined()
        self.send("a", 1)
        self.send("a", 1, owned=set())
        generation = self.classic_join(member_id).generation_id
        mine = self.synced(member_id, generation)
        self.send("c", 0, ["t"], set(), rebalance_timeout_ms=REBALANCE_MS)
        self.assertEqual(self.beat(member_id, generation), REBALANCE)
        self.assertEqual(self.sync(member_id, generation).error_code, REBALANCE)
        joined = self.classic_join(member_id, owned=mine)
        kept = self.synced(member_id, joined.generation_id)
        self.assertLess(kept, mine)
        self.assertEqual((joined.generation_id, self.beat(member_id, joined.generation_id)), (2, REBALANCE))
        again = self.classic_join(member_id, owned=kept)
        self.assertEqual(again.generation_id, 3)
        self.assertEqual(self.assigned(self.send("c", 3)) & mine, mine - kept)

    def test_eager(self) -> None:
        """A member that owns nothing when it joins, as with eager assignors, gets its new share at once."""
        member_id, generation = self.classic_joined()
        self.settle(member_id, generation)
        self.joined("c")
        joined = self.classic_join(member_id, owned=set())
        self.assertEqual(joined.generation_id, 3)
        self.assertEqual(len(self.synced(member_id, joined.generation_id)), 2)

    def test_waits_for_all(self) -> None:
        """A member is told to join again once, when all partitions that it waits for are free."""
        self.cluster = cluster(topic("t", 8))
        self.send("a", 1)
        self.joined("c")
        self.send("a", 2)
        half = self.assigned(self.send("a", 2, ["t"], t(0, 1, 2, 3, 4, 5, 6, 7), rebalance_timeout_ms=9))
        self.send("a", 2, owned=half)
        self.assertEqual(len(self.assigned(self.send("c", 3))), 4)
        member_id, generation = self.classic_joined()
        less = self.assigned(self.send("a", 3))
        self.send("a", 3, owned=less)
        self.assertEqual(self.beat(member_id, generation), 0)
        less = self.assigned(self.send("c", 3))
        self.send("c", 3, owned=less)
        self.assertEqual(self.beat(member_id, generation), REBALANCE)

    def test_topics_change(self) -> None:
        """A heartbeat of a classic member also notices that topics grow."""
        member_id, generation = self.classic_joined()
        self.settle(member_id, generation)
        self.cluster = cluster(topic("t", 9))
        self.assertEqual(self.beat(member_id, self.described(member_id).member_epoch), REBALANCE)

    def test_assignment_version(self) -> None:
        """The assignment has the version of the member's subscription, and omits deleted topics."""
        member_id, generation = self.classic_joined()
        generation = self.settle(member_id, generation)
        self.assertEqual(version_of(self.sync(member_id, generation).assignment), 1)
        self.cluster = cluster()
        self.assertEqual(self.synced(member_id, generation), set())

    def test_inconsistent(self) -> None:
        """A member that shares no protocol with other classic members, or is no consumer, is refused."""
        self.classic_joined(protocols=("range", "sticky"))
        for fields in (
            {"protocols": ("roundrobin",)},
            {"protocol_type": "connect"},
            {"metadata": b""},
            {"metadata": b"\0\1\0\0"},
            {"protocols": ()},
        ):
            response = self.classic_join("x", **fields)
            self.assertEqual(response.error_code, ErrorCode.INCONSISTENT_GROUP_PROTOCOL, fields)
        self.assertEqual(self.classic_join("x", protocols=("sticky",)).error_code, 0)

    def test_full_and_long(self) -> None:
        """A full group also refuses classic members, and an id too long for a record is refused."""
        self.assertEqual(self.classic_join("m" * 40_000).error_code, ErrorCode.INVALID_REQUEST)
        self.settings = attrs.evolve(self.settings, consumer_max_size=1)
        self.assertEqual(self.classic_join().error_code, ErrorCode.GROUP_MAX_SIZE_REACHED)

    def test_commit(self) -> None:
        """A classic member commits with its generation; another generation is ILLEGAL_GENERATION."""
        member_id, generation = self.classic_joined()
        for given, code in ((generation, 0), (generation + 1, ErrorCode.ILLEGAL_GENERATION)):
            self.assertEqual(self.group.check_commit(member_id, None, given, 8, 0), code)
            self.assertEqual(self.group.check_fetch(member_id, given, 0), code)


class TimeTests(MixedTestCase):
    def setUp(self) -> None:
        """Make a balanced group with one member of each protocol."""
        super().setUp()
        self.joined("a")
        self.member_id, self.generation = self.classic_joined()

    def gone(self) -> bool:
        """Return True if the classic member was removed."""
        return len(self.group.consumer_describe().members) == 1

    def test_session(self) -> None:
        """A classic member's own session time-out runs from its last request."""
        self.sync(self.member_id, self.generation)
        self.pass_time(CLASSIC_SESSION_MS - 1)
        self.assertEqual(self.beat(self.member_id, self.generation), 0)
        self.pass_time(CLASSIC_SESSION_MS - 1)
        self.assertFalse(self.gone())
        self.pass_time(1)
        self.assertTrue(self.gone())
        self.assertEqual(self.beat(self.member_id, self.generation), ErrorCode.UNKNOWN_MEMBER_ID)

    def test_never_syncs(self) -> None:
        """A member that joins and does not sync within its rebalance time-out is removed."""
        self.send("a", 1, owned=set())
        self.pass_time(0)
        for _ in range(REBALANCE_MS // 1000 - 1):
            self.pass_time(1000)
            self.assertNotEqual(self.beat(self.member_id, self.generation), ErrorCode.UNKNOWN_MEMBER_ID)
            self.send("a", 2)
        self.pass_time(1000)
        self.assertTrue(self.gone())

    def test_never_joins_again(self) -> None:
        """A member that is told to join again and does not within its rebalance time-out is removed."""
        self.leave(MemberIdentity(self.member_id))
        self.member_id, self.generation = self.classic_joined(rebalance_timeout_ms=20_000)
        self.sync(self.member_id, self.generation)
        self.joined("c")
        self.pass_time(5000)
        self.assertEqual(self.beat(self.member_id, self.generation), REBALANCE)
        for _ in range(19):
            self.pass_time(1000)
            self.assertEqual(self.beat(self.member_id, self.generation), REBALANCE)
            self.assertFalse(self.gone())
        self.pass_time(1000)
        self.assertEqual(self.beat(self.member_id, self.generation), ErrorCode.UNKNOWN_MEMBER_ID)

    def test_joins_again_in_time(self) -> None:
        """A member that has joined again in time is not removed."""
        self.sync(self.member_id, self.generation)
        self.joined("c", rebalance_timeout_ms=10 * REBALANCE_MS)
        self.assertEqual(self.beat(self.member_id, self.generation), REBALANCE)
        joined = self.classic_join(self.member_id)
        self.sync(self.member_id, joined.generation_id)
        for _ in range(REBALANCE_MS // 1000 + 1):
            self.pass_time(1000)
            self.beat(self.member_id, joined.generation_id)
            self.send("c", 3)
        self.assertEqual(self.described(self.member_id).member_id, self.member_id)

    def test_old_version(self) -> None:
        """JoinGroup v0 uses the session time-out as the rebalance time-out."""
        response = self.classic_join(version=0, rebalance_timeout_ms=-1)
        self.pass_time(CLASSIC_SESSION_MS - 1)
        self.assertEqual(self.sync(response.member_id, response.generation_id).error_code, 0)


class CheckTests(MixedTestCase):
    def test_who_asks(self) -> None:
        """Every request refuses members of KIP-848, unknown members, and wrong generations or instances."""
        self.joined("a")
        member_id, generation = self.classic_joined(group_instance_id="i")
        for who, given, instance, code in (
            ("a", 1, None, ErrorCode.UNKNOWN_MEMBER_ID),
            ("x", 1, None, ErrorCode.UNKNOWN_MEMBER_ID),
            (member_id, generation + 1, "i", ErrorCode.ILLEGAL_GENERATION),
            (member_id, generation, "j", ErrorCode.UNKNOWN_MEMBER_ID),
            ("x", generation, "i", ErrorCode.FENCED_INSTANCE_ID),
            (member_id, generation, "i", ErrorCode.NONE),
        ):
            self.assertEqual(self.beat(who, given, instance), code)
            self.assertEqual(self.sync(who, given, group_instance_id=instance).error_code, code)

    def test_protocol(self) -> None:
        """SyncGroup may name type and protocol of the JoinGroup's answer, and its answer repeats them."""
        self.joined("a")
        member_id, generation = self.classic_joined()
        response = self.sync(member_id, generation, protocol_type="consumer", protocol_name="range")
        self.assertEqual((response.protocol_type, response.protocol_name), ("consumer", "range"))
        for fields in (
            {"protocol_type": "connect", "protocol_name": "range"},
            {"protocol_type": "consumer", "protocol_name": "sticky"},
            {"protocol_type": None, "protocol_name": "range"},
            {"protocol_type": "consumer", "protocol_name": None},
        ):
            code = self.sync(member_id, generation, **fields).error_code
            self.assertEqual(code, ErrorCode.INCONSISTENT_GROUP_PROTOCOL)


class LeaveTests(MixedTestCase):
    def setUp(self) -> None:
        """Make a group of two members of KIP-848, so that it stays a consumer group."""
        super().setUp()
        self.joined("a")
        self.joined("b")

    def test_many(self) -> None:
        """Valid members of a LeaveGroup leave though others are refused; the epoch increases once."""
        one, _ = self.classic_joined()
        self.classic_joined(group_instance_id="i")
        three, _ = self.classic_joined(group_instance_id="j")
        before = self.group.consumer_describe().group_epoch
        response = self.leave(
            MemberIdentity(one),
            MemberIdentity("x"),
            MemberIdentity("x", "i"),
            MemberIdentity("", "i"),
            MemberIdentity(three, "j"),
            MemberIdentity("", "k"),
        )
        unknown, fenced = ErrorCode.UNKNOWN_MEMBER_ID, ErrorCode.FENCED_INSTANCE_ID
        codes = [result.error_code for result in response.members]
        self.assertEqual((response.error_code, codes), (0, [0, unknown, fenced, 0, 0, unknown]))
        described = self.group.consumer_describe()
        self.assertEqual(len(described.members), 2)
        self.assertEqual(described.group_epoch, before + 1)

    def test_one(self) -> None:
        """A LeaveGroup before version 3 removes one member, and the error is the request's."""
        one, _ = self.classic_joined()
        self.assertEqual(self.leave(version=2, member_id=one).error_code, 0)
        self.assertEqual(self.leave(version=2, member_id=one).error_code, ErrorCode.UNKNOWN_MEMBER_ID)
