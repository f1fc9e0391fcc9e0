"""The group as the broker sees it: writes, failed writes, restarts, offsets, descriptions."""

from __future__ import annotations

from typing import Any

from kafkatx.errors import ErrorCode
from kafkatx.group.actions import NEVER_MS, Group
from kafkatx.group.consumer.group import RETRY_MS
from kafkatx.group.consumer.member import Current, Metadata
from kafkatx.group.consumer.records import Change, Kind
from tests.group.consumer.driver import (
    REBALANCE_MS,
    SESSION_MS,
    WALL_MS,
    GroupTestCase,
    MixedTestCase,
    cluster,
    t,
    topic,
)

ALL = t(0, 1, 2, 3, 4, 5)


class WriteTests(MixedTestCase):
    def test_protocol(self) -> None:
        """A consumer group is a Group of the kind consumer."""
        group: Group = self.new_group()
        self.assertEqual((group.kind, group.protocol_type, group.state), ("consumer", "consumer", "Empty"))
        self.assertEqual((group.has_members, group.empty_since_ms, group.deadline_ms), (False, -1, NEVER_MS))
        self.assertEqual(group.advance(5), [])

    def test_not_written(self) -> None:
        """A request whose records cannot be written changes nothing, and may succeed later."""
        self.joined("a")
        self.joined("b")
        self.send("a", 1)
        for request in (
            lambda: self.join("c"),
            lambda: self.send("a", 1, owned=set()),
            lambda: self.send("a", 1, ["u"]),
            lambda: self.send("a", -1),
            lambda: self.join("s", instance_id="i", subscribed_topic_regex="t"),
        ):
            before, log = self.group.consumer_describe(), dict(self.log)
            self.store_error = ErrorCode.COORDINATOR_NOT_AVAILABLE
            self.refused(ErrorCode.COORDINATOR_NOT_AVAILABLE, request())
            self.assertEqual((self.group.consumer_describe(), self.log), (before, log))
            self.store_error = ErrorCode.NONE
        self.assertEqual(self.send("b", 2).error_code, 0)
        self.assertEqual(self.send("a", 1, owned=set()).member_epoch, 2)

    def test_classic_not_written(self) -> None:
        """The requests of classic members are also refused with that error."""
        self.joined("a")
        self.store_error = ErrorCode.NOT_COORDINATOR
        for version, name in ((6, ""), (9, None)):
            response = self.classic_join("c", version=version)
            self.assertEqual(
                (response.error_code, response.member_id, response.protocol_name),
                (ErrorCode.NOT_COORDINATOR, "c", name),
            )

    def test_static_not_replaced(self) -> None:
        """A static member whose return cannot be written is still away."""
        self.joined("a", instance_id="i")
        self.send("a", -2, instance_id="i")
        self.store_error = ErrorCode.NOT_COORDINATOR
        self.refused(ErrorCode.NOT_COORDINATOR, self.join("b", instance_id="i"))
        self.store_error = ErrorCode.NONE
        self.assertEqual(self.assigned(self.join("c", instance_id="i")), ALL)

    def test_revocation_not_written(self) -> None:
        """A revocation time-out does not begin with a change that could not be written."""
        self.joined("a", rebalance_timeout_ms=1000)
        self.joined("b")
        self.store_error = ErrorCode.NOT_COORDINATOR
        self.refused(ErrorCode.NOT_COORDINATOR, self.send("a", 1))
        self.store_error = ErrorCode.NONE
        self.pass_time(5000)
        self.assertEqual(self.send("a", 1).error_code, 0)

    def test_removal_not_written(self) -> None:
        """A removal that cannot be written is tried again until it succeeds."""
        self.joined()
        self.store_error = ErrorCode.COORDINATOR_NOT_AVAILABLE
        self.pass_time(SESSION_MS + 5 * RETRY_MS)
        self.assertTrue(self.group.has_members)
        self.store_error = ErrorCode.NONE
        self.pass_time(RETRY_MS)
        self.assertFalse(self.group.has_members)

    def test_our_own_fault(self) -> None:
        """A request that fails by a bug changes nothing."""
        self.joined()
        before = self.group.consumer_describe()

        def fail(*_: object) -> None:
            raise ZeroDivisionError

        self.patch(self.group._rebalance, "_step", fail)
        self.assertRaises(ZeroDivisionError, self.join, "b")
        self.assertEqual(self.group.consumer_describe(), before)

    def test_wait(self) -> None:
        """No request is answered while records are being written; then all are, in order."""
        self.joined("a")
        self.holding = True
        tokens = [self.token(lambda name=name: self.join(name)) for name in "bc"]
        tokens.append(self.token(lambda: self.send("a", 1)))
        self.assertEqual([token in self.answers for token in tokens], [False] * 3)
        self.assertEqual((self.group.deadline_ms, self.group.advance(10**9)), (NEVER_MS, []))
        self.assertEqual(len(self.held), 1)
        self.release()
        self.assertEqual([self.answers[token].error_code for token in tokens], [0, 0, 0])
        self.assertEqual([self.answers[token].member_epoch for token in tokens], [2, 3, 1])

    def test_wait_in_vain(self) -> None:
        """Requests that waited are served even if the write before them failed."""
        self.holding = True
        tokens = [self.token(lambda name=name: self.join(name)) for name in "ab"]
        self.store_error, self.log = ErrorCode.NOT_COORDINATOR, {}
        (group,) = self.held
        self.holding = False
        actions = group.stored(ErrorCode.NOT_COORDINATOR, self.now_ms)
        self.store_error = ErrorCode.NONE
        self.perform(group, actions)
        first, second = (self.answers[token] for token in tokens)
        self.refused(ErrorCode.NOT_COORDINATOR, first)
        self.assertEqual((second.error_code, self.assigned(second)), (0, ALL))

    def test_wait_for_replacement(self) -> None:
        """A request that waited while the group became classic is refused, so that the client asks again."""
        self.joined("a")
        self.classic_joined()
        self.holding = True
        leaving = self.token(lambda: self.send("a", -1))
        waiting = self.token(lambda: self.send("a", 1))
        self.release()
        self.assertEqual(self.group.kind, "classic")
        self.assertEqual(self.answers[leaving].error_code, 0)
        self.refused(ErrorCode.NOT_COORDINATOR, self.answers[waiting])

    def token(self, request: Any) -> object:
        """Send a request; return its token."""
        request()
        return self.last_token

    def test_told(self) -> None:
        """The log has a line for a rebalance, and none for heartbeats."""
        epoch = self.joined()
        self.assertEqual([line.values for line in self.lines], [{"epoch": 1, "members": 1, "topics": 1}])
        self.lines.clear()
        self.send("a", epoch)
        self.assertEqual(self.lines, [])
        self.send("a", -1)
        self.assertEqual(
            [line.values for line in self.lines],
            [{"epoch": 2, "members": 0, "topics": 0}, {"member": "a", "reason": "it has left"}],
        )


