"""Groups of three whole brokers, of which some are killed, cut off, frozen, and started again."""

from __future__ import annotations

from random import Random
from typing import ClassVar

from twisted.internet.defer import Deferred

from kafkatx.errors import ErrorCode
from kafkatx.wire.messages.find_coordinator import FindCoordinatorRequest
from kafkatx.wire.messages.heartbeat import HeartbeatRequest
from kafkatx.wire.messages.join_group import JoinGroupRequest, JoinGroupRequestProtocol
from kafkatx.wire.messages.offset_fetch import OffsetFetchRequest, OffsetFetchRequestTopic
from kafkatx.wire.messages.sync_group import SyncGroupRequest, SyncGroupRequestAssignment
from tests.broker.brokers import ClusterOfBrokersCase
from tests.broker.handlers.test_offset_commit import commit
from tests.broker.test_cluster import AWAY_S
from tests.metadata.cluster.memory import TIMEOUT_S

GROUPS = tuple("abcdefgh")
NONE, NOT_COORDINATOR, NOT_AVAILABLE = (
    ErrorCode.NONE,
    ErrorCode.NOT_COORDINATOR,
    ErrorCode.COORDINATOR_NOT_AVAILABLE,
)
COMMIT, FETCH, FIND, JOIN, HEARTBEAT, SYNC = 8, 9, 10, 11, 12, 14
SESSION_MS = 60_000


class GroupsOfBrokersCase(ClusterOfBrokersCase):
    """Groups whose partitions of ``__consumer_offsets`` have one replica."""

    settings: ClassVar[dict[str, str]] = {
        **ClusterOfBrokersCase.settings,
        "offsets.topic.replication.factor": "1",
    }

    def setUp(self) -> None:
        """Create a topic to commit offsets of."""
        super().setUp()
        self.create("t", 1)

    def find(self, group: str, by: int | None = None) -> tuple[ErrorCode, int]:
        """Return error and coordinator of a group, as a broker says."""
        found = self.ask(by or min(self.brokers), FIND, 3, FindCoordinatorRequest(group))
        return ErrorCode.of(found.error_code), found.node_id

    def commit(self, by: int, group: str, offset: int) -> ErrorCode:
        """Commit an offset at a broker; return the error."""
        response = self.ask(by, COMMIT, 8, commit(offset, group=group))
        return ErrorCode.of(response.topics[0].partitions[0].error_code)

    def fetch(self, by: int, group: str) -> int | ErrorCode:
        """Return the committed offset that a broker knows, -1 for none, or its error."""
        response = self.ask(by, FETCH, 7, OffsetFetchRequest(group, [OffsetFetchRequestTopic("t", [0])]))
        if response.error_code:
            return ErrorCode.of(response.error_code)
        offset: int = response.topics[0].partitions[0].committed_offset
        return offset

    def coordinator(self, group: str) -> int:
        """Return the coordinator of a group, as soon as there is one."""
        for _ in range(600):
            error, node = self.find(group)
            if not error and node in self.brokers and not isinstance(self.fetch(node, group), ErrorCode):
                return node
            self.advance(0.1)
        raise AssertionError(f"group {group} has no coordinator")


