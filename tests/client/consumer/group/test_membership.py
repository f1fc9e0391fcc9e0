"""The membership's timers, requests and callbacks, with a coordinator in memory."""

from __future__ import annotations

from collections.abc import Awaitable
from typing import Any

from twisted.internet.defer import Deferred, succeed
from twisted.trial.unittest import SynchronousTestCase

from kafkatx.client.consumer.group.membership import Membership
from kafkatx.clientcore.errors import ClientClosed, CommitFailed
from kafkatx.clientcore.group.offsets import OffsetAndMetadata
from kafkatx.errors import ErrorCode, KafkaTXError, RequestError, SettingError
from kafkatx.types import TopicPartition
from kafkatx.wire.messages.heartbeat import HeartbeatRequest
from kafkatx.wire.messages.join_group import JoinGroupRequest
from kafkatx.wire.messages.leave_group import LeaveGroupRequest
from kafkatx.wire.messages.metadata import MetadataRequest
from kafkatx.wire.messages.offset_commit import OffsetCommitRequest
from tests.blocking.fakes import FakeCluster, Log
from tests.client.coordinator import Coordinator
from tests.client.fakes import Network

SETTINGS = {"group_id": "g", "session_timeout_ms": 3000, "heartbeat_interval_ms": 500}


class Application:
    """A membership, and the changes that its application is told.

    :ivar heard: the changes, in order.
    :ivar busy: the Deferred that each change waits for; None: a change ends at once.
    """

    def __init__(self, network: Network, **settings: Any) -> None:
        self.network = network
        self.cluster = network.started("consumer", **{**SETTINGS, **settings})
        self.heard: list[tuple[str, set[str]]] = []
        self.errors: list[KafkaTXError] = []
        self.busy: Deferred[None] | None = None
        self.fails = False
        loaded = network.settings("consumer", **{**SETTINGS, **settings})
        self.membership = Membership(
            self.cluster,
            loaded,
            lambda at: self.hear("assigned", at),
            lambda at: self.hear("revoked", at),
            lambda at: self.hear("lost", at),
            self.errors.append,
        )
        self.membership.start()

    def hear(self, kind: str, partitions: set[TopicPartition]) -> Awaitable[None]:
        """Record a change."""
        self.heard.append((kind, {f"{topic}{number}" for topic, number in partitions}))
        if self.fails:
            raise LookupError("a bug of the application")
        return self.busy or succeed(None)

    @property
    def kinds(self) -> list[str]:
        """Return the kinds of changes."""
        return [kind for kind, _ in self.heard]

    @property
    def names(self) -> list[str]:
        """Return the assigned partitions."""
        return sorted(f"{topic}{number}" for topic, number in self.membership.assignment)


class MembershipCase(SynchronousTestCase):
    def setUp(self) -> None:
        """Make two brokers, the first a coordinator, and a topic with four partitions."""
        self.topics = {"t": [Log() for _ in range(4)]}
        self.network = Network(FakeCluster(self.topics, brokers=2, auto_create=False).answer)
        self.coordinator = Coordinator(self.network)

    def join(self, *topics: str, **settings: Any) -> Application:
        """Return a member that has subscribed, and has its assignment."""
        application = Application(self.network, **settings)
        application.membership.subscribe(topics or ("t",))
        self.network.run(1)
        return application

    def leave(self, application: Application) -> None:
        """Leave the group, and check that nothing is left behind."""
        self.network.result(Deferred.fromCoroutine(application.membership.leave()), 5)
        self.network.result(application.cluster.close())


