"""Assignments: stored first, then handed out."""

from __future__ import annotations

from twisted.trial.unittest import SynchronousTestCase

from kafkatx.errors import ErrorCode
from kafkatx.group.classic.records import decode_value
from tests.group.classic.acting import REBALANCE_MS, SESSION_MS, Acting


class SyncTests(SynchronousTestCase):
    def setUp(self) -> None:
        """Two members have joined, and have not synced."""
        self.acting = Acting()
        tokens = [self.acting.join(version=3) for _ in range(2)]
        self.acting.pass_ms(6000)
        self.leader, self.follower = map(self.acting.member, tokens)
        self.parts = {self.leader: b"one", self.follower: b"two"}

    def test_hand_out(self) -> None:
        """Followers wait for the leader's assignment; each gets its own part."""
        acting = self.acting
        waiting = acting.sync(self.follower)
        self.assertTrue(acting.waits(waiting))
        token = acting.sync(self.leader, self.parts)
        self.assertEqual(acting.answers[token].assignment, b"one")
        synced = acting.answers[waiting]
        self.assertEqual(
            (synced.assignment, synced.protocol_type, synced.protocol_name), (b"two", "consumer", "range")
        )
        self.assertEqual(acting.group.state, "Stable")
        self.assertEqual(acting.told[-1].values["members"], 2)

    def test_late_follower(self) -> None:
        """Who syncs when the group is stable gets its part at once, as often as it asks."""
        self.acting.sync(self.leader, self.parts)
        for _ in range(2):
            token = self.acting.sync(self.follower)
            self.assertEqual(self.acting.answers[token].assignment, b"two")

    def test_stored_first(self) -> None:
        """No member gets its part before the assignment is stored; the record has all of it."""
        acting = self.acting
        acting.holds = True
        tokens = [acting.sync(self.follower), acting.sync(self.leader, self.parts)]
        self.assertTrue(all(map(acting.waits, tokens)))
        self.assertEqual(acting.group.state, "CompletingRebalance")
        stored = decode_value(acting.records[-1].value or b"")
        self.assertEqual({m.member_id: m.assignment for m in stored.members}, self.parts)
        self.assertEqual((stored.generation, stored.leader, stored.protocol), (1, self.leader, "range"))
        acting.end_store()
        self.assertFalse(any(map(acting.waits, tokens)))

    def test_left_out(self) -> None:
        """A member that the leader left out gets nothing; one that it made up changes nothing."""
        acting = self.acting
        acting.sync(self.leader, {self.leader: b"one", "nobody": b"three"})
        self.assertEqual(acting.answers[acting.sync(self.follower)].assignment, b"")
        self.assertEqual(set(acting.group.members), {self.leader, self.follower})

    def test_only_the_leader_assigns(self) -> None:
        """What a follower sends as an assignment is not looked at."""
        token = self.acting.sync(self.follower, self.parts)
        self.assertTrue(self.acting.waits(token))
        self.assertEqual(self.acting.records, [])

    def test_store_fails(self) -> None:
        """If the assignment cannot be stored all learn of it, nobody has a part, and the group rebalances."""
        acting = self.acting
        acting.errors = [ErrorCode.NOT_ENOUGH_REPLICAS]
        tokens = [acting.sync(self.follower), acting.sync(self.leader, self.parts)]
        self.assertEqual([acting.error(token) for token in tokens], [ErrorCode.COORDINATOR_NOT_AVAILABLE] * 2)
        self.assertEqual(acting.group.state, "PreparingRebalance")
        self.assertEqual({m.assignment for m in acting.group.members.values()}, {b""})
        again = [acting.join(self.leader), acting.join(self.follower)]
        self.assertEqual([acting.answers[token].generation_id for token in again], [2, 2])

    def test_store_fails_and_nobody_comes(self) -> None:
        """After a failed store members who do not join again are removed."""
        self.acting.errors = [ErrorCode.KAFKA_STORAGE_ERROR]
        self.acting.sync(self.leader, self.parts)
        self.acting.pass_ms(REBALANCE_MS)
        self.assertEqual(self.acting.group.state, "Empty")

    def test_errors_of_the_store(self) -> None:
        """What members are told is what Apache Kafka tells them (appendGroupMetadataErrorToResponseError)."""
        told = {
            ErrorCode.UNKNOWN_TOPIC_OR_PARTITION: ErrorCode.COORDINATOR_NOT_AVAILABLE,
            ErrorCode.REQUEST_TIMED_OUT: ErrorCode.COORDINATOR_NOT_AVAILABLE,
            ErrorCode.NOT_LEADER_OR_FOLLOWER: ErrorCode.NOT_COORDINATOR,
            ErrorCode.KAFKA_STORAGE_ERROR: ErrorCode.NOT_COORDINATOR,
            ErrorCode.MESSAGE_TOO_LARGE: ErrorCode.UNKNOWN_SERVER_ERROR,
            ErrorCode.RECORD_LIST_TOO_LARGE: ErrorCode.UNKNOWN_SERVER_ERROR,
            ErrorCode.INVALID_FETCH_SIZE: ErrorCode.UNKNOWN_SERVER_ERROR,
            ErrorCode.COORDINATOR_NOT_AVAILABLE: ErrorCode.COORDINATOR_NOT_AVAILABLE,
        }
        for error, expected in told.items():
            self.acting.errors = [error]
            token = self.acting.sync(self.acting.group.leader or "", self.parts)
            self.assertIs(self.acting.error(token), expected)
            for member in list(self.acting.group.members):
                self.acting.join(member)

    def test_rebalance_while_storing(self) -> None:
        """If a rebalance begins before the assignment is stored nobody ever gets it."""
        acting = self.acting
        acting.holds = True
        tokens = [acting.sync(self.follower), acting.sync(self.leader, self.parts)]
        acting.join(version=3)
        self.assertEqual([acting.error(token) for token in tokens], [ErrorCode.REBALANCE_IN_PROGRESS] * 2)
        acting.end_store()
        self.assertEqual(acting.group.state, "PreparingRebalance")
        self.assertEqual({m.assignment for m in acting.group.members.values()}, {b""})

    def test_next_generation_while_storing(self) -> None:
        """The store of one generation hands nothing out in the next."""
        acting = self.acting
        acting.holds = True
        acting.sync(self.leader, self.parts)
        for member in (self.leader, self.follower):
            acting.join(member, protocols=[("range", b"new")])
        waiting = acting.sync(self.follower)
        self.assertEqual((acting.group.state, acting.group.generation), ("CompletingRebalance", 2))
        acting.errors = [ErrorCode.KAFKA_STORAGE_ERROR]
        acting.end_store()
        self.assertTrue(acting.waits(waiting))
        self.assertEqual(acting.group.state, "CompletingRebalance")

    def test_asks_again(self) -> None:
        """A member that syncs again while it waits is answered by the later request; the earlier gets 27."""
        acting = self.acting
        first, second = acting.sync(self.follower), acting.sync(self.follower)
        self.assertIs(acting.error(first), ErrorCode.REBALANCE_IN_PROGRESS)
        acting.sync(self.leader, self.parts)
        self.assertEqual(acting.answers[second].assignment, b"two")

    def test_leaves_while_it_waits(self) -> None:
        """A member that is removed while its SyncGroup waits is answered UNKNOWN_MEMBER_ID."""
        token = self.acting.sync(self.follower)
        self.acting.leave(self.follower)
        self.assertIs(self.acting.error(token), ErrorCode.UNKNOWN_MEMBER_ID)

    def test_old_parts(self) -> None:
        """Who rebalances before it has synced has no part any more, of whichever generation."""
        acting = self.acting
        acting.settle([self.leader, self.follower])
        for member in (self.leader, self.follower):
            acting.join(member)
        self.assertEqual(acting.group.state, "CompletingRebalance")
        acting.join(version=3)
        self.assertEqual({m.assignment for m in acting.group.members.values()}, {b""})

    def test_sign_of_life(self) -> None:
        """A SyncGroup in a stable group is a sign of life."""
        acting = self.acting
        acting.settle([self.leader, self.follower])
        acting.pass_ms(SESSION_MS - 1)
        acting.sync(self.follower)
        acting.pass_ms(1)
        self.assertEqual(list(acting.group.members), [self.follower])

    def test_left_before_it_synced(self) -> None:
        """Whoever left before it synced is not looked for when the time to sync is over."""
        acting = self.acting
        acting.join(self.leader, protocols=[("range", b"new")])
        acting.leave(self.follower)
        acting.settle([self.leader])
        for _ in range(10):
            acting.pass_ms(REBALANCE_MS // 8)
            acting.heartbeat(self.leader)
        self.assertEqual((acting.group.state, acting.group.generation), ("Stable", 2))

    def test_in_the_join_phase(self) -> None:
        """During the join phase SyncGroup answers REBALANCE_IN_PROGRESS."""
        self.acting.join(version=3)
        self.assertIs(self.acting.error(self.acting.sync(self.leader)), ErrorCode.REBALANCE_IN_PROGRESS)

    def test_bad_requests(self) -> None:
        """Not a member, another generation, another protocol: each with Kafka's own code."""
        acting, leader = self.acting, self.leader
        expected = {
            acting.sync("nobody"): ErrorCode.UNKNOWN_MEMBER_ID,
            acting.sync(""): ErrorCode.UNKNOWN_MEMBER_ID,
            acting.sync(leader, instance="i"): ErrorCode.UNKNOWN_MEMBER_ID,
            acting.sync(leader, generation=2): ErrorCode.ILLEGAL_GENERATION,
            acting.sync(leader, generation=-1): ErrorCode.ILLEGAL_GENERATION,
            acting.sync(leader, protocol_type="connect"): ErrorCode.INCONSISTENT_GROUP_PROTOCOL,
            acting.sync(leader, protocol_name="sticky"): ErrorCode.INCONSISTENT_GROUP_PROTOCOL,
            acting.sync(leader, protocol_type=None): ErrorCode.INCONSISTENT_GROUP_PROTOCOL,
            acting.sync(leader, protocol_name=None): ErrorCode.INCONSISTENT_GROUP_PROTOCOL,
        }
        self.assertEqual({token: acting.error(token) for token in expected}, expected)
        self.assertEqual(acting.records, [])
        for version in range(5):  # has no protocol in it yet
            self.assertTrue(acting.waits(acting.sync(self.follower, version=version)))

    def test_empty_group(self) -> None:
        """A group without members knows nobody."""
        acting = Acting()
        self.assertIs(acting.error(acting.sync("a")), ErrorCode.UNKNOWN_MEMBER_ID)
