"""Static membership (KIP-345): a member with an instance id that comes back keeps its place."""

from __future__ import annotations

from twisted.trial.unittest import SynchronousTestCase

from kafkatx.errors import ErrorCode
from kafkatx.group.classic.records import decode_value
from kafkatx.wire.messages.leave_group import MemberIdentity
from tests.group.classic.driver import REBALANCE_MS, SESSION_MS, GroupDriver


class ComesBackTests(SynchronousTestCase):
    def setUp(self) -> None:
        """Make a stable group of two static members; i leads."""
        self.driver = GroupDriver()
        tokens = [self.driver.join(instance=name) for name in ("i", "j")]
        self.driver.pass_ms(6000)
        self.i, self.j = self.driver.settle([self.driver.member(token) for token in tokens])

    def test_no_rebalance(self) -> None:
        """A static member that comes back without its id gets a new one and its old part: no rebalance."""
        driver = self.driver
        token = driver.join(instance="j", client="new")
        joined = driver.answers[token]
        self.assertEqual((joined.error_code, joined.generation_id, joined.leader), (0, 1, self.i))
        self.assertNotEqual(joined.member_id, self.j)
        self.assertEqual(
            (driver.group.state, set(driver.group.members)), ("Stable", {self.i, joined.member_id})
        )
        synced = driver.sync(joined.member_id, instance="j")
        self.assertEqual(driver.answers[synced].assignment, f"part of {self.j}".encode())
        self.assertEqual(driver.group.members[joined.member_id].client_id, "new")

    def test_other_metadata(self) -> None:
        """A static member that comes back with other metadata begins no rebalance, as in Apache Kafka."""
        token = self.driver.join(instance="j", protocols=[("range", b"other")])
        self.assertIs(self.driver.error(token), ErrorCode.NONE)
        self.assertEqual(self.driver.group.state, "Stable")

    def test_old_self_is_fenced(self) -> None:
        """Every request with the replaced member id is answered FENCED_INSTANCE_ID (82)."""
        driver = self.driver
        driver.join(instance="j")
        fenced = ErrorCode.FENCED_INSTANCE_ID
        self.assertIs(driver.heartbeat(self.j, instance="j"), fenced)
        self.assertIs(driver.error(driver.sync(self.j, instance="j")), fenced)
        self.assertIs(driver.error(driver.join(self.j, instance="j")), fenced)
        self.assertIs(driver.commit(self.j, 1, "j"), fenced)
        left = driver.leave(MemberIdentity(self.j, "j"))
        self.assertEqual([m.error_code for m in left.members], [fenced])
        self.assertIs(driver.heartbeat(self.j), ErrorCode.UNKNOWN_MEMBER_ID)
        self.assertEqual(len(driver.group.members), 2)

    def test_stored(self) -> None:
        """The new member id is stored before the JoinGroup is answered, and known after a restart."""
        driver = self.driver
        driver.holds = True
        token = driver.join(instance="j")
        self.assertTrue(driver.waits(token))
        stored = decode_value(driver.records[-1].value or b"")
        driver.end_store()
        parts = {m.member_id: m.assignment for m in stored.members}
        self.assertEqual(set(parts), {self.i, driver.member(token)})
        self.assertEqual(parts[driver.member(token)], f"part of {self.j}".encode())

    def test_not_stored(self) -> None:
        """The old member is restored, and the new one refused, if the new id cannot be stored."""
        driver = self.driver
        driver.errors = [ErrorCode.KAFKA_STORAGE_ERROR]
        token = driver.join(instance="i")
        self.assertIs(driver.error(token), ErrorCode.NOT_COORDINATOR)
        self.assertEqual(set(driver.group.members), {self.i, self.j})
        self.assertEqual(driver.group.leader, self.i)
        self.assertIs(driver.heartbeat(self.i, instance="i"), ErrorCode.NONE)
        driver.pass_ms(SESSION_MS - 1)
        driver.heartbeat(self.j)
        self.assertEqual(len(driver.group.members), 2)
        driver.pass_ms(1)
        self.assertEqual(list(driver.group.members), [self.j])

    def test_leader(self) -> None:
        """A leader that comes back gets the members, and is told not to assign (KIP-814, version 9)."""
        token = self.driver.join(instance="i", version=9)
        joined = self.driver.answers[token]
        self.assertTrue(joined.skip_assignment)
        self.assertEqual(joined.leader, joined.member_id)
        self.assertEqual({m.member_id for m in joined.members}, {joined.member_id, self.j})
        self.assertEqual(self.driver.group.state, "Stable")

    def test_leader_before_version_9(self) -> None:
        """A leader that comes back before version 9 gets its old id as leader, so that it does not assign."""
        token = self.driver.join(instance="i", version=8)
        joined = self.driver.answers[token]
        self.assertEqual((joined.leader, joined.members, joined.skip_assignment), (self.i, [], False))
        self.assertEqual(self.driver.group.leader, joined.member_id)
        self.driver.join(joined.member_id, instance="i")
        self.assertEqual(self.driver.group.state, "PreparingRebalance")

    def test_follower_does_not_skip(self) -> None:
        """A follower that comes back is not told to skip the assignment."""
        joined = self.driver.answers[self.driver.join(instance="j", version=9)]
        self.assertEqual((joined.skip_assignment, joined.members), (False, []))

    def test_another_choice(self) -> None:
        """A static member whose protocols change the group's choice begins a rebalance."""
        driver = self.driver
        both = [("sticky", b""), ("range", b"")]
        for member in (self.i, self.j):
            driver.join(member, protocols=both)
        driver.settle([self.i, self.j])
        self.assertEqual(driver.group.protocol_name, "sticky")
        token = driver.join(instance="j", protocols=[("range", b"")])
        self.assertTrue(driver.waits(token))
        self.assertEqual(driver.group.state, "PreparingRebalance")

    def test_in_the_join_phase(self) -> None:
        """A static member that comes back in the join phase takes part, and its old id is fenced."""
        driver = self.driver
        old = driver.join(self.j, instance="j", protocols=[("range", b"new")])
        new = driver.join(instance="j")
        self.assertIs(driver.error(old), ErrorCode.FENCED_INSTANCE_ID)
        self.assertEqual(driver.member(old), self.j)
        driver.join(self.i, instance="i")
        self.assertEqual(driver.answers[new].generation_id, 2)
        self.assertEqual(set(driver.group.members), {self.i, driver.member(new)})

    def test_in_the_sync_phase(self) -> None:
        """A static member that comes back in the sync phase begins a rebalance, as its old id is replaced."""
        driver = self.driver
        driver.join(self.i, instance="i")
        driver.join(self.j, instance="j")
        waiting = driver.sync(self.j, instance="j")
        token = driver.join(instance="j")
        self.assertIs(driver.error(waiting), ErrorCode.FENCED_INSTANCE_ID)
        self.assertTrue(driver.waits(token))
        self.assertEqual(driver.group.state, "PreparingRebalance")

    def test_session(self) -> None:
        """A static member that is away is removed when its session ends."""
        driver = self.driver
        driver.pass_ms(SESSION_MS - 1)
        driver.heartbeat(self.i, instance="i")
        self.assertIn(self.j, driver.group.members)
        driver.pass_ms(1)
        self.assertNotIn(self.j, driver.group.members)
        token = driver.join(self.j, instance="j")
        self.assertIs(driver.error(token), ErrorCode.UNKNOWN_MEMBER_ID)

    def test_session_of_the_new_self(self) -> None:
        """A static member that came back has a session of its own."""
        driver = self.driver
        driver.pass_ms(SESSION_MS - 1)
        driver.heartbeat(self.i)
        new = driver.member(driver.join(instance="j"))
        driver.pass_ms(SESSION_MS - 1)
        driver.heartbeat(self.i)
        self.assertIn(new, driver.group.members)
        driver.pass_ms(1)
        self.assertNotIn(new, driver.group.members)

    def test_unknown_instance(self) -> None:
        """A member id with an unknown instance id is unknown."""
        token = self.driver.join(self.j, instance="k")
        self.assertIs(self.driver.error(token), ErrorCode.UNKNOWN_MEMBER_ID)

    def test_new_instance(self) -> None:
        """A static member with a new instance id makes the group rebalance."""
        token = self.driver.join(instance="k")
        self.assertTrue(self.driver.waits(token))
        self.assertEqual(self.driver.group.state, "PreparingRebalance")


