"""Groups of three whole brokers that copy ``__consumer_offsets``: another broker takes a group over."""

from __future__ import annotations

from random import Random
from typing import ClassVar

from twisted.internet.defer import Deferred

from kafkatx.errors import ErrorCode
from kafkatx.wire.messages.consumer_group_heartbeat import ConsumerGroupHeartbeatRequest
from kafkatx.wire.messages.heartbeat import HeartbeatRequest
from kafkatx.wire.messages.join_group import JoinGroupRequest, JoinGroupRequestProtocol
from kafkatx.wire.messages.sync_group import SyncGroupRequest, SyncGroupRequestAssignment
from tests.broker.handlers.test_offset_commit import commit
from tests.broker.test_cluster import AWAY_S
from tests.broker.test_cluster_groups import (
    COMMIT,
    GROUPS,
    HEARTBEAT,
    JOIN,
    NONE,
    NOT_COORDINATOR,
    SESSION_MS,
    SYNC,
    GroupsOfBrokersCase,
)
from tests.metadata.cluster.memory import TIMEOUT_S

CONSUMER_HEARTBEAT = 68


class GroupCopiesCase(GroupsOfBrokersCase):
    """All brokers have all partitions of ``__consumer_offsets``; two replicas must be in sync."""

    settings: ClassVar[dict[str, str]] = {
        **GroupsOfBrokersCase.settings,
        "offsets.topic.replication.factor": "3",
        "min.insync.replicas": "2",
    }

    def setUp(self) -> None:
        """Make the topics, and let all brokers follow."""
        super().setUp()
        self.coordinator("a")
        self.advance(2)

    def moved(self, group: str, old: int) -> int:
        """Return the coordinator of a group, which must be another one than before."""
        new = self.coordinator(group)
        self.assertNotEqual(new, old)
        return new


class TakeOverTests(GroupCopiesCase):
    def test_offsets(self) -> None:
        """The next coordinator has what was acknowledged, and takes commits."""
        node = self.coordinator("a")
        self.assertEqual(self.commit(node, "a", 7), NONE)
        self.kill(node)
        self.advance(AWAY_S)
        new = self.moved("a", node)
        self.assertEqual(self.fetch(new, "a"), 7)
        self.assertEqual(self.commit(new, "a", 8), NONE)
        self.start(node)
        self.advance(5)
        self.assertEqual(self.fetch(self.coordinator("a"), "a"), 8)

    def test_member(self) -> None:
        """A member of the classic protocol goes on in its generation with the next coordinator."""
        node = self.coordinator("a")
        protocols = [JoinGroupRequestProtocol("range", b"m")]
        request = JoinGroupRequest("a", SESSION_MS, SESSION_MS, "", None, "consumer", protocols)
        member = self.ask(node, JOIN, 3, request).member_id
        assigned = [SyncGroupRequestAssignment(member, b"all")]
        synced = self.ask(node, SYNC, 3, SyncGroupRequest("a", 1, member, assignments=assigned))
        self.assertEqual((synced.error_code, synced.assignment), (NONE, b"all"))
        self.kill(node)
        self.advance(AWAY_S)
        new = self.moved("a", node)
        self.assertEqual(self.ask(new, HEARTBEAT, 3, HeartbeatRequest("a", 1, member)).error_code, NONE)
        again = self.ask(new, SYNC, 3, SyncGroupRequest("a", 1, member))
        self.assertEqual((again.error_code, again.assignment), (NONE, b"all"))
        in_generation = commit(9, group="a", generation_id_or_member_epoch=1, member_id=member)
        codes = self.ask(new, COMMIT, 8, in_generation).topics[0].partitions
        self.assertEqual([one.error_code for one in codes], [NONE])

    def test_consumer_protocol(self) -> None:
        """A member of the consumer protocol (KIP-848) keeps its epoch with the next coordinator."""
        node = self.coordinator("a")
        joining = ConsumerGroupHeartbeatRequest(
            "a",
            member_epoch=0,
            rebalance_timeout_ms=SESSION_MS,
            subscribed_topic_names=["t"],
            topic_partitions=[],
        )
        joined = self.ask(node, CONSUMER_HEARTBEAT, 0, joining)
        self.assertEqual(joined.error_code, NONE)
        self.kill(node)
        self.advance(AWAY_S)
        new = self.moved("a", node)
        beat = ConsumerGroupHeartbeatRequest("a", joined.member_id, joined.member_epoch)
        answer = self.ask(new, CONSUMER_HEARTBEAT, 0, beat)
        self.assertEqual((answer.error_code, answer.member_epoch), (NONE, joined.member_epoch))

    def test_waiting_member(self) -> None:
        """A member that waits to join is sent to the next coordinator when the lease has ended."""
        node = self.coordinator("a")
        waits = JoinGroupRequest("a", SESSION_MS, SESSION_MS, "", None, "consumer", [
            JoinGroupRequestProtocol("range", b"m")
        ])  # fmt: skip
        self.assertEqual(self.ask(node, JOIN, 3, waits).error_code, NONE)
        waiting = self.brokers[node].answer(JOIN, 3, waits)
        assert isinstance(waiting, Deferred)
        self.brokers[node].link.cut()
        self.advance(TIMEOUT_S + 1)
        told = self.response(JOIN, 3, self.successResultOf(waiting))
        self.assertEqual(told.error_code, NOT_COORDINATOR)

    def test_cut_off(self) -> None:
        """A coordinator that is cut off from the tree acknowledges nothing that the next one lacks."""
        node = self.coordinator("a")
        self.assertEqual(self.commit(node, "a", 7), NONE)
        self.brokers[node].link.cut()
        self.advance(1)
        self.commit(node, "a", 8)  # its lease is still good
        self.advance(AWAY_S + 1)
        self.assertEqual(self.commit(node, "a", 9), NOT_COORDINATOR)
        by = next(one for one in self.brokers if one != node)
        new = next(
            found
            for _ in range(300)
            for error, found in [self.find("a", by)]
            if (not error and found != node and not isinstance(self.fetch(found, "a"), ErrorCode))
            or self.advance(0.1)  # type: ignore[func-returns-value]
        )
        self.assertEqual(self.fetch(new, "a"), 8)
        self.brokers[node].link.heal()
        self.advance(5)
        self.assertEqual(self.fetch(self.coordinator("a"), "a"), 8)

    def test_network_is_cut(self) -> None:
        """A coordinator that no follower reaches acknowledges nothing while these are in sync."""
        node = self.coordinator("a")
        others = [one for one in self.brokers if one != node]
        self.network.cut.update((one, node) for one in others)
        self.network.cut.update((node, one) for one in others)
        self.assertEqual(self.commit(node, "a", 7), ErrorCode.COORDINATOR_NOT_AVAILABLE)
        self.assertEqual(self.fetch(node, "a"), -1)
        self.network.cut.clear()
        self.advance(40)
        self.assertEqual(self.fetch(self.coordinator("a"), "a"), 7)


