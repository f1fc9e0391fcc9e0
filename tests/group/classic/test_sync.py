"""Assignments: stored first, then handed out."""

from __future__ import annotations

from twisted.trial.unittest import SynchronousTestCase

from kafkatx.errors import ErrorCode
from kafkatx.group.classic.records import decode_value
from tests.group.classic.driver import REBALANCE_MS, SESSION_MS, GroupDriver


class SyncTests(SynchronousTestCase):
    def setUp(self) -> None:
        """Make a group of two members that have joined and not synced."""
        self.driver = GroupDriver()
        tokens = [self.driver.join(version=3) for _ in range(2)]
        self.driver.pass_ms(6000)
        self.leader, self.follower = map(self.driver.member, tokens)
        self.parts = {self.leader: b"one", self.follower: b"two"}

    def test_hand_out(self) -> None:
        """Followers wait for the leader's assignment; each gets its own part."""
        driver = self.driver
        waiting = driver.sync(self.follower)
        self.assertTrue(driver.waits(waiting))
        token = driver.sync(self.leader, self.parts)
        self.assertEqual(driver.answers[token].assignment, b"one")
        synced = driver.answers[waiting]
        self.assertEqual(
            (synced.assignment, synced.protocol_type, synced.protocol_name), (b"two", "consumer", "range")
        )
        self.assertEqual(driver.group.state, "Stable")
        self.assertEqual(driver.told[-1].values["members"], 2)

    def test_late_follower(self) -> None:
        """A member that syncs with a stable group gets its part at once, every time."""
        self.driver.sync(self.leader, self.parts)
        for _ in range(2):
            token = self.driver.sync(self.follower)
            self.assertEqual(self.driver.answers[token].assignment, b"two")

    def test_stored_first(self) -> None:
        """No member gets its part before the assignment is stored; the record has all of it."""
        driver = self.driver
        driver.holds = True
        tokens = [driver.sync(self.follower), driver.sync(self.leader, self.parts)]
        self.assertTrue(all(map(driver.waits, tokens)))
        self.assertEqual(driver.group.state, "CompletingRebalance")
        stored = decode_value(driver.records[-1].value or b"")
        self.assertEqual({m.member_id: m.assignment for m in stored.members}, self.parts)
        self.assertEqual((stored.generation, stored.leader, stored.protocol), (1, self.leader, "range"))
        driver.end_store()
        self.assertFalse(any(map(driver.waits, tokens)))

    def test_left_out(self) -> None:
        """A member that the leader omits gets nothing; an unknown member in the assignment is ignored."""
        driver = self.driver
        driver.sync(self.leader, {self.leader: b"one", "nobody": b"three"})
        self.assertEqual(driver.answers[driver.sync(self.follower)].assignment, b"")
        self.assertEqual(set(driver.group.members), {self.leader, self.follower})

    def test_only_the_leader_assigns(self) -> None:
        """An assignment that a follower sends is ignored."""
        token = self.driver.sync(self.follower, self.parts)
        self.assertTrue(self.driver.waits(token))
        self.assertEqual(self.driver.records, [])

    def test_store_fails(self) -> None:
        """A failed store is reported to all members, clears their assignments, and begins a rebalance."""
        driver = self.driver
        driver.errors = [ErrorCode.NOT_ENOUGH_REPLICAS]
        tokens = [driver.sync(self.follower), driver.sync(self.leader, self.parts)]
        self.assertEqual([driver.error(token) for token in tokens], [ErrorCode.COORDINATOR_NOT_AVAILABLE] * 2)
        self.assertEqual(driver.group.state, "PreparingRebalance")
        self.assertEqual({m.assignment for m in driver.group.members.values()}, {b""})
        again = [driver.join(self.leader), driver.join(self.follower)]
        self.assertEqual([driver.answers[token].generation_id for token in again], [2, 2])

    def test_store_fails_and_nobody_comes(self) -> None:
        """Members that do not join again after a failed store are removed."""
        self.driver.errors = [ErrorCode.KAFKA_STORAGE_ERROR]
        self.driver.sync(self.leader, self.parts)
        self.driver.pass_ms(REBALANCE_MS)
        self.assertEqual(self.driver.group.state, "Empty")

    def test_errors_of_the_store(self) -> None:
        """Errors of the store are translated as in Apache Kafka (appendGroupMetadataErrorToResponseError)."""
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
            self.driver.errors = [error]
            token = self.driver.sync(self.driver.group.leader or "", self.parts)
            self.assertIs(self.driver.error(token), expected)
            for member in list(self.driver.group.members):
                self.driver.join(member)

    def test_rebalance_while_storing(self) -> None:
        """An assignment is discarded if a rebalance begins before it is stored."""
        driver = self.driver
        driver.holds = True
        tokens = [driver.sync(self.follower), driver.sync(self.leader, self.parts)]
        driver.join(version=3)
        self.assertEqual([driver.error(token) for token in tokens], [ErrorCode.REBALANCE_IN_PROGRESS] * 2)
        driver.end_store()
        self.assertEqual(driver.group.state, "PreparingRebalance")
        self.assertEqual({m.assignment for m in driver.group.members.values()}, {b""})

    def test_next_generation_while_storing(self) -> None:
        """The store of one generation hands out no assignments in the next."""
        driver = self.driver
        driver.holds = True
        driver.sync(self.leader, self.parts)
        for member in (self.leader, self.follower):
            driver.join(member, protocols=[("range", b"new")])
        waiting = driver.sync(self.follower)
        self.assertEqual((driver.group.state, driver.group.generation), ("CompletingRebalance", 2))
        driver.errors = [ErrorCode.KAFKA_STORAGE_ERROR]
        driver.end_store()
        self.assertTrue(driver.waits(waiting))
        self.assertEqual(driver.group.state, "CompletingRebalance")

    def test_asks_again(self) -> None:
        """A second SyncGroup of a waiting member is the one that is answered; the first gets 27."""
        driver = self.driver
        first, second = driver.sync(self.follower), driver.sync(self.follower)
        self.assertIs(driver.error(first), ErrorCode.REBALANCE_IN_PROGRESS)
        driver.sync(self.leader, self.parts)
        self.assertEqual(driver.answers[second].assignment, b"two")

    def test_leaves_while_it_waits(self) -> None:
        """A member that is removed while its SyncGroup waits is answered UNKNOWN_MEMBER_ID."""
        token = self.driver.sync(self.follower)
        self.driver.leave(self.follower)
        self.assertIs(self.driver.error(token), ErrorCode.UNKNOWN_MEMBER_ID)

    def test_old_parts(self) -> None:
        """A member that rebalances before it has synced loses its assignment of any generation."""
        driver = self.driver
        driver.settle([self.leader, self.follower])
        for member in (self.leader, self.follower):
            driver.join(member)
        self.assertEqual(driver.group.state, "CompletingRebalance")
        driver.join(version=3)
        self.assertEqual({m.assignment for m in driver.group.members.values()}, {b""})

    def test_sign_of_life(self) -> None:
        """A SyncGroup in a stable group is a sign of life."""
        driver = self.driver
        driver.settle([self.leader, self.follower])
        driver.pass_ms(SESSION_MS - 1)
        driver.sync(self.follower)
        driver.pass_ms(1)
        self.assertEqual(list(driver.group.members), [self.follower])

    def test_left_before_it_synced(self) -> None:
        """A member that left before it synced is not expected when the time to sync is over."""
        driver = self.driver
        driver.join(self.leader, protocols=[("range", b"new")])
        driver.leave(self.follower)
        driver.settle([self.leader])
        for _ in range(10):
            driver.pass_ms(REBALANCE_MS // 8)
            driver.heartbeat(self.leader)
        self.assertEqual((driver.group.state, driver.group.generation), ("Stable", 2))

    def test_in_the_join_phase(self) -> None:
        """During the join phase SyncGroup answers REBALANCE_IN_PROGRESS."""
        self.driver.join(version=3)
        self.assertIs(self.driver.error(self.driver.sync(self.leader)), ErrorCode.REBALANCE_IN_PROGRESS)

    def test_bad_requests(self) -> None:
        """Another member, generation or protocol is refused, each with Kafka's own code."""
        driver, leader = self.driver, self.leader
        expected = {
            driver.sync("nobody"): ErrorCode.UNKNOWN_MEMBER_ID,
            driver.sync(""): ErrorCode.UNKNOWN_MEMBER_ID,
            driver.sync(leader, instance="i"): ErrorCode.UNKNOWN_MEMBER_ID,
            driver.sync(leader, generation=2): ErrorCode.ILLEGAL_GENERATION,
            driver.sync(leader, generation=-1): ErrorCode.ILLEGAL_GENERATION,
            driver.sync(leader, protocol_type="connect"): ErrorCode.INCONSISTENT_GROUP_PROTOCOL,
            driver.sync(leader, protocol_name="sticky"): ErrorCode.INCONSISTENT_GROUP_PROTOCOL,
            driver.sync(leader, protocol_type=None): ErrorCode.INCONSISTENT_GROUP_PROTOCOL,
            driver.sync(leader, protocol_name=None): ErrorCode.INCONSISTENT_GROUP_PROTOCOL,
        }
        self.assertEqual({token: driver.error(token) for token in expected}, expected)
        self.assertEqual(driver.records, [])
        for version in range(5):  # these versions have no protocol
            self.assertTrue(driver.waits(driver.sync(self.follower, version=version)))

    def test_empty_group(self) -> None:
        """A group without members refuses every member id."""
        driver = GroupDriver()
        self.assertIs(driver.error(driver.sync("a")), ErrorCode.UNKNOWN_MEMBER_ID)