class MembershipTests(MembershipCase):
    def test_joins(self) -> None:
        """The first member gets all partitions, and the next one a part of them."""
        first = self.join()
        self.assertEqual(
            (first.heard, first.names), ([("assigned", {"t0", "t1", "t2", "t3"})], ["t0", "t1", "t2", "t3"])
        )
        second = self.join()
        self.assertEqual((first.names, second.names), (["t0", "t1"], ["t2", "t3"]))
        self.assertEqual(first.kinds, ["assigned", "revoked", "assigned"])
        self.assertEqual(first.membership.generation, second.membership.generation)
        self.assertNotEqual(first.membership.member_id, second.membership.member_id)

    def test_leaves(self) -> None:
        """A leaving member gives up its partitions, tells the coordinator, and leaves no timer behind."""
        first, second = self.join(), self.join()
        self.leave(first)
        self.assertEqual((first.kinds[-1], first.names), ("revoked", []))
        self.assertEqual(len(self.network.sent(LeaveGroupRequest)), 1)
        self.network.run(1)
        self.assertEqual(second.names, ["t0", "t1", "t2", "t3"])
        self.leave(second)
        mine = [call for call in self.network.clock.getDelayedCalls() if "Coordinator" not in str(call)]
        self.assertEqual(mine, [])

    def test_before_start(self) -> None:
        """Topics subscribed to before the start are joined for at the start."""
        application = Application(self.network)
        second = Membership(
            application.cluster,
            self.network.settings("consumer", **SETTINGS),
            lambda at: application.hear("assigned", at),
            lambda at: application.hear("revoked", at),
            lambda at: application.hear("lost", at),
        )
        second.subscribe(["t"])
        self.network.run(1)
        self.assertEqual(self.network.sent(JoinGroupRequest), [])
        second.start()
        self.network.run(1)
        self.assertEqual(len(second.assignment), 4)

    def test_heartbeats(self) -> None:
        """Heartbeats go on while the application is busy with a change, so that it stays a member."""
        first = self.join()
        first.busy = Deferred()
        second = Application(self.network)
        second.membership.subscribe(["t"])
        self.network.run(10)
        self.assertEqual((first.kinds, first.names), (["assigned", "revoked"], ["t0", "t1", "t2", "t3"]))
        self.assertEqual(second.heard, [])
        self.assertGreater(len(self.network.sent(HeartbeatRequest)), 15)
        done, first.busy = first.busy, None
        done.callback(None)
        self.network.run(1)
        self.assertEqual((first.names, second.names), (["t0", "t1"], ["t2", "t3"]))

    def test_bug_of_application(self) -> None:
        """An error of the application's callback is logged, and the membership goes on."""
        first = self.join()
        first.fails = True
        second = self.join()
        self.assertEqual((first.names, second.names), (["t0", "t1"], ["t2", "t3"]))
        self.assertEqual(len(self.flushLoggedErrors(LookupError)), 2)

    def test_coordinator_dies(self) -> None:
        """Members keep their assignments after the coordinator dies and comes back."""
        first = self.join()
        self.network.kill(1)
        self.network.run(1)
        self.network.down.clear()
        self.network.run(3)
        self.assertEqual((first.kinds, first.names), (["assigned"], ["t0", "t1", "t2", "t3"]))

    def test_coordinator_moves(self) -> None:
        """The member finds another coordinator."""
        first = self.join()
        self.network.kill(1)
        self.coordinator.node = 2
        self.network.run(2)
        before = len(self.network.sent(HeartbeatRequest))
        self.network.run(2)
        self.assertEqual(first.kinds, ["assigned"])
        self.assertEqual([n for n, r in self.network.requests if isinstance(r, HeartbeatRequest)][-1], 2)
        self.assertGreater(len(self.network.sent(HeartbeatRequest)), before)

    def test_away_too_long(self) -> None:
        """A member that was away for longer than a session loses all partitions, and joins again."""
        first = self.join()
        self.network.kill(1)
        self.network.run(5)
        self.network.down.clear()
        self.network.run(5)
        self.assertEqual(first.kinds, ["assigned", "lost", "assigned"])

    def test_max_poll_interval(self) -> None:
        """An application that does not poll for too long loses its membership until it polls."""
        first = self.join(max_poll_interval_ms=5000)
        first.membership.poll()
        self.network.run(4.5)
        self.assertEqual(first.kinds, ["assigned"])
        self.network.run(1)
        self.assertEqual((first.kinds, len(self.network.sent(LeaveGroupRequest))), (["assigned", "lost"], 1))
        self.assertFalse(self.coordinator.group.has_members)
        first.membership.poll()
        self.network.run(1)
        self.assertEqual(first.kinds, ["assigned", "lost", "assigned"])

    def test_waiting(self) -> None:
        """An application may wait for records without a limit."""
        first = self.join(max_poll_interval_ms=5000)
        first.membership.poll(waiting=True)
        self.network.run(20)
        self.assertEqual(first.kinds, ["assigned"])

    def test_static_needs_version(self) -> None:
        """A static member does not join at a broker without static members."""
        self.network.newest[JoinGroupRequest] = 4
        first = self.join(group_instance_id="one")
        (error,) = first.errors
        assert isinstance(error, RequestError)
        self.assertEqual(error.code, ErrorCode.UNSUPPORTED_VERSION)
        self.assertIs(first.membership.error, error)
        self.assertEqual(self.network.sent(JoinGroupRequest), [])
        self.leave(first)

    def test_old_broker(self) -> None:
        """The first versions of the group's requests are supported."""
        for kind in (JoinGroupRequest, HeartbeatRequest, LeaveGroupRequest):
            self.network.newest[kind] = 0
        first, second = self.join(), self.join()
        self.assertEqual((first.names, second.names), (["t0", "t1"], ["t2", "t3"]))
        self.leave(first)
        self.network.run(1)
        self.assertEqual(second.names, ["t0", "t1", "t2", "t3"])

    def test_leave_takes_too_long(self) -> None:
        """A member whose coordinator does not answer leaves without an answer."""
        first = self.join()
        self.network.mute.add(1)
        leave = Deferred.fromCoroutine(first.membership.leave(timeout_s=2))
        self.network.run(1.8)
        self.assertNoResult(leave)
        self.network.run(0.4)
        self.successResultOf(leave)
        self.assertEqual(first.kinds[-1], "revoked")

    def test_leave_while_others_are_waited_for(self) -> None:
        """A member that leaves while the group waits for a dead member does not wait, and is removed."""
        dead = self.join(session_timeout_ms=60_000)
        dead.membership.close()
        second = Application(self.network)
        second.membership.subscribe(["t"])
        self.network.run(2)
        self.assertTrue(second.membership.rebalancing)
        leave = Deferred.fromCoroutine(second.membership.leave())
        self.network.run(0.2)
        self.successResultOf(leave)
        self.network.result(second.cluster.close())
        (request,) = self.network.sent(LeaveGroupRequest)
        self.assertNotIn(request.members[0].member_id, self.coordinator.group.members)

    def test_leave_while_nobody_answers(self) -> None:
        """Leaving takes no more than a second even if the coordinator does not answer."""
        self.join(session_timeout_ms=60_000).membership.close()
        second = Application(self.network)
        second.membership.subscribe(["t"])
        self.network.run(2)
        self.network.mute.add(1)
        leave = Deferred.fromCoroutine(second.membership.leave())
        self.network.run(0.9)
        self.assertNoResult(leave)
        self.network.run(0.2)
        self.successResultOf(leave)
        self.assertEqual(self.flushLoggedErrors(), [])

    def test_close(self) -> None:
        """A close at once cancels all waiting calls, and no callback is called any more."""
        first = self.join()
        cancelled: list[Deferred[None]] = []
        first.busy = Deferred(cancelled.append)
        second = Application(self.network)
        second.membership.subscribe(["t"])
        self.network.run(1)
        waiting = first.membership.unsubscribe()
        first.membership.close()
        self.successResultOf(waiting)
        self.assertEqual(cancelled, [first.busy])
        self.network.run(10)
        self.assertEqual(first.kinds, ["assigned", "revoked"])
        self.assertRaises(ClientClosed, first.membership.subscribe, ["t"])

    def test_unsubscribe(self) -> None:
        """A member that unsubscribes has left, and may subscribe again."""
        first = self.join()
        self.network.result(first.membership.unsubscribe(), 5)
        self.assertEqual((first.kinds, self.coordinator.group.has_members), (["assigned", "revoked"], False))
        first.membership.subscribe(["t"])
        self.network.run(1)
        self.assertEqual(len(first.names), 4)

    def test_settings(self) -> None:
        """A membership needs a group, and heartbeats that are not too far apart."""
        for wrong, words in (
            ({"group_id": None}, "group.id is not set"),
            ({"heartbeat_interval_ms": 3000}, "heartbeat.interval.ms=3000"),
            (
                {"partition_assignment_strategy": "rang"},
                "no plugin for IAssignor has this name; did you mean range?",
            ),
            ({"partition_assignment_strategy": object()}, "is not an IAssignor"),
        ):
            error = self.assertRaises(SettingError, Application, self.network, **wrong)
            self.assertIn(words, str(error))

    def test_subscribe_to_what(self) -> None:
        """A subscription has topics or a pattern, not both and not neither."""
        membership = Application(self.network).membership
        self.assertRaises(ValueError, membership.subscribe)
        self.assertRaises(ValueError, membership.subscribe, [])
        self.assertRaises(ValueError, membership.subscribe, ["t"], "t.*")
        error = self.assertRaises(ValueError, membership.subscribe, pattern="t(")
        self.assertIn("the pattern 't(' is malformed", str(error))


