"""Static membership (KIP-345): whoever has an instance id comes back to its place."""

from __future__ import annotations

from twisted.trial.unittest import SynchronousTestCase

from kafkatx.errors import ErrorCode
from kafkatx.group.classic.records import decode_value
from kafkatx.wire.messages.leave_group import MemberIdentity
from tests.group.classic.acting import REBALANCE_MS, SESSION_MS, Acting


class ComesBackTests(SynchronousTestCase):
    def setUp(self) -> None:
        """A stable group of two static members; i leads."""
        self.acting = Acting()
        tokens = [self.acting.join(instance=name) for name in ("i", "j")]
        self.acting.pass_ms(6000)
        self.i, self.j = self.acting.settle([self.acting.member(token) for token in tokens])

    def test_no_rebalance(self) -> None:
        """A static member that comes back without its id gets a new one and its old part: no rebalance."""
        acting = self.acting
        token = acting.join(instance="j", client="new")
        joined = acting.answers[token]
        self.assertEqual((joined.error_code, joined.generation_id, joined.leader), (0, 1, self.i))
        self.assertNotEqual(joined.member_id, self.j)
        self.assertEqual(
            (acting.group.state, set(acting.group.members)), ("Stable", {self.i, joined.member_id})
        )
        synced = acting.sync(joined.member_id, instance="j")
        self.assertEqual(acting.answers[synced].assignment, f"part of {self.j}".encode())
        self.assertEqual(acting.group.members[joined.member_id].client_id, "new")

    def test_other_metadata(self) -> None:
        """No rebalance either with other metadata, as in Apache Kafka: the chosen protocol counts."""
        token = self.acting.join(instance="j", protocols=[("range", b"other")])
        self.assertIs(self.acting.error(token), ErrorCode.NONE)
        self.assertEqual(self.acting.group.state, "Stable")

    def test_old_self_is_fenced(self) -> None:
        """Whatever the old member asks is answered FENCED_INSTANCE_ID (82)."""
        acting = self.acting
        acting.join(instance="j")
        fenced = ErrorCode.FENCED_INSTANCE_ID
        self.assertIs(acting.heartbeat(self.j, instance="j"), fenced)
        self.assertIs(acting.error(acting.sync(self.j, instance="j")), fenced)
        self.assertIs(acting.error(acting.join(self.j, instance="j")), fenced)
        self.assertIs(acting.commit(self.j, 1, "j"), fenced)
        left = acting.leave(MemberIdentity(self.j, "j"))
        self.assertEqual([m.error_code for m in left.members], [fenced])
        self.assertIs(acting.heartbeat(self.j), ErrorCode.UNKNOWN_MEMBER_ID)
        self.assertEqual(len(acting.group.members), 2)

    def test_stored(self) -> None:
        """The new member id is stored before the member is told: after a restart it is known."""
        acting = self.acting
        acting.holds = True
        token = acting.join(instance="j")
        self.assertTrue(acting.waits(token))
        stored = decode_value(acting.records[-1].value or b"")
        acting.end_store()
        parts = {m.member_id: m.assignment for m in stored.members}
        self.assertEqual(set(parts), {self.i, acting.member(token)})
        self.assertEqual(parts[acting.member(token)], f"part of {self.j}".encode())

    def test_not_stored(self) -> None:
        """If it cannot be stored the old member is one again, and the new one is told why."""
        acting = self.acting
        acting.errors = [ErrorCode.KAFKA_STORAGE_ERROR]
        token = acting.join(instance="i")
        self.assertIs(acting.error(token), ErrorCode.NOT_COORDINATOR)
        self.assertEqual(set(acting.group.members), {self.i, self.j})
        self.assertEqual(acting.group.leader, self.i)
        self.assertIs(acting.heartbeat(self.i, instance="i"), ErrorCode.NONE)
        acting.pass_ms(SESSION_MS - 1)
        acting.heartbeat(self.j)
        self.assertEqual(len(acting.group.members), 2)
        acting.pass_ms(1)
        self.assertEqual(list(acting.group.members), [self.j])

    def test_leader(self) -> None:
        """A leader that comes back gets the members, and is told not to assign (KIP-814, version 9)."""
        token = self.acting.join(instance="i", version=9)
        joined = self.acting.answers[token]
        self.assertTrue(joined.skip_assignment)
        self.assertEqual(joined.leader, joined.member_id)
        self.assertEqual({m.member_id for m in joined.members}, {joined.member_id, self.j})
        self.assertEqual(self.acting.group.state, "Stable")

    def test_leader_before_version_9(self) -> None:
        """Before version 9 its old id is said to lead, so that it does not assign; yet it leads."""
        token = self.acting.join(instance="i", version=8)
        joined = self.acting.answers[token]
        self.assertEqual((joined.leader, joined.members, joined.skip_assignment), (self.i, [], False))
        self.assertEqual(self.acting.group.leader, joined.member_id)
        self.acting.join(joined.member_id, instance="i")
        self.assertEqual(self.acting.group.state, "PreparingRebalance")

    def test_follower_does_not_skip(self) -> None:
        """A follower that comes back is no leader that would have to skip anything."""
        joined = self.acting.answers[self.acting.join(instance="j", version=9)]
        self.assertEqual((joined.skip_assignment, joined.members), (False, []))

    def test_another_choice(self) -> None:
        """If its protocols change the choice of the group there is a rebalance."""
        acting = self.acting
        both = [("sticky", b""), ("range", b"")]
        for member in (self.i, self.j):
            acting.join(member, protocols=both)
        acting.settle([self.i, self.j])
        self.assertEqual(acting.group.protocol_name, "sticky")
        token = acting.join(instance="j", protocols=[("range", b"")])
        self.assertTrue(acting.waits(token))
        self.assertEqual(acting.group.state, "PreparingRebalance")

    def test_in_the_join_phase(self) -> None:
        """Whoever comes back while its old self waits takes part in its place; the old one is fenced."""
        acting = self.acting
        old = acting.join(self.j, instance="j", protocols=[("range", b"new")])
        new = acting.join(instance="j")
        self.assertIs(acting.error(old), ErrorCode.FENCED_INSTANCE_ID)
        self.assertEqual(acting.member(old), self.j)
        acting.join(self.i, instance="i")
        self.assertEqual(acting.answers[new].generation_id, 2)
        self.assertEqual(set(acting.group.members), {self.i, acting.member(new)})

    def test_in_the_sync_phase(self) -> None:
        """In the sync phase it begins a rebalance: the leader would assign to the old id."""
        acting = self.acting
        acting.join(self.i, instance="i")
        acting.join(self.j, instance="j")
        waiting = acting.sync(self.j, instance="j")
        token = acting.join(instance="j")
        self.assertIs(acting.error(waiting), ErrorCode.FENCED_INSTANCE_ID)
        self.assertTrue(acting.waits(token))
        self.assertEqual(acting.group.state, "PreparingRebalance")

    def test_session(self) -> None:
        """A static member is away until its session ends; then it is removed as any other."""
        acting = self.acting
        acting.pass_ms(SESSION_MS - 1)
        acting.heartbeat(self.i, instance="i")
        self.assertIn(self.j, acting.group.members)
        acting.pass_ms(1)
        self.assertNotIn(self.j, acting.group.members)
        token = acting.join(self.j, instance="j")
        self.assertIs(acting.error(token), ErrorCode.UNKNOWN_MEMBER_ID)

    def test_session_of_the_new_self(self) -> None:
        """Who came back has a session of its own."""
        acting = self.acting
        acting.pass_ms(SESSION_MS - 1)
        acting.heartbeat(self.i)
        new = acting.member(acting.join(instance="j"))
        acting.pass_ms(SESSION_MS - 1)
        acting.heartbeat(self.i)
        self.assertIn(new, acting.group.members)
        acting.pass_ms(1)
        self.assertNotIn(new, acting.group.members)

    def test_unknown_instance(self) -> None:
        """A member id with an instance that is not there is unknown."""
        token = self.acting.join(self.j, instance="k")
        self.assertIs(self.acting.error(token), ErrorCode.UNKNOWN_MEMBER_ID)

    def test_new_instance(self) -> None:
        """A static member that was never there is a new member: the group rebalances."""
        token = self.acting.join(instance="k")
        self.assertTrue(self.acting.waits(token))
        self.assertEqual(self.acting.group.state, "PreparingRebalance")


