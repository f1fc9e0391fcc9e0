"""When a generation begins and ends: delays, time-outs, sessions. Times are integers, in ms."""

from __future__ import annotations

import attrs
from twisted.trial.unittest import SynchronousTestCase

from kafkatx.errors import ErrorCode
from kafkatx.group.actions import NEVER_MS
from kafkatx.group.classic.join import NEW_MEMBER_JOIN_TIMEOUT_MS
from kafkatx.group.classic.records import decode_value
from tests.group.classic.acting import NOW_MS, REBALANCE_MS, SESSION_MS, SETTINGS, Acting


class InitialDelayTests(SynchronousTestCase):
    def test_one_member(self) -> None:
        """An empty group waits group.initial.rebalance.delay.ms, then begins its first generation."""
        acting = Acting()
        token = acting.join(version=3)
        self.assertEqual(acting.group.state, "PreparingRebalance")
        acting.pass_ms(2999)
        self.assertTrue(acting.waits(token))
        acting.pass_ms(1)
        joined = acting.answers[token]
        self.assertEqual((joined.error_code, joined.generation_id, joined.protocol_name), (0, 1, "range"))
        self.assertEqual(joined.leader, joined.member_id)
        self.assertEqual(acting.group.state, "CompletingRebalance")

    def test_growing(self) -> None:
        """Each delay in which somebody came is followed by another."""
        acting = Acting()
        tokens = [acting.join(version=3)]
        for at in (2000, 2500):  # the first in the first delay, the second 4500 after the beginning
            acting.pass_ms(at)
            tokens.append(acting.join(version=3))
        acting.pass_ms(1500)  # 6000: the second delay is over, and somebody came in it
        self.assertTrue(all(map(acting.waits, tokens)))
        acting.pass_ms(2999)
        self.assertTrue(all(map(acting.waits, tokens)))
        acting.pass_ms(1)
        self.assertFalse(any(map(acting.waits, tokens)))
        self.assertEqual(acting.group.generation, 1)

    def test_growing_for_ever(self) -> None:
        """However many come, the delay lasts no longer than the rebalance time-out."""
        acting = Acting()
        first = acting.join(version=3, rebalance_ms=8000)
        for _ in range(7):
            acting.pass_ms(1000)
            acting.join(version=3, rebalance_ms=8000)
        acting.pass_ms(999)
        self.assertTrue(acting.waits(first))
        acting.pass_ms(1)
        self.assertFalse(acting.waits(first))
        self.assertEqual(len(acting.group.members), 8)

    def test_no_delay(self) -> None:
        """With a delay of 0 the first member is a generation at once."""
        acting = Acting(attrs.evolve(SETTINGS, initial_rebalance_delay_ms=0))
        token = acting.join(version=3)
        self.assertEqual(acting.answers[token].generation_id, 1)
        self.assertEqual(acting.group.state, "CompletingRebalance")

    def test_everyone_leaves(self) -> None:
        """If all leave before the delay is over the group is empty at once, and nothing is due."""
        acting = Acting()
        token = acting.join(version=3)
        member = next(iter(acting.group.members))
        acting.leave(member)
        self.assertIs(acting.error(token), ErrorCode.UNKNOWN_MEMBER_ID)
        self.assertEqual((acting.group.state, acting.group.generation), ("Empty", 1))
        self.assertEqual(acting.group.deadline_ms, NEVER_MS)

    def test_one_of_two_leaves(self) -> None:
        """If one leaves, the other waits on: somebody may come yet."""
        acting = Acting()
        acting.join(version=3)
        stays = acting.join(version=3)
        acting.leave(next(iter(acting.group.members)))
        self.assertTrue(acting.waits(stays))
        acting.pass_ms(6000)
        self.assertEqual(acting.answers[stays].leader, acting.member(stays))