class TopicsTests(MembershipCase):
    def refresh(self, *applications: Application) -> None:
        """Refresh the metadata of all members."""
        for application in applications:
            application.cluster.stale()
        self.network.run(2)

    def test_grows(self) -> None:
        """New partitions of a topic are assigned."""
        first = self.join()
        self.topics["t"].append(Log())
        self.refresh(first)
        self.assertIn("t4", first.names)

    def test_comes_to_be(self) -> None:
        """A topic that does not exist yet is joined for when it does."""
        first = self.join("t", "u")
        self.assertEqual(len(first.names), 4)
        self.topics["u"] = [Log()]
        self.refresh(first)
        self.assertIn("u0", first.names)

    def test_leader_watches(self) -> None:
        """The leader watches topics that only others subscribe to."""
        first, second = self.join("t"), self.join("u")
        self.topics["u"] = [Log()]
        self.refresh(first, second)
        self.assertEqual((len(first.names), second.names), (4, ["u0"]))

    def test_pattern(self) -> None:
        """A pattern matches whole names, follows topics that come and go, and leaves internal ones out."""
        self.topics.update({"team": [Log()], "other": [Log()], "tool": [Log()]})
        first = Application(self.network)
        first.membership.subscribe(pattern="t|te.*|__.*")
        self.network.run(1)
        self.assertEqual(first.names, ["t0", "t1", "t2", "t3", "team0"])
        self.topics.update({"test": [Log()], "__consumer_offsets": [Log()]})
        del self.topics["team"]
        self.refresh(first)
        self.assertEqual(first.names, ["t0", "t1", "t2", "t3", "test0"])
        self.assertEqual(self.network.sent(MetadataRequest)[-1].topics, None)

    def test_pattern_of_nothing(self) -> None:
        """A pattern that matches nothing yet joins, and waits for topics."""
        first = Application(self.network)
        first.membership.subscribe(pattern="new")
        self.network.run(1)
        self.assertEqual((first.heard, self.coordinator.group.has_members), ([("assigned", set())], True))
        self.topics["new"] = [Log()]
        self.refresh(first)
        self.assertEqual(first.names, ["new0"])

    def test_pattern_to_topics(self) -> None:
        """A subscription by names takes the place of a pattern."""
        self.topics["u"] = [Log()]
        first = Application(self.network)
        first.membership.subscribe(pattern=".*")
        self.network.run(1)
        self.assertEqual(len(first.names), 5)
        first.membership.subscribe(["u"])
        self.network.run(1)
        self.assertEqual(first.names, ["u0"])


