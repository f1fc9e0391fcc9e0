"""The beginning and end of generations: delays, time-outs, sessions. Times are integers, in ms."""

from __future__ import annotations

import attrs
from twisted.trial.unittest import SynchronousTestCase

from kafkatx.errors import ErrorCode
from kafkatx.group.actions import NEVER_MS
from kafkatx.group.classic.join import NEW_MEMBER_JOIN_TIMEOUT_MS
from kafkatx.group.classic.records import decode_value
from tests.group.classic.driver import NOW_MS, REBALANCE_MS, SESSION_MS, SETTINGS, GroupDriver


class InitialDelayTests(SynchronousTestCase):
    def test_one_member(self) -> None:
        """An empty group waits group.initial.rebalance.delay.ms, then begins its first generation."""
        driver = GroupDriver()
        token = driver.join(version=3)
        self.assertEqual(driver.group.state, "PreparingRebalance")
        driver.pass_ms(2999)
        self.assertTrue(driver.waits(token))
        driver.pass_ms(1)
        joined = driver.answers[token]
        self.assertEqual((joined.error_code, joined.generation_id, joined.protocol_name), (0, 1, "range"))
        self.assertEqual(joined.leader, joined.member_id)
        self.assertEqual(driver.group.state, "CompletingRebalance")

    def test_growing(self) -> None:
        """A delay during which a member joined is followed by another delay."""
        driver = GroupDriver()
        tokens = [driver.join(version=3)]
        for at in (2000, 2500):  # the first in the first delay, the second 4500 after the beginning
            driver.pass_ms(at)
            tokens.append(driver.join(version=3))
        driver.pass_ms(1500)  # 6000: the second delay is over, and a member joined during it
        self.assertTrue(all(map(driver.waits, tokens)))
        driver.pass_ms(2999)
        self.assertTrue(all(map(driver.waits, tokens)))
        driver.pass_ms(1)
        self.assertFalse(any(map(driver.waits, tokens)))
        self.assertEqual(driver.group.generation, 1)

    def test_growing_for_ever(self) -> None:
        """The delays together last no longer than the rebalance time-out, however many members join."""
        driver = GroupDriver()
        first = driver.join(version=3, rebalance_ms=8000)
        for _ in range(7):
            driver.pass_ms(1000)
            driver.join(version=3, rebalance_ms=8000)
        driver.pass_ms(999)
        self.assertTrue(driver.waits(first))
        driver.pass_ms(1)
        self.assertFalse(driver.waits(first))
        self.assertEqual(len(driver.group.members), 8)

    def test_no_delay(self) -> None:
        """The first member forms a generation at once if the delay is 0."""
        driver = GroupDriver(attrs.evolve(SETTINGS, initial_rebalance_delay_ms=0))
        token = driver.join(version=3)
        self.assertEqual(driver.answers[token].generation_id, 1)
        self.assertEqual(driver.group.state, "CompletingRebalance")

    def test_everyone_leaves(self) -> None:
        """The group is empty at once, without a deadline, if all members leave before the delay is over."""
        driver = GroupDriver()
        token = driver.join(version=3)
        member = next(iter(driver.group.members))
        driver.leave(member)
        self.assertIs(driver.error(token), ErrorCode.UNKNOWN_MEMBER_ID)
        self.assertEqual((driver.group.state, driver.group.generation), ("Empty", 1))
        self.assertEqual(driver.group.deadline_ms, NEVER_MS)

    def test_one_of_two_leaves(self) -> None:
        """The remaining member waits until the delay is over if another leaves."""
        driver = GroupDriver()
        driver.join(version=3)
        stays = driver.join(version=3)
        driver.leave(next(iter(driver.group.members)))
        self.assertTrue(driver.waits(stays))
        driver.pass_ms(6000)
        self.assertEqual(driver.answers[stays].leader, driver.member(stays))