class RestartTests(GroupTestCase):
    def test_goes_on(self) -> None:
        """Members continue after a restart without a rebalance, even in the middle of one."""
        self.joined("a")
        self.joined("b", instance_id="i")
        kept = self.assigned(self.send("a", 1))
        self.send("b", 2)
        before = self.group.consumer_describe()
        self.restart()
        self.assertEqual(self.group.consumer_describe(), before)
        self.batches.clear()
        self.assertEqual(self.send("a", 1).member_epoch, 1)
        self.assertEqual(self.send("b", 2, instance_id="i").member_epoch, 2)
        self.assertEqual(self.batches, [])
        self.assertEqual(self.send("a", 1, owned=kept).member_epoch, 2)
        self.assertEqual(self.assigned(self.send("b", 2)), ALL - kept)

    def test_any_order(self) -> None:
        """The order of records does not matter, since a compacted log keeps only the last of each key."""
        self.joined("a")
        self.joined("b")
        self.send("a", 1)
        before = self.group.consumer_describe()
        self.log = dict(reversed(self.log.items()))
        self.restart()
        self.assertEqual(self.group.consumer_describe(), before)

    def test_sessions(self) -> None:
        """Sessions begin again with a restart, and so does the time for revocations."""
        self.joined("a", rebalance_timeout_ms=10_000)
        self.joined("b")
        self.send("a", 1)
        self.pass_time(9000)
        self.restart()
        self.pass_time(9999)
        self.assertEqual(len(self.group.consumer_describe().members), 2)
        self.send("b", 2)
        self.pass_time(1)
        self.assertEqual([m.member_id for m in self.group.consumer_describe().members], ["b"])
        self.pass_time(SESSION_MS)
        self.assertFalse(self.group.has_members)

    def test_silent(self) -> None:
        """A member that is silent after the restart is removed when its new session ends."""
        self.joined("a")
        self.pass_time(SESSION_MS - 1)
        self.restart()
        self.pass_time(SESSION_MS - 1)
        self.assertTrue(self.group.has_members)
        self.pass_time(1)
        self.assertFalse(self.group.has_members)

    def test_topics_changed(self) -> None:
        """Topics that changed during the restart are noticed with the first heartbeat."""
        epoch = self.joined()
        self.restart()
        self.cluster = cluster(topic("t", 7))
        self.assertEqual(self.send("a", epoch).member_epoch, epoch + 1)

    def test_empty(self) -> None:
        """An empty group is still there after a restart, and counts as empty since then."""
        self.joined()
        self.send("a", -1)
        self.now_ms = 7000
        self.restart()
        self.assertEqual((self.group.state, self.group.empty_since_ms), ("Empty", WALL_MS + 7000))
        self.assertEqual(self.joined("b"), 3)

    def test_deleted(self) -> None:
        """Tombstones leave nothing of a group."""
        self.joined("a", instance_id="i", subscribed_topic_regex="t")
        self.joined("b")
        for record in self.group.tombstones():
            self.assertIn(record.key, self.log)
            self.log[record.key] = record.value
        self.assertEqual(set(self.log.values()), {None})
        self.restart()
        self.assertEqual((self.group.has_members, self.group.empty_since_ms), (False, -1))

    def test_fragments(self) -> None:
        """Incomplete records of members are dropped."""
        self.joined("a")
        for kind in (Kind.CURRENT, Kind.TARGET):
            value: Any = Current(5, 4, assigned={}) if kind is Kind.CURRENT else {}
            self.group.replay(Change(kind, "x", value))
        self.group.loaded(0)
        self.assertEqual([m.member_id for m in self.group.consumer_describe().members], ["a"])
        self.group = self.new_group()
        self.group.replay(Change(Kind.MEMBER, "x", Metadata()))
        self.group.loaded(0)
        self.assertFalse(self.group.has_members)