class WhileStoringTests(SynchronousTestCase):
    """Events before the new id of a static member is stored."""

    def setUp(self) -> None:
        """Make a stable group of a static and a dynamic member; the static one has come back."""
        self.driver = GroupDriver()
        tokens = [self.driver.join(instance="i"), self.driver.join(version=3)]
        self.driver.pass_ms(6000)
        self.i, self.other = self.driver.settle([self.driver.member(token) for token in tokens])
        self.driver.holds = True
        self.token = self.driver.join(instance="i")

    def test_comes_back_again(self) -> None:
        """The first of two returns is fenced, and the second is answered when its id is stored."""
        second = self.driver.join(instance="i")
        self.assertIs(self.driver.error(self.token), ErrorCode.FENCED_INSTANCE_ID)
        self.driver.end_store()
        self.assertTrue(self.driver.waits(second))
        self.driver.end_store()
        self.assertIs(self.driver.error(second), ErrorCode.NONE)

    def test_comes_back_again_and_fails(self) -> None:
        """The second of two returns succeeds even if the first could not be stored."""
        second = self.driver.join(instance="i")
        self.driver.errors = [ErrorCode.KAFKA_STORAGE_ERROR]
        self.driver.end_store()
        self.driver.end_store()
        self.assertIs(self.driver.error(second), ErrorCode.NONE)
        self.assertEqual(set(self.driver.group.members), {self.other, self.driver.member(second)})

    def test_sessions(self) -> None:
        """A session begins when the member is answered, however long the store takes."""
        for error in (ErrorCode.NONE, ErrorCode.KAFKA_STORAGE_ERROR):
            self.setUp()
            driver = self.driver
            for _ in range(3):
                driver.pass_ms(SESSION_MS - 1)
                driver.heartbeat(self.other)
            driver.errors = [error]
            driver.end_store()
            driver.pass_ms(SESSION_MS - 1)
            driver.heartbeat(self.other)
            self.assertEqual(len(driver.group.members), 2)
            driver.pass_ms(1)
            self.assertEqual(list(driver.group.members), [self.other])

    def test_is_removed(self) -> None:
        """A member that is removed during the store is told so, and the store changes nothing."""
        self.driver.leave(MemberIdentity("", "i"))
        self.assertIs(self.driver.error(self.token), ErrorCode.UNKNOWN_MEMBER_ID)
        self.driver.end_store()
        self.assertEqual(list(self.driver.group.members), [self.other])

    def test_rebalance(self) -> None:
        """A rebalance counts the waiting JoinGroup, and answers it at the end of the join phase."""
        self.driver.join(self.other, protocols=[("range", b"new")])
        self.assertEqual(self.driver.answers[self.token].generation_id, 2)
        self.driver.end_store()
        self.assertEqual(self.driver.group.state, "CompletingRebalance")

    def test_rebalance_and_failure(self) -> None:
        """A failed store is ignored once a rebalance has begun, since the next generation is stored."""
        self.driver.join(version=3)
        self.driver.errors = [ErrorCode.KAFKA_STORAGE_ERROR]
        self.driver.end_store()
        self.assertTrue(self.driver.waits(self.token))
        self.driver.join(self.other)
        self.assertEqual(self.driver.answers[self.token].generation_id, 2)

    def test_not_synced(self) -> None:
        """A new member whose old self had not synced is removed at the rebalance time-out unless it syncs."""
        for syncs in (True, False):
            driver = GroupDriver()
            tokens = [driver.join(instance=name, session_ms=90_000) for name in ("i", "j")]
            driver.pass_ms(6000)
            driver.settle([driver.member(tokens[0])])
            new = driver.member(driver.join(instance="j", session_ms=90_000))
            if syncs:
                driver.sync(new, instance="j")
            driver.pass_ms(REBALANCE_MS)
            self.assertEqual(new in driver.group.members, syncs)
            self.assertEqual(driver.group.state, "Stable" if syncs else "PreparingRebalance")