class OffsetsTests(MembershipCase):
    def test_commits(self) -> None:
        """A member commits with its ids, and the next member finds its offsets."""
        first = self.join()
        at = TopicPartition("t", 0)
        commit = Deferred.fromCoroutine(first.membership.commit({at: OffsetAndMetadata(7)}))
        self.network.result(commit)
        self.leave(first)
        second = self.join()
        found = self.network.result(Deferred.fromCoroutine(second.membership.fetch_committed([at])))
        self.assertEqual(found, {at: OffsetAndMetadata(7)})

    def test_static(self) -> None:
        """A static member commits with its instance id, too; commits from outside of the group have none."""
        first = self.join(group_instance_id="one")
        commit = first.membership.commit({TopicPartition("t", 0): OffsetAndMetadata(7)})
        self.network.result(Deferred.fromCoroutine(commit))
        self.assertEqual(self.network.sent(OffsetCommitRequest)[-1].group_instance_id, "one")
        self.leave(first)
        other = Application(self.network, group_id="h", group_instance_id="one").membership
        waiting = Deferred.fromCoroutine(other.commit({TopicPartition("t", 0): OffsetAndMetadata(7)}))
        self.network.run(1)
        self.assertEqual(self.network.sent(OffsetCommitRequest)[-1].group_instance_id, None)
        waiting.addErrback(lambda failure: None)

    def test_while_revoking(self) -> None:
        """Offsets of revoked partitions can be committed until the application is done with them."""
        first = self.join()
        first.busy = Deferred()
        second = Application(self.network)
        second.membership.subscribe(["t"])
        self.network.run(1)
        self.assertEqual(first.kinds[-1], "revoked")
        commit = first.membership.commit({TopicPartition("t", 3): OffsetAndMetadata(7)})
        self.network.result(Deferred.fromCoroutine(commit))

    def test_not_awaited(self) -> None:
        """Commits that are not awaited are done before the partitions go, even if one is retried."""
        first = self.join()
        self.coordinator.commit_errors = [ErrorCode.COORDINATOR_LOAD_IN_PROGRESS]
        commits = [
            Deferred.fromCoroutine(
                first.membership.commit({TopicPartition("t", number): OffsetAndMetadata(7)})
            )
            for number in range(3)
        ]
        self.leave(first)
        for commit in commits:
            self.successResultOf(commit)
        self.assertEqual(len(self.coordinator.offsets), 3)

    def test_while_joining(self) -> None:
        """While the group rebalances nothing can be committed."""
        first, second = self.join(), self.join()
        second.busy = Deferred()
        third = Application(self.network)
        third.membership.subscribe(["t"])
        self.network.run(1)
        self.assertTrue(first.membership.rebalancing)
        commit = first.membership.commit({TopicPartition("t", 0): OffsetAndMetadata(7)})
        error = self.failureResultOf(Deferred.fromCoroutine(commit), CommitFailed).value
        self.assertEqual(error.code, ErrorCode.REBALANCE_IN_PROGRESS)

    def test_without_subscription(self) -> None:
        """A member without a subscription commits from outside of the group."""
        application = Application(self.network)
        at = TopicPartition("t", 0)
        commit = application.membership.commit({at: OffsetAndMetadata(7)})
        self.network.result(Deferred.fromCoroutine(commit))
        self.assertEqual(self.coordinator.offsets[at][0], 7)

    def test_refused(self) -> None:
        """A commit that shows that the member is out makes it join again."""
        first = self.join()
        self.coordinator.commit_errors = [ErrorCode.UNKNOWN_MEMBER_ID]
        commit = first.membership.commit({TopicPartition("t", 0): OffsetAndMetadata(7)})
        waiting = Deferred.fromCoroutine(commit)
        self.network.run(1)
        self.failureResultOf(waiting, CommitFailed)
        self.assertEqual(first.kinds[:2], ["assigned", "lost"])