class CoordinatorTests(GroupsOfBrokersCase):
    def test_everywhere(self) -> None:
        """All brokers name the same coordinator of a group, and it alone serves the group."""
        used = set()
        for group in GROUPS:
            (found,) = {self.find(group, by) for by in self.brokers}
            self.assertEqual(found[0], NONE)
            codes = {by: self.commit(by, group, 5) for by in self.brokers}
            self.assertEqual(codes, {by: NONE if by == found[1] else NOT_COORDINATOR for by in self.brokers})
            used.add(found[1])
        self.assertEqual(used, {1, 2, 3})

    def test_killed(self) -> None:
        """Without its coordinator a group has none; the next life of that broker has its offsets."""
        node = self.coordinator("a")
        self.commit(node, "a", 7)
        self.kill(node)
        self.advance(AWAY_S)
        self.assertEqual(self.find("a"), (NOT_AVAILABLE, -1))
        for other in self.brokers:
            self.assertEqual(self.fetch(other, "a"), NOT_COORDINATOR)
        self.start(node)
        self.assertEqual(self.coordinator("a"), node)
        self.assertEqual(self.fetch(node, "a"), 7)

    def test_cut_off(self) -> None:
        """A coordinator whose lease has ended serves no group, and all of them when it is back."""
        node = self.coordinator("a")
        self.commit(node, "a", 7)
        link = self.brokers[node].link
        link.cut()
        self.advance(1)
        self.assertEqual(self.commit(node, "a", 8), NONE)
        self.advance(TIMEOUT_S)
        self.assertEqual(self.commit(node, "a", 9), NOT_COORDINATOR)
        self.assertEqual(self.fetch(node, "a"), NOT_COORDINATOR)
        link.heal()
        self.assertEqual(self.coordinator("a"), node)
        self.assertEqual(self.fetch(node, "a"), 8)

    def test_frozen(self) -> None:
        """A coordinator that was frozen for long commits nothing before it has heard of the cluster."""
        node = self.coordinator("a")
        self.commit(node, "a", 7)
        link = self.brokers[node].link
        link.hold_requests()
        link.hold_replies()
        self.stores.clock.rightNow += 10 * TIMEOUT_S  # its timers have not run yet
        self.assertEqual(self.commit(node, "a", 8), NOT_COORDINATOR)
        link.release()
        self.assertEqual(self.coordinator("a"), node)
        self.assertEqual(self.fetch(node, "a"), 7)

    def test_member(self) -> None:
        """A member stays in its generation when its coordinator is killed and started again."""
        node = self.coordinator("a")
        protocols = [JoinGroupRequestProtocol("range", b"m")]
        request = JoinGroupRequest("a", SESSION_MS, SESSION_MS, "", None, "consumer", protocols)
        member = self.ask(node, JOIN, 3, request).member_id
        assigned = [SyncGroupRequestAssignment(member, b"all")]
        synced = self.ask(node, SYNC, 3, SyncGroupRequest("a", 1, member, assignments=assigned))
        self.assertEqual((synced.error_code, synced.assignment), (NONE, b"all"))
        self.kill(node)
        self.start(node)
        self.assertEqual(self.coordinator("a"), node)
        beat = HeartbeatRequest("a", 1, member)
        self.assertEqual(self.ask(node, HEARTBEAT, 3, beat).error_code, NONE)

    def test_waiting_member(self) -> None:
        """A member that waits to join is told as soon as the lease of its coordinator has ended."""
        node = self.coordinator("a")
        waits = JoinGroupRequest("a", SESSION_MS, SESSION_MS, "", None, "consumer", [
            JoinGroupRequestProtocol("range", b"m")
        ])  # fmt: skip
        leader = self.ask(node, JOIN, 3, waits)
        self.assertEqual(leader.error_code, NONE)
        waiting = self.brokers[node].answer(JOIN, 3, waits)  # the leader has to join again first
        assert isinstance(waiting, Deferred)
        self.assertNoResult(waiting)
        self.brokers[node].link.cut()
        self.advance(TIMEOUT_S + 1)
        told = self.response(JOIN, 3, self.successResultOf(waiting))
        self.assertEqual(told.error_code, NOT_COORDINATOR)


class RandomTests(GroupsOfBrokersCase):
    """Brokers are killed, cut off, frozen and started at random, while offsets are committed everywhere."""

    seeds = range(8)
    steps = 120

    def test_random(self) -> None:
        """One broker at most serves a group, and it knows what was committed last."""
        for seed in self.seeds:
            self.random = Random(seed)
            self.known: dict[str, set[int]] = {}
            try:
                for number in range(self.steps):
                    self.step(1000 * seed + number)
                self.recover()
                for group in self.known:
                    self.check(self.coordinator(group), group)
            except AssertionError as error:
                raise AssertionError(f"seed {seed}: {error}") from error

    def check(self, by: int, group: str) -> bool:
        """Return True if a broker serves a group; what it knows must be right."""
        found = self.fetch(by, group)
        if isinstance(found, ErrorCode):
            return False
        if group in self.known:
            self.assertIn(found, self.known[group], (group, by))
        return True

    def recover(self) -> None:
        """Start and connect every broker."""
        for one in self.brokers.values():
            one.link.heal()
        for broker_id in self.paths.keys() - self.brokers.keys():
            self.start(broker_id)

    def step(self, offset: int) -> None:
        """Commit an offset, look at a group everywhere, or do something to a broker."""
        chance, live = self.random.random(), sorted(self.brokers)
        group = self.random.choice(GROUPS)
        if chance < 0.4 and live:
            for by in live:
                if self.commit(by, group, offset) == NONE:
                    self.known[group] = {offset}
                elif group in self.known:
                    self.known[group].add(offset)  # it may be written nevertheless
        elif chance < 0.6:
            served = [by for by in live if self.check(by, group)]
            self.assertLessEqual(len(served), 1, (group, served))
        elif chance < 0.75:
            self.advance(self.random.choice([0.1, 1, TIMEOUT_S / 2, TIMEOUT_S + 2]))
        elif chance < 0.85:
            gone = sorted(self.paths.keys() - self.brokers.keys())
            if gone:
                self.start(self.random.choice(gone))
        elif live:
            self.harm(self.random.choice(live))

    def harm(self, broker_id: int) -> None:
        """Do something to a broker."""
        link, chance = self.brokers[broker_id].link, self.random.random()
        if chance < 0.3:
            self.kill(broker_id)
        elif chance < 0.4:
            link.expire()
        elif chance < 0.7:
            link.cut(self.random.random() < 0.5)
        else:
            link.heal()