class WhileStoringTests(SynchronousTestCase):
    """What happens before the new id of a static member is stored."""

    def setUp(self) -> None:
        """A stable group of a static and a dynamic member; the static one has come back."""
        self.acting = Acting()
        tokens = [self.acting.join(instance="i"), self.acting.join(version=3)]
        self.acting.pass_ms(6000)
        self.i, self.other = self.acting.settle([self.acting.member(token) for token in tokens])
        self.acting.holds = True
        self.token = self.acting.join(instance="i")

    def test_comes_back_again(self) -> None:
        """If it comes back once more the first is fenced; the second is told when its id is stored."""
        second = self.acting.join(instance="i")
        self.assertIs(self.acting.error(self.token), ErrorCode.FENCED_INSTANCE_ID)
        self.acting.end_store()
        self.assertTrue(self.acting.waits(second))
        self.acting.end_store()
        self.assertIs(self.acting.error(second), ErrorCode.NONE)

    def test_comes_back_again_and_fails(self) -> None:
        """That the first of two could not be stored changes nothing for the second."""
        second = self.acting.join(instance="i")
        self.acting.errors = [ErrorCode.KAFKA_STORAGE_ERROR]
        self.acting.end_store()
        self.acting.end_store()
        self.assertIs(self.acting.error(second), ErrorCode.NONE)
        self.assertEqual(set(self.acting.group.members), {self.other, self.acting.member(second)})

    def test_sessions(self) -> None:
        """However long the store takes, a session begins when the member is told, whoever it is then."""
        for error in (ErrorCode.NONE, ErrorCode.KAFKA_STORAGE_ERROR):
            self.setUp()
            acting = self.acting
            for _ in range(3):
                acting.pass_ms(SESSION_MS - 1)
                acting.heartbeat(self.other)
            acting.errors = [error]
            acting.end_store()
            acting.pass_ms(SESSION_MS - 1)
            acting.heartbeat(self.other)
            self.assertEqual(len(acting.group.members), 2)
            acting.pass_ms(1)
            self.assertEqual(list(acting.group.members), [self.other])

    def test_is_removed(self) -> None:
        """If it is removed it is told that, and the store changes nothing."""
        self.acting.leave(MemberIdentity("", "i"))
        self.assertIs(self.acting.error(self.token), ErrorCode.UNKNOWN_MEMBER_ID)
        self.acting.end_store()
        self.assertEqual(list(self.acting.group.members), [self.other])

    def test_rebalance(self) -> None:
        """If a rebalance begins its JoinGroup counts, and is answered at the end of the join phase."""
        self.acting.join(self.other, protocols=[("range", b"new")])
        self.assertEqual(self.acting.answers[self.token].generation_id, 2)
        self.acting.end_store()
        self.assertEqual(self.acting.group.state, "CompletingRebalance")

    def test_rebalance_and_failure(self) -> None:
        """If a rebalance has begun that the store failed changes nothing: the next one stores it."""
        self.acting.join(version=3)
        self.acting.errors = [ErrorCode.KAFKA_STORAGE_ERROR]
        self.acting.end_store()
        self.assertTrue(self.acting.waits(self.token))
        self.acting.join(self.other)
        self.assertEqual(self.acting.answers[self.token].generation_id, 2)

    def test_not_synced(self) -> None:
        """If its old self had not synced the new one has to, or is removed with the rebalance time-out."""
        for syncs in (True, False):
            acting = Acting()
            tokens = [acting.join(instance=name, session_ms=90_000) for name in ("i", "j")]
            acting.pass_ms(6000)
            acting.settle([acting.member(tokens[0])])
            new = acting.member(acting.join(instance="j", session_ms=90_000))
            if syncs:
                acting.sync(new, instance="j")
            acting.pass_ms(REBALANCE_MS)
            self.assertEqual(new in acting.group.members, syncs)
            self.assertEqual(acting.group.state, "Stable" if syncs else "PreparingRebalance")