class JoinPhaseTests(SynchronousTestCase):
    def setUp(self) -> None:
        """A group without members."""
        self.acting = Acting()

    def test_all_join_again(self) -> None:
        """A rebalance ends as soon as all have joined again; the leader gets the list of members."""
        acting = self.acting
        leader, follower = acting.stable(2)
        first = acting.join(leader)
        self.assertTrue(acting.waits(first))
        self.assertEqual(acting.group.state, "PreparingRebalance")
        second = acting.join(follower)
        self.assertEqual([m.member_id for m in acting.answers[first].members], [leader, follower])
        self.assertEqual(acting.answers[second].members, [])
        for token in (first, second):
            self.assertEqual((acting.answers[token].generation_id, acting.answers[token].leader), (2, leader))

    def test_time_out(self) -> None:
        """Who does not join again within the rebalance time-out is removed, heartbeats or not."""
        acting = self.acting
        a, b = acting.stable(2)
        token = acting.join(a)
        for _ in range(REBALANCE_MS // 5000 - 1):
            acting.pass_ms(5000)
            self.assertIs(acting.heartbeat(b), ErrorCode.REBALANCE_IN_PROGRESS)
        acting.pass_ms(4999)
        self.assertTrue(acting.waits(token))
        acting.pass_ms(1)
        self.assertEqual(acting.answers[token].generation_id, 2)
        self.assertEqual(list(acting.group.members), [a])
        self.assertIs(acting.heartbeat(b), ErrorCode.UNKNOWN_MEMBER_ID)
        self.assertEqual([t.values["member"] for t in acting.told if t.warn], [b])

    def test_longest_time_out(self) -> None:
        """The group waits as long as its most patient member asks (JoinGroup v1+)."""
        acting = self.acting
        tokens = [acting.join(version=3, rebalance_ms=ms) for ms in (20_000, 30_000)]
        acting.pass_ms(6000)
        a, b = acting.settle([acting.member(token) for token in tokens])
        token = acting.join(a, rebalance_ms=20_000)
        for _ in range(5):
            acting.pass_ms(5000)
            acting.heartbeat(b)
        acting.pass_ms(4999)
        self.assertTrue(acting.waits(token))
        acting.pass_ms(1)
        self.assertFalse(acting.waits(token))

    def test_time_out_of_version_0(self) -> None:
        """JoinGroup v0 has no rebalance time-out: it is the session time-out."""
        acting = self.acting
        token = acting.join(version=0, session_ms=7000, rebalance_ms=1)
        self.assertEqual(next(iter(acting.group.members.values())).rebalance_timeout_ms, 7000)
        acting.pass_ms(3000)
        self.assertFalse(acting.waits(token))

    def test_leader_is_gone(self) -> None:
        """If the leader does not join again the first who did leads."""
        acting = self.acting
        _, b, c = acting.stable(3)
        acting.join(c, protocols=[("range", b"new")])
        token = acting.join(b)
        acting.pass_ms(REBALANCE_MS)
        self.assertEqual(acting.answers[token].leader, b)
        self.assertEqual([m.metadata for m in acting.answers[token].members], [b"r", b"new"])

    def test_new_member_waits_too_long(self) -> None:
        """A new member that was not answered for five minutes is removed; its client joins anew."""
        acting = self.acting
        (old,) = acting.stable(1, rebalance_ms=2 * NEW_MEMBER_JOIN_TIMEOUT_MS)
        token = acting.join(version=3)
        for _ in range(NEW_MEMBER_JOIN_TIMEOUT_MS // 5000 - 1):
            acting.pass_ms(5000)
            acting.heartbeat(old)
        self.assertTrue(acting.waits(token))
        acting.pass_ms(5000)
        self.assertIs(acting.error(token), ErrorCode.UNKNOWN_MEMBER_ID)
        self.assertEqual(acting.member(token), "")
        self.assertEqual(list(acting.group.members), [old])

    def test_waiting_is_no_silence(self) -> None:
        """A member's session does not end while its JoinGroup waits, and begins anew when it is answered."""
        acting = self.acting
        a, b = acting.stable(2)
        token = acting.join(a)
        for _ in range(11):
            acting.pass_ms(5000)
            acting.heartbeat(b)
        self.assertIn(a, acting.group.members)
        acting.join(b)
        self.assertEqual(acting.answers[token].generation_id, 2)
        acting.settle([a, b])
        acting.pass_ms(SESSION_MS - 1)
        self.assertEqual(set(acting.group.members), {a, b})

    def test_static_members_stay(self) -> None:
        """A static member that does not join again is a member of the new generation too (KIP-345)."""
        acting = self.acting
        tokens = [acting.join(instance=name, session_ms=300_000) for name in ("i", "j")]
        acting.pass_ms(6000)
        i, j = acting.settle([acting.member(token) for token in tokens])
        token = acting.join(i, instance="i", session_ms=300_000)
        acting.pass_ms(REBALANCE_MS)
        self.assertEqual([m.group_instance_id for m in acting.answers[token].members], ["i", "j"])
        self.assertEqual(set(acting.group.members), {i, j})

    def test_only_absent_static_members(self) -> None:
        """If only static members are left, and none joins, the group waits until their sessions end."""
        acting = self.acting
        tokens = [acting.join(instance=name, session_ms=150_000) for name in ("i", "j")]
        acting.pass_ms(6000)
        acting.settle([acting.member(token) for token in tokens])
        dynamic = acting.join(version=3)
        acting.leave(next(m for m in acting.group.members if m.startswith("c")))
        self.assertIs(acting.error(dynamic), ErrorCode.UNKNOWN_MEMBER_ID)
        acting.pass_ms(2 * REBALANCE_MS + 1)
        self.assertEqual((acting.group.state, len(acting.group.members)), ("PreparingRebalance", 2))
        acting.pass_ms(REBALANCE_MS)
        self.assertEqual((acting.group.state, acting.group.generation), ("Empty", 2))

    def test_who_was_given_an_id_is_waited_for(self) -> None:
        """A rebalance waits for whoever was told to join with an id, at most as long as a session."""
        acting = self.acting
        (a,) = acting.stable(1)
        acting.join(version=4)
        token = acting.join(a)
        acting.pass_ms(SESSION_MS - 1)
        self.assertTrue(acting.waits(token))
        acting.pass_ms(1)
        self.assertEqual(acting.answers[token].generation_id, 2)


class SyncPhaseTests(SynchronousTestCase):
    def setUp(self) -> None:
        """Two members have joined, and have not synced."""
        self.acting = Acting()
        self.tokens = [self.acting.join(version=3, session_ms=20_000, rebalance_ms=30_000) for _ in range(2)]
        self.acting.pass_ms(6000)
        self.a, self.b = map(self.acting.member, self.tokens)

    def pass_with_heartbeats(self, *members: str) -> None:
        """Let 25 s pass in which these members live."""
        for _ in range(5):
            self.acting.pass_ms(5000)
            for member in members:
                self.assertIs(self.acting.heartbeat(member), ErrorCode.NONE)

    def test_leader_does_not_sync(self) -> None:
        """A leader that does not sync within the rebalance time-out is removed; who waited joins again."""
        token = self.acting.sync(self.b)
        self.pass_with_heartbeats(self.a)
        self.acting.pass_ms(4999)
        self.assertTrue(self.acting.waits(token))
        self.acting.pass_ms(1)
        self.assertIs(self.acting.error(token), ErrorCode.REBALANCE_IN_PROGRESS)
        self.assertEqual(list(self.acting.group.members), [self.b])
        self.assertEqual(self.acting.group.state, "PreparingRebalance")

    def test_follower_does_not_sync(self) -> None:
        """A follower that does not sync is removed, though the group is stable by then (KAFKA-12890)."""
        self.acting.settle([self.a])
        self.assertEqual(self.acting.group.state, "Stable")
        self.pass_with_heartbeats(self.a, self.b)
        self.acting.pass_ms(5000)
        self.assertEqual(list(self.acting.group.members), [self.a])
        self.assertEqual(self.acting.group.state, "PreparingRebalance")

    def test_all_sync(self) -> None:
        """If all have synced nothing ends with the rebalance time-out."""
        self.acting.settle([self.a, self.b])
        self.pass_with_heartbeats(self.a, self.b)
        self.pass_with_heartbeats(self.a, self.b)
        self.assertEqual((self.acting.group.state, self.acting.group.generation), ("Stable", 1))

    def test_waiting_is_no_silence(self) -> None:
        """The session of a member whose SyncGroup waits does not end, and begins anew when it is answered."""
        self.acting.sync(self.b)
        self.pass_with_heartbeats(self.a)
        self.assertIn(self.b, self.acting.group.members)
        self.acting.settle([self.a])
        self.acting.pass_ms(19_999)
        self.assertEqual(len(self.acting.group.members), 2)
        self.acting.pass_ms(1)
        self.assertEqual(len(self.acting.group.members), 0)


class SessionTests(SynchronousTestCase):
    def setUp(self) -> None:
        """A group without members."""
        self.acting = Acting()

    def test_silent_member(self) -> None:
        """A silent member is removed when its session ends, to the millisecond, and the others rebalance."""
        acting = self.acting
        a, b = acting.stable(2)
        acting.pass_ms(SESSION_MS - 1)
        self.assertIs(acting.heartbeat(a), ErrorCode.NONE)
        self.assertEqual(len(acting.group.members), 2)
        acting.pass_ms(1)
        self.assertEqual(list(acting.group.members), [a])
        self.assertIs(acting.heartbeat(a), ErrorCode.REBALANCE_IN_PROGRESS)
        self.assertIs(acting.heartbeat(b), ErrorCode.UNKNOWN_MEMBER_ID)
        self.assertEqual(
            [(t.values["member"], t.warn) for t in acting.told if "removed" in t.text], [(b, True)]
        )

    def test_silent_in_the_join_phase(self) -> None:
        """Silent members are not waited for longer than their sessions last."""
        acting = self.acting
        a, b = acting.stable(2)
        token = acting.join(a)
        acting.pass_ms(SESSION_MS)
        self.assertEqual([m.member_id for m in acting.answers[token].members], [a])
        self.assertNotIn(b, acting.group.members)

    def test_silent_in_the_sync_phase(self) -> None:
        """A member that falls silent before it syncs is removed; who waits for an assignment joins again."""
        acting = self.acting
        tokens = [acting.join(version=3) for _ in range(2)]
        acting.pass_ms(6000)
        b = acting.member(tokens[1])
        waiting = acting.sync(b)
        acting.pass_ms(SESSION_MS)
        self.assertIs(acting.error(waiting), ErrorCode.REBALANCE_IN_PROGRESS)
        self.assertEqual(list(acting.group.members), [b])

    def test_all_silent(self) -> None:
        """When the last session ends the group is empty; it is stored, with its generation, and told of."""
        acting = self.acting
        acting.stable(2)
        acting.pass_ms(SESSION_MS)
        self.assertEqual((acting.group.state, acting.group.generation), ("Empty", 2))
        stored = decode_value(acting.records[-1].value or b"")
        self.assertEqual((stored.generation, stored.members, stored.protocol_type), (2, [], "consumer"))
        self.assertEqual((stored.protocol, stored.leader), (None, None))
        self.assertEqual(stored.current_state_timestamp, acting.wall_ms())
        self.assertEqual(acting.group.empty_since_ms, acting.wall_ms())
        self.assertEqual(acting.told[-1].values["generation"], 2)
        self.assertEqual(acting.group.deadline_ms, NEVER_MS)

    def test_empty_generation_is_not_stored(self) -> None:
        """That the empty generation cannot be stored changes nothing: nobody is in it."""
        acting = self.acting
        acting.stable(1)
        acting.errors = [ErrorCode.COORDINATOR_NOT_AVAILABLE]
        acting.pass_ms(SESSION_MS)
        self.assertEqual((acting.group.state, acting.group.generation), ("Empty", 2))
        acting.stable(1)
        self.assertEqual(acting.group.generation, 3)

    def test_given_id_ends(self) -> None:
        """An id that nobody joined with is forgotten when the session would end, and is unknown then."""
        acting = self.acting
        given = acting.member(acting.join(version=4))
        self.assertFalse(acting.unused)
        acting.pass_ms(SESSION_MS)
        self.assertTrue(acting.unused)
        self.assertIs(acting.error(acting.join(given)), ErrorCode.UNKNOWN_MEMBER_ID)

    def test_given_id_ends_in_a_stable_group(self) -> None:
        """That an id was given and not used is no reason to rebalance."""
        acting = self.acting
        (a,) = acting.stable(1)
        acting.join(version=4)
        acting.pass_ms(SESSION_MS // 2)
        acting.heartbeat(a)
        acting.pass_ms(SESSION_MS // 2)
        self.assertEqual((acting.group.state, acting.group.generation), ("Stable", 1))

    def test_heartbeat_moves_no_deadline(self) -> None:
        """A heartbeat leaves ``deadline_ms`` as it is; when that has come nothing is due, and it moves."""
        acting = self.acting
        (a,) = acting.stable(1)
        due_ms = acting.group.deadline_ms
        acting.pass_ms(1000)
        acting.heartbeat(a)
        self.assertEqual(acting.group.deadline_ms, due_ms)
        self.assertEqual(acting.group.advance(due_ms), [])
        self.assertEqual(acting.group.deadline_ms, acting.now_ms + SESSION_MS)

    def test_nothing_is_due_at_first(self) -> None:
        """A group without members wants nothing, ever."""
        self.assertEqual(self.acting.group.deadline_ms, NEVER_MS)
        self.assertEqual(self.acting.group.advance(NOW_MS), [])