class JoinPhaseTests(SynchronousTestCase):
    def setUp(self) -> None:
        """Make a group without members."""
        self.driver = GroupDriver()

    def test_all_join_again(self) -> None:
        """A rebalance ends as soon as all have joined again; the leader gets the list of members."""
        driver = self.driver
        leader, follower = driver.stable(2)
        first = driver.join(leader)
        self.assertTrue(driver.waits(first))
        self.assertEqual(driver.group.state, "PreparingRebalance")
        second = driver.join(follower)
        self.assertEqual([m.member_id for m in driver.answers[first].members], [leader, follower])
        self.assertEqual(driver.answers[second].members, [])
        for token in (first, second):
            self.assertEqual((driver.answers[token].generation_id, driver.answers[token].leader), (2, leader))

    def test_time_out(self) -> None:
        """A member that does not join again within the rebalance time-out is removed despite heartbeats."""
        driver = self.driver
        a, b = driver.stable(2)
        token = driver.join(a)
        for _ in range(REBALANCE_MS // 5000 - 1):
            driver.pass_ms(5000)
            self.assertIs(driver.heartbeat(b), ErrorCode.REBALANCE_IN_PROGRESS)
        driver.pass_ms(4999)
        self.assertTrue(driver.waits(token))
        driver.pass_ms(1)
        self.assertEqual(driver.answers[token].generation_id, 2)
        self.assertEqual(list(driver.group.members), [a])
        self.assertIs(driver.heartbeat(b), ErrorCode.UNKNOWN_MEMBER_ID)
        self.assertEqual([t.values["member"] for t in driver.told if t.warn], [b])

    def test_longest_time_out(self) -> None:
        """The group waits for the longest rebalance time-out of its members (JoinGroup v1+)."""
        driver = self.driver
        tokens = [driver.join(version=3, rebalance_ms=ms) for ms in (20_000, 30_000)]
        driver.pass_ms(6000)
        a, b = driver.settle([driver.member(token) for token in tokens])
        token = driver.join(a, rebalance_ms=20_000)
        for _ in range(5):
            driver.pass_ms(5000)
            driver.heartbeat(b)
        driver.pass_ms(4999)
        self.assertTrue(driver.waits(token))
        driver.pass_ms(1)
        self.assertFalse(driver.waits(token))

    def test_time_out_of_version_0(self) -> None:
        """JoinGroup v0 uses the session time-out as the rebalance time-out."""
        driver = self.driver
        token = driver.join(version=0, session_ms=7000, rebalance_ms=1)
        self.assertEqual(next(iter(driver.group.members.values())).rebalance_timeout_ms, 7000)
        driver.pass_ms(3000)
        self.assertFalse(driver.waits(token))

    def test_leader_is_gone(self) -> None:
        """The first member that joined again leads if the leader did not."""
        driver = self.driver
        _, b, c = driver.stable(3)
        driver.join(c, protocols=[("range", b"new")])
        token = driver.join(b)
        driver.pass_ms(REBALANCE_MS)
        self.assertEqual(driver.answers[token].leader, b)
        self.assertEqual([m.metadata for m in driver.answers[token].members], [b"r", b"new"])

    def test_new_member_waits_too_long(self) -> None:
        """A new member that was not answered for five minutes is removed, and its client joins again."""
        driver = self.driver
        (old,) = driver.stable(1, rebalance_ms=2 * NEW_MEMBER_JOIN_TIMEOUT_MS)
        token = driver.join(version=3)
        for _ in range(NEW_MEMBER_JOIN_TIMEOUT_MS // 5000 - 1):
            driver.pass_ms(5000)
            driver.heartbeat(old)
        self.assertTrue(driver.waits(token))
        driver.pass_ms(5000)
        self.assertIs(driver.error(token), ErrorCode.UNKNOWN_MEMBER_ID)
        self.assertEqual(driver.member(token), "")
        self.assertEqual(list(driver.group.members), [old])

    def test_waiting_is_no_silence(self) -> None:
        """A session does not end while a JoinGroup waits, and begins again when it is answered."""
        driver = self.driver
        a, b = driver.stable(2)
        token = driver.join(a)
        for _ in range(11):
            driver.pass_ms(5000)
            driver.heartbeat(b)
        self.assertIn(a, driver.group.members)
        driver.join(b)
        self.assertEqual(driver.answers[token].generation_id, 2)
        driver.settle([a, b])
        driver.pass_ms(SESSION_MS - 1)
        self.assertEqual(set(driver.group.members), {a, b})

    def test_static_members_stay(self) -> None:
        """A static member that does not join again remains a member of the new generation (KIP-345)."""
        driver = self.driver
        tokens = [driver.join(instance=name, session_ms=300_000) for name in ("i", "j")]
        driver.pass_ms(6000)
        i, j = driver.settle([driver.member(token) for token in tokens])
        token = driver.join(i, instance="i", session_ms=300_000)
        driver.pass_ms(REBALANCE_MS)
        self.assertEqual([m.group_instance_id for m in driver.answers[token].members], ["i", "j"])
        self.assertEqual(set(driver.group.members), {i, j})

    def test_only_absent_static_members(self) -> None:
        """A group whose only members are absent static ones waits until their sessions end."""
        driver = self.driver
        tokens = [driver.join(instance=name, session_ms=150_000) for name in ("i", "j")]
        driver.pass_ms(6000)
        driver.settle([driver.member(token) for token in tokens])
        dynamic = driver.join(version=3)
        driver.leave(next(m for m in driver.group.members if m.startswith("c")))
        self.assertIs(driver.error(dynamic), ErrorCode.UNKNOWN_MEMBER_ID)
        driver.pass_ms(2 * REBALANCE_MS + 1)
        self.assertEqual((driver.group.state, len(driver.group.members)), ("PreparingRebalance", 2))
        driver.pass_ms(REBALANCE_MS)
        self.assertEqual((driver.group.state, driver.group.generation), ("Empty", 2))

    def test_who_was_given_an_id_is_waited_for(self) -> None:
        """A rebalance waits for a pending member, but no longer than a session time-out."""
        driver = self.driver
        (a,) = driver.stable(1)
        driver.join(version=4)
        token = driver.join(a)
        driver.pass_ms(SESSION_MS - 1)
        self.assertTrue(driver.waits(token))
        driver.pass_ms(1)
        self.assertEqual(driver.answers[token].generation_id, 2)


class SyncPhaseTests(SynchronousTestCase):
    def setUp(self) -> None:
        """Make a group of two members that have joined and not synced."""
        self.driver = GroupDriver()
        self.tokens = [self.driver.join(version=3, session_ms=20_000, rebalance_ms=30_000) for _ in range(2)]
        self.driver.pass_ms(6000)
        self.a, self.b = map(self.driver.member, self.tokens)

    def pass_with_heartbeats(self, *members: str) -> None:
        """Advance the time by 25 s, with heartbeats of these members."""
        for _ in range(5):
            self.driver.pass_ms(5000)
            for member in members:
                self.assertIs(self.driver.heartbeat(member), ErrorCode.NONE)

    def test_leader_does_not_sync(self) -> None:
        """A leader that does not sync within the rebalance time-out is removed; waiters join again."""
        token = self.driver.sync(self.b)
        self.pass_with_heartbeats(self.a)
        self.driver.pass_ms(4999)
        self.assertTrue(self.driver.waits(token))
        self.driver.pass_ms(1)
        self.assertIs(self.driver.error(token), ErrorCode.REBALANCE_IN_PROGRESS)
        self.assertEqual(list(self.driver.group.members), [self.b])
        self.assertEqual(self.driver.group.state, "PreparingRebalance")

    def test_follower_does_not_sync(self) -> None:
        """A follower that does not sync is removed even from a stable group (KAFKA-12890)."""
        self.driver.settle([self.a])
        self.assertEqual(self.driver.group.state, "Stable")
        self.pass_with_heartbeats(self.a, self.b)
        self.driver.pass_ms(5000)
        self.assertEqual(list(self.driver.group.members), [self.a])
        self.assertEqual(self.driver.group.state, "PreparingRebalance")

    def test_all_sync(self) -> None:
        """The end of the rebalance time-out changes nothing if all members have synced."""
        self.driver.settle([self.a, self.b])
        self.pass_with_heartbeats(self.a, self.b)
        self.pass_with_heartbeats(self.a, self.b)
        self.assertEqual((self.driver.group.state, self.driver.group.generation), ("Stable", 1))

    def test_waiting_is_no_silence(self) -> None:
        """A session does not end while a SyncGroup waits, and begins again when it is answered."""
        self.driver.sync(self.b)
        self.pass_with_heartbeats(self.a)
        self.assertIn(self.b, self.driver.group.members)
        self.driver.settle([self.a])
        self.driver.pass_ms(19_999)
        self.assertEqual(len(self.driver.group.members), 2)
        self.driver.pass_ms(1)
        self.assertEqual(len(self.driver.group.members), 0)


class SessionTests(SynchronousTestCase):
    def setUp(self) -> None:
        """Make a group without members."""
        self.driver = GroupDriver()

    def test_silent_member(self) -> None:
        """A silent member is removed when its session ends, to the millisecond, and the others rebalance."""
        driver = self.driver
        a, b = driver.stable(2)
        driver.pass_ms(SESSION_MS - 1)
        self.assertIs(driver.heartbeat(a), ErrorCode.NONE)
        self.assertEqual(len(driver.group.members), 2)
        driver.pass_ms(1)
        self.assertEqual(list(driver.group.members), [a])
        self.assertIs(driver.heartbeat(a), ErrorCode.REBALANCE_IN_PROGRESS)
        self.assertIs(driver.heartbeat(b), ErrorCode.UNKNOWN_MEMBER_ID)
        self.assertEqual(
            [(t.values["member"], t.warn) for t in driver.told if "removed" in t.text], [(b, True)]
        )

    def test_silent_in_the_join_phase(self) -> None:
        """A rebalance waits for silent members no longer than their sessions."""
        driver = self.driver
        a, b = driver.stable(2)
        token = driver.join(a)
        driver.pass_ms(SESSION_MS)
        self.assertEqual([m.member_id for m in driver.answers[token].members], [a])
        self.assertNotIn(b, driver.group.members)

    def test_silent_in_the_sync_phase(self) -> None:
        """A member that is silent before it syncs is removed; members waiting for assignments join again."""
        driver = self.driver
        tokens = [driver.join(version=3) for _ in range(2)]
        driver.pass_ms(6000)
        b = driver.member(tokens[1])
        waiting = driver.sync(b)
        driver.pass_ms(SESSION_MS)
        self.assertIs(driver.error(waiting), ErrorCode.REBALANCE_IN_PROGRESS)
        self.assertEqual(list(driver.group.members), [b])

    def test_all_silent(self) -> None:
        """The group becomes empty when the last session ends, which is stored and logged."""
        driver = self.driver
        driver.stable(2)
        driver.pass_ms(SESSION_MS)
        self.assertEqual((driver.group.state, driver.group.generation), ("Empty", 2))
        stored = decode_value(driver.records[-1].value or b"")
        self.assertEqual((stored.generation, stored.members, stored.protocol_type), (2, [], "consumer"))
        self.assertEqual((stored.protocol, stored.leader), (None, None))
        self.assertEqual(stored.current_state_timestamp, driver.wall_ms())
        self.assertEqual(driver.group.empty_since_ms, driver.wall_ms())
        self.assertEqual(driver.told[-1].values["generation"], 2)
        self.assertEqual(driver.group.deadline_ms, NEVER_MS)

    def test_empty_generation_is_not_stored(self) -> None:
        """The group becomes empty even if the empty generation cannot be stored."""
        driver = self.driver
        driver.stable(1)
        driver.errors = [ErrorCode.COORDINATOR_NOT_AVAILABLE]
        driver.pass_ms(SESSION_MS)
        self.assertEqual((driver.group.state, driver.group.generation), ("Empty", 2))
        driver.stable(1)
        self.assertEqual(driver.group.generation, 3)

    def test_given_id_ends(self) -> None:
        """A pending id that no member joined with is forgotten after a session time-out."""
        driver = self.driver
        given = driver.member(driver.join(version=4))
        self.assertFalse(driver.unused)
        driver.pass_ms(SESSION_MS)
        self.assertTrue(driver.unused)
        self.assertIs(driver.error(driver.join(given)), ErrorCode.UNKNOWN_MEMBER_ID)

    def test_given_id_ends_in_a_stable_group(self) -> None:
        """A pending id that expires unused does not begin a rebalance."""
        driver = self.driver
        (a,) = driver.stable(1)
        driver.join(version=4)
        driver.pass_ms(SESSION_MS // 2)
        driver.heartbeat(a)
        driver.pass_ms(SESSION_MS // 2)
        self.assertEqual((driver.group.state, driver.group.generation), ("Stable", 1))

    def test_heartbeat_moves_no_deadline(self) -> None:
        """A heartbeat leaves ``deadline_ms`` as it is; at that time nothing expires, and it moves."""
        driver = self.driver
        (a,) = driver.stable(1)
        due_ms = driver.group.deadline_ms
        driver.pass_ms(1000)
        driver.heartbeat(a)
        self.assertEqual(driver.group.deadline_ms, due_ms)
        self.assertEqual(driver.group.advance(due_ms), [])
        self.assertEqual(driver.group.deadline_ms, driver.now_ms + SESSION_MS)

    def test_nothing_is_due_at_first(self) -> None:
        """A group without members has no deadline."""
        self.assertEqual(self.driver.group.deadline_ms, NEVER_MS)
        self.assertEqual(self.driver.group.advance(NOW_MS), [])