class RandomTests(GroupCopiesCase):
    """One broker at a time is killed, stopped, cut off or started, while offsets are committed everywhere."""

    seeds = range(6)
    steps = 60

    def test_random(self) -> None:
        """No acknowledged commit is lost, and no offset that was fetched goes back."""
        for seed in self.seeds:
            self.random = Random(seed)
            self.least: dict[str, int] = {}
            try:
                for number in range(self.steps):
                    self.step(1000 * seed + number)
                self.recover()
                for group in self.least:
                    self.check(self.coordinator(group), group)
            except AssertionError as error:
                raise AssertionError(f"seed {seed}: {error}") from error

    def check(self, by: int, group: str) -> None:
        """Check what a broker knows of a group, if it serves it."""
        found = self.fetch(by, group)
        if not isinstance(found, ErrorCode) and group in self.least:
            self.assertGreaterEqual(found, self.least[group], (group, by))
            self.least[group] = found

    def recover(self) -> None:
        """Start and connect every broker, and wait until all are in sync."""
        for one in self.brokers.values():
            one.link.heal()
        for broker_id in self.paths.keys() - self.brokers.keys():
            self.start(broker_id)
        for _ in range(600):
            state = self.brokers[min(self.brokers)].metadata.state
            if all(len(one.isr) == 3 for one in state.topics["__consumer_offsets"].partitions):
                return
            self.advance(0.5)
        raise AssertionError("the brokers are not in sync again")

    def step(self, offset: int) -> None:
        """Commit an offset, look at a group everywhere, or do something to a broker."""
        chance, live = self.random.random(), sorted(self.brokers)
        group = self.random.choice(GROUPS)
        if chance < 0.45:
            for by in live:
                if self.commit(by, group, offset) == NONE:
                    self.least[group] = offset
        elif chance < 0.7:
            for by in live:
                self.check(by, group)
        elif chance < 0.85:
            self.advance(self.random.choice([0.1, 1, TIMEOUT_S / 2, TIMEOUT_S + 2]))
        else:
            self.recover()
            self.harm(self.random.choice(sorted(self.brokers)))

    def harm(self, broker_id: int) -> None:
        """Do something to a broker."""
        chance = self.random.random()
        if chance < 0.4:
            self.kill(broker_id)
        elif chance < 0.6:
            self.stop(broker_id)
        elif chance < 0.8:
            self.brokers[broker_id].link.expire()
        else:
            self.brokers[broker_id].link.cut(self.random.random() < 0.5)