class OffsetTests(GroupTestCase):
    def check(self, member_id: str | None, epoch: int, version: int = 9) -> tuple[ErrorCode, ErrorCode]:
        """Return the errors of a commit and of a fetch."""
        return (
            self.group.check_commit(member_id or "", None, epoch, version, 0),
            self.group.check_fetch(member_id, epoch, 0),
        )

    def test_members(self) -> None:
        """A member names its epoch; an earlier or a later one is stale."""
        epoch = self.joined()
        self.assertEqual(self.check("a", epoch), (0, 0))
        stale, unknown = ErrorCode.STALE_MEMBER_EPOCH, ErrorCode.UNKNOWN_MEMBER_ID
        for other in (epoch - 1, epoch + 1, -1):
            self.assertEqual(self.check("a", other), (stale, stale))
        self.assertEqual(self.check("b", epoch), (unknown, unknown))

    def test_administrators(self) -> None:
        """Offsets without a member may be fetched always, and committed while the group is empty."""
        self.assertEqual(self.check(None, -1), (0, 0))
        self.joined()
        self.assertEqual(self.check(None, -1), (ErrorCode.UNKNOWN_MEMBER_ID, 0))

    def test_old_commit(self) -> None:
        """A member of KIP-848 must commit with a version that knows member epochs."""
        epoch = self.joined()
        self.assertEqual(self.check("a", epoch, 8)[0], ErrorCode.UNSUPPORTED_VERSION)

    def test_no_sign_of_life(self) -> None:
        """A commit does not extend a session; only heartbeats do."""
        epoch = self.joined()
        self.pass_time(SESSION_MS - 1)
        self.check("a", epoch)
        self.pass_time(1)
        self.assertFalse(self.group.has_members)


class DescribeTests(GroupTestCase):
    def test_describe(self) -> None:
        """A description shows assignments and targets, by topic names."""
        self.cluster = cluster(topic("t", 2), topic("u", 1))
        self.joined("a", ["t", "u"], rack_id="r", instance_id="i")
        self.joined("b", ["t"])
        self.send("a", 1)
        described = self.group.consumer_describe()
        self.assertEqual(
            (described.group_id, described.group_state, described.group_epoch, described.assignment_epoch),
            ("g", "Reconciling", 2, 2),
        )
        a = self.described("a")
        self.assertEqual(
            (a.instance_id, a.rack_id, a.member_epoch, a.client_id, a.client_host, a.subscribed_topic_names),
            ("i", "r", 1, "client", "/127.0.0.1", ["t", "u"]),
        )
        for assignment in (a.assignment, a.target_assignment):
            self.assertEqual([one.topic_name for one in assignment.topic_partitions], ["t", "u"])
        b = self.described("b")
        self.assertEqual(b.assignment.topic_partitions, [])
        (had,) = b.target_assignment.topic_partitions
        self.assertEqual((had.topic_id, had.topic_name), (self.cluster.topics["t"].topic_id, "t"))

    def test_deleted_topic(self) -> None:
        """Partitions of a deleted topic are omitted, since it has no name."""
        self.joined()
        self.cluster = cluster()
        self.assertEqual(self.described().assignment.topic_partitions, [])

    def test_states(self) -> None:
        """A group is Assigning before it has a new target, and Reconciling until members have reached it."""
        self.joined("a")
        self.joined("b")
        self.assertEqual(self.group.state, "Reconciling")
        self.send("b", -1)
        self.assertEqual(self.group.state, "Assigning")
        self.send("a", 1, ["t"], ALL, rebalance_timeout_ms=REBALANCE_MS)
        self.assertEqual(self.group.state, "Stable")

    def test_as_classic(self) -> None:
        """DescribeGroups finds no such group, as in Apache Kafka."""
        self.joined()
        described = self.group.describe()
        self.assertEqual(
            (described.group_id, described.group_state, described.members, described.error_code),
            ("g", "Dead", [], 0),
        )
