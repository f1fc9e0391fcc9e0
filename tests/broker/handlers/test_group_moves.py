"""Groups of a broker that is one of three: requests for groups of other brokers, and groups that move."""

from __future__ import annotations

import random
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, ClassVar

import attrs
from twisted.internet.defer import Deferred

from kafkatx.broker.coordinator.runtime.partition_hash import partition_for
from kafkatx.errors import ErrorCode
from kafkatx.group.offset_records import Committed, encode_key, encode_value
from kafkatx.interfaces.storage import TRUSTED
from kafkatx.names import CONSUMER_OFFSETS
from kafkatx.records.keyed import build_keyed
from kafkatx.types import NO_LEADER
from kafkatx.wire.messages import (
    consumer_group_describe,
    delete_groups,
    describe_groups,
    find_coordinator,
    leave_group,
    list_groups,
    offset_delete,
    offset_fetch,
)
from kafkatx.wire.messages.consumer_group_heartbeat import ConsumerGroupHeartbeatRequest
from tests.broker.cluster import ClusterTestCase, FakeMetadataStore
from tests.broker.coordinated import groups_of, offsets_of, partitions_of
from tests.broker.handlers.test_offset_commit import commit
from tests.broker.members import DELAY_S, SESSION_MS, MembersTestCase
from tests.broker.running import NOW_MS, Held

HERE, ALSO_HERE, AWAY = "a", "c", "b"
"""A group of each of three partitions, of which this broker leads the first two; broker 2 leads the last."""

NUMBERS = {group: partition_for(group, 3) for group in (HERE, ALSO_HERE, AWAY)}
NOT_COORDINATOR, LOADING = ErrorCode.NOT_COORDINATOR, ErrorCode.COORDINATOR_LOAD_IN_PROGRESS
NOT_AVAILABLE = ErrorCode.COORDINATOR_NOT_AVAILABLE


class MoveTestCase(ClusterTestCase, MembersTestCase):
    """``__consumer_offsets`` has two partitions on this broker, and topic ``t`` has one on broker 2."""

    settings: ClassVar[Mapping[str, str]] = {**MembersTestCase.settings, **ClusterTestCase.settings}

    def prepare(self, metadata: FakeMetadataStore) -> None:
        """Create the topics."""
        leaders = {NUMBERS[HERE]: 1, NUMBERS[ALSO_HERE]: 1, NUMBERS[AWAY]: 2}
        offsets = metadata.make_topic(CONSUMER_OFFSETS, [[leaders[number]] for number in range(3)])
        metadata.prepare(offsets, metadata.make_topic("t", [[2]]))

    def move(self, group: str, leader: int) -> None:
        """Give a group's partition to another broker, or back."""
        self.metadata.lead(CONSUMER_OFFSETS, NUMBERS[group], leader)

    def reload(self, group: str) -> Held:
        """Move a group away and back; return the workers, with which it is being loaded."""
        held = Held()
        self.patch(self.broker.groups.runtime, "_worker", lambda: held("offsets"))
        self.move(group, 2)
        self.move(group, 1)
        return held

    def commit(self, group: str, offset: int, version: int = 8) -> int:
        """Commit an offset; return the error."""
        response = self.ask(8, version, commit(offset, group=group))
        code: int = response.topics[0].partitions[0].error_code
        return code

    def beat_consumer(self, group: str, epoch: int = 0) -> Any:
        """Return the response to a heartbeat of KIP-848."""
        joining: dict[str, Any] = (
            {}
            if epoch
            else {"rebalance_timeout_ms": 5000, "subscribed_topic_names": ["t"], "topic_partitions": []}
        )
        return self.ask(68, 1, ConsumerGroupHeartbeatRequest(group, "me", epoch, **joining))


class ElsewhereTests(MoveTestCase):
    def every(self, group: str) -> dict[str, int]:
        """Return the error of every API for a group."""
        fetched = [offset_fetch.OffsetFetchRequestTopic("t", [0])]
        deleted = offset_delete.OffsetDeleteRequestTopic("t", [offset_delete.OffsetDeleteRequestPartition(0)])
        old = self.ask(9, 1, offset_fetch.OffsetFetchRequest(group, fetched))
        many = self.ask(9, 8, offset_fetch.OffsetFetchRequest(
            groups=[offset_fetch.OffsetFetchRequestGroup(group, topics=None)]
        ))  # fmt: skip
        return {
            "join": self.successResultOf(self.join("m", group=group)).error_code,
            "sync": self.successResultOf(self.sync("m", 1, group=group)).error_code,
            "heartbeat": self.beat("m", 1, group=group),
            "leave": self.ask(13, 3, leave_group.LeaveGroupRequest(group)).error_code,
            "commit": self.commit(group, 5),
            "fetch 1": old.topics[0].partitions[0].error_code,
            "fetch 7": self.ask(9, 7, offset_fetch.OffsetFetchRequest(group, fetched)).error_code,
            "fetch 8": many.groups[0].error_code,
            "delete offsets": self.ask(47, 0, offset_delete.OffsetDeleteRequest(group, [deleted])).error_code,
            "describe": self.ask(15, 5, describe_groups.DescribeGroupsRequest([group])).groups[0].error_code,
            "delete": self.ask(42, 2, delete_groups.DeleteGroupsRequest([group])).results[0].error_code,
            "consumer heartbeat": self.beat_consumer(group).error_code,
            "consumer describe": self.ask(
                69, 1, consumer_group_describe.ConsumerGroupDescribeRequest([group])
            ).groups[0].error_code,
        }  # fmt: skip

    def test_elsewhere(self) -> None:
        """Every request for a group of another broker is answered with NOT_COORDINATOR."""
        codes = self.every(AWAY)
        self.assertEqual(codes, dict.fromkeys(codes, NOT_COORDINATOR))
        self.assertEqual(groups_of(self.broker), {})

    def test_loading(self) -> None:
        """Every request for a group that is being loaded is told so, but for those that old clients send."""
        self.commit(HERE, 1)
        self.reload(HERE)
        codes = self.every(HERE)
        old = {"sync": ErrorCode.REBALANCE_IN_PROGRESS, "heartbeat": ErrorCode.NONE}
        self.assertEqual(codes, {**dict.fromkeys(codes, LOADING), **old})

    def test_served(self) -> None:
        """Groups of this broker's partitions are served, whatever other brokers lead."""
        for group in (HERE, ALSO_HERE):
            self.assertEqual(self.commit(group, 5), ErrorCode.NONE)
        self.assertEqual(set(groups_of(self.broker)), {HERE, ALSO_HERE})

    def test_fenced(self) -> None:
        """A fenced broker coordinates nothing, and everything again afterwards."""
        self.commit(HERE, 5)
        self.metadata.fence()
        self.assertEqual(self.commit(HERE, 6), NOT_COORDINATOR)
        self.metadata.fence(False)
        self.assertEqual(offsets_of(self.broker, HERE).get(HERE, "t", 0), Committed(5, 7, "m", NOW_MS))

    def test_lists(self) -> None:
        """A broker lists the groups that it coordinates, and says if others are being loaded."""
        self.commit(HERE, 1)
        self.commit(ALSO_HERE, 1)
        listed = self.ask(16, 4, list_groups.ListGroupsRequest())
        self.assertEqual((listed.error_code, {g.group_id for g in listed.groups}), (0, {HERE, ALSO_HERE}))
        self.move(HERE, 2)
        listed = self.ask(16, 4, list_groups.ListGroupsRequest())
        self.assertEqual((listed.error_code, {g.group_id for g in listed.groups}), (0, {ALSO_HERE}))
        held = Held()
        self.patch(self.broker.groups.runtime, "_worker", lambda: held("offsets"))
        self.move(HERE, 1)
        listed = self.ask(16, 4, list_groups.ListGroupsRequest())
        self.assertEqual((listed.error_code, {g.group_id for g in listed.groups}), (LOADING, {ALSO_HERE}))

    def test_unknown_topic(self) -> None:
        """Offsets of topics on other brokers can be committed; those of missing partitions cannot."""
        unknown = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
        response = self.ask(8, 8, commit(5, 6, group=HERE))
        self.assertEqual([p.error_code for p in response.topics[0].partitions], [0, unknown])


class FindTests(MoveTestCase):
    def find(self, *groups: str) -> list[tuple[int, int, str, int]]:
        """Return error and address of the coordinators of groups."""
        found = self.ask(10, 4, find_coordinator.FindCoordinatorRequest(coordinator_keys=list(groups)))
        return [(one.error_code, one.node_id, one.host, one.port) for one in found.coordinators]

    def test_leaders(self) -> None:
        """The coordinator is the leader of the group's partition, here or elsewhere."""
        self.assertEqual(self.find(HERE, AWAY), [(0, 1, "b1", 9101), (0, 2, "b2", 9102)])
        self.move(HERE, 3)
        self.assertEqual(self.find(HERE), [(0, 3, "b3", 9103)])

    def test_no_leader(self) -> None:
        """A group whose partition has no leader has no coordinator, until there is one."""
        self.metadata.leave(2)
        self.assertEqual(self.find(HERE, AWAY)[1], (NOT_AVAILABLE, -1, "", -1))
        self.metadata.join(2)
        self.move(AWAY, 2)
        self.assertEqual(self.find(AWAY), [(0, 2, "b2", 9102)])


class MovingTests(MoveTestCase):
    def test_waiting_members(self) -> None:
        """Members that wait for others are sent to the new coordinator; other groups' members wait on."""
        joins = [self.join(group=HERE) for _ in range(2)]
        other = self.join(group=ALSO_HERE)
        self.move(HERE, 2)
        self.assertEqual({self.successResultOf(one).error_code for one in joins}, {NOT_COORDINATOR})
        self.assertNoResult(other)
        self.clock.advance(DELAY_S)
        self.assertEqual(self.successResultOf(other).error_code, 0)

    def test_waiting_for_the_leader(self) -> None:
        """Members that wait for their assignment are sent to the new coordinator."""
        joins = [self.join(group=HERE) for _ in range(2)]
        self.clock.advance(2 * DELAY_S)
        self.clock.advance(2 * DELAY_S)
        joined = [self.successResultOf(one) for one in joins]
        members, leader = {one.member_id for one in joined}, joined[0].leader
        (follower,) = members - {leader}
        waiting = self.sync(follower, 1, group=HERE)
        self.assertNoResult(waiting)
        self.move(HERE, 2)
        self.assertEqual(self.successResultOf(waiting).error_code, NOT_COORDINATOR)

    def test_consumer_heartbeat_that_waits(self) -> None:
        """A heartbeat of KIP-848 whose records are not on the disk is sent to the new coordinator."""
        self.hold_flushes(HERE)
        request = ConsumerGroupHeartbeatRequest(
            HERE, "me", 0, rebalance_timeout_ms=5000, subscribed_topic_names=["t"], topic_partitions=[]
        )
        waiting = [self.later(68, 1, request), self.later(68, 1, request)]
        for one in waiting:
            self.assertNoResult(one)
        self.move(HERE, 2)
        self.assertEqual({self.successResultOf(one).error_code for one in waiting}, {NOT_COORDINATOR})

    def hold_flushes(self, group: str) -> list[Deferred[int]]:
        """Make all writes to a partition wait for flushes that the test ends; return the flushes."""
        (partition,) = [
            p for p in partitions_of(self.broker) if p.topic_partition.partition == NUMBERS[group]
        ]
        flushes: list[Deferred[int]] = []

        def flush() -> Deferred[int]:
            flushes.append(Deferred())
            return flushes[-1]

        partition.flush_messages = 1
        self.patch(type(partition.log), "flushed_offset", property(lambda log: 0))
        self.patch(partition.log, "flush", flush)
        return flushes

    def test_commits_that_wait(self) -> None:
        """Commits and deletions that wait for the disk are sent to the new coordinator."""
        flushes = self.hold_flushes(HERE)
        waiting = self.later(8, 8, commit(5, group=HERE))
        self.assertNoResult(waiting)
        self.move(HERE, 2)
        (topic,) = self.successResultOf(waiting).topics
        self.assertEqual(topic.partitions[0].error_code, NOT_COORDINATOR)
        for flush in flushes:
            flush.callback(1)

    def test_back(self) -> None:
        """Members of a group that was away and came back continue without a rebalance."""
        members = self.settle(2, group=HERE)
        self.commit(ALSO_HERE, 3)
        self.move(HERE, 2)
        self.assertEqual(self.beat(members[0], 1, group=HERE), NOT_COORDINATOR)
        self.move(HERE, 1)
        for member in members:
            self.assertEqual(self.beat(member, 1, group=HERE), ErrorCode.NONE)
        self.clock.advance(SESSION_MS / 1000)
        self.assertEqual(self.beat(members[0], 1, group=HERE), ErrorCode.UNKNOWN_MEMBER_ID)

    def test_sessions_do_not_run_elsewhere(self) -> None:
        """A session ends at the coordinator only: nothing is written for a group that has moved."""
        self.settle(group=HERE)
        (log,) = [p.log for p in partitions_of(self.broker) if p.topic_partition.partition == NUMBERS[HERE]]
        end = log.log_end_offset
        self.move(HERE, 2)
        self.clock.advance(SESSION_MS / 1000 * 2)
        self.assertEqual(log.log_end_offset, end)

    def test_moved_while_loading(self) -> None:
        """A load that was overtaken by a move has no effect."""
        self.commit(HERE, 1)
        held = self.reload(HERE)
        self.move(HERE, 2)
        held.work()
        self.clock.advance(0)
        self.assertEqual(self.commit(HERE, 2), NOT_COORDINATOR)
        self.assertEqual(groups_of(self.broker), {})

    def test_memory(self) -> None:
        """The memory of groups that moved away can be used by others."""
        self.settle(group=HERE)
        used = self.broker.groups.memory.used_bytes
        self.move(HERE, 2)
        self.assertEqual(self.broker.groups.memory.used_bytes, 0)
        self.move(HERE, 1)
        self.assertEqual(self.broker.groups.memory.used_bytes, used)

    def test_topic_deleted_elsewhere(self) -> None:
        """The offsets of a topic that another broker deletes are deleted by each coordinator."""
        self.metadata.put(self.metadata.make_topic("u", [[3]]))
        for group in (HERE, ALSO_HERE):
            self.ask(8, 8, commit(5, group=group, topic="u"))
            self.commit(group, 6)
        self.metadata.remove("u")
        for group in (HERE, ALSO_HERE):
            self.assertEqual(list(offsets_of(self.broker, group).of(group)), ["t"])
        self.reload(HERE).work()
        self.assertEqual(list(offsets_of(self.broker, HERE).of(HERE)), ["t"])

    def test_configs(self) -> None:
        """The configs of a group that any broker has changed apply at its coordinator, also after a move."""
        name = "consumer.session.timeout.ms"
        for moved in (False, True):
            if moved:
                self.move(HERE, 2)
                self.metadata.change(group_configs={HERE: {name: "51000"}})
                self.move(HERE, 1)
            else:
                self.metadata.change(group_configs={HERE: {name: "50000"}})
            settings = self.broker.groups.settings_of(HERE)
            self.assertEqual(settings.consumer_session_timeout_ms, 51_000 if moved else 50_000)

    def test_topic_created_again(self) -> None:
        """A topic that is deleted and created again, as one change, begins without offsets."""
        self.commit(HERE, 6)
        self.metadata.put(self.metadata.make_topic("t", [[3]]))
        self.assertEqual(dict(offsets_of(self.broker, HERE).of(HERE)), {})

    def offset(self) -> int | None:
        """Return the committed offset of topic ``t``."""
        found = offsets_of(self.broker, HERE).get(HERE, "t", 0)
        return None if found is None else found.offset

    def test_topic_deleted_while_away(self) -> None:
        """Offsets of a topic that was deleted while the group was away are not those of the next one."""
        self.commit(HERE, 6)
        self.move(HERE, NO_LEADER)
        self.metadata.remove("t")
        self.move(HERE, 1)
        self.assertEqual(self.offset(), 6)  # the state may be an older copy
        self.metadata.put(self.metadata.make_topic("u", [[3]]))
        self.assertEqual(self.offset(), 6)
        self.metadata.put(self.metadata.make_topic("t", [[3]]))
        self.assertIsNone(self.offset())

    def test_topic_vanished(self) -> None:
        """Offsets of a topic that no client deleted are there when it is; another of its name has none."""
        self.commit(HERE, 6)
        topic = self.metadata.state.topics["t"]
        for returns, offset in ((topic, 6), (self.metadata.make_topic("t", [[3]]), None)):
            others = {name: one for name, one in self.metadata.state.topics.items() if name != "t"}
            self.metadata.show(
                attrs.evolve(self.metadata.state, topics=MappingProxyType(others)), deleted=False
            )
            self.assertEqual(self.offset(), 6)
            self.metadata.put(returns)
            self.assertEqual(self.offset(), offset)


class RandomMoveTests(MoveTestCase):
    """Commits, deletions and moves in any order; another coordinator writes while the group is away."""

    def write(self, group: str, offset: int) -> None:
        """Write a committed offset, as another coordinator does."""
        partition = self.broker.topics.find(CONSUMER_OFFSETS, NUMBERS[group])
        assert partition is not None
        batch = build_keyed([(encode_key(group, "t", 0), encode_value(Committed(offset)))], NOW_MS)
        self.assertEqual(partition.log.append(batch, partition.leader_epoch, NOW_MS, True, TRUSTED).error, 0)
        partition.log.write()
        partition.advance()

    def step(self, chance: random.Random, known: dict[str, int]) -> None:
        """Do one thing with a group, and change what is known of it."""
        group, offset, what = chance.choice((HERE, ALSO_HERE)), chance.randrange(1, 1000), chance.randrange(6)
        leads = self.metadata.state.topics[CONSUMER_OFFSETS].partitions[NUMBERS[group]].leader == 1
        if what < 2:
            self.assertEqual(self.commit(group, offset), ErrorCode.NONE if leads else NOT_COORDINATOR)
            if leads:
                known[group] = offset
        elif what == 2:
            asked = delete_groups.DeleteGroupsRequest([group])
            expected = ErrorCode.NONE if group in known else ErrorCode.GROUP_ID_NOT_FOUND
            code = self.ask(42, 2, asked).results[0].error_code
            self.assertEqual(code, expected if leads else NOT_COORDINATOR)
            if leads:
                known.pop(group, None)
        elif what < 5:
            self.move(group, chance.choice((1, 2, NO_LEADER)))
        elif not leads:
            self.write(group, offset)
            known[group] = offset

    def test_random(self) -> None:
        """The coordinator knows what was committed last, by whichever coordinator, and nothing else."""
        chance, known = random.Random(7), dict[str, int]()
        for _ in range(1500):
            self.step(chance, known)
            for group in (HERE, ALSO_HERE):
                found = offsets_of(self.broker, group).get(group, "t", 0)
                served = not self.broker.groups.check(group)
                expected = known.get(group) if served else None
                self.assertEqual(None if found is None else found.offset, expected)
                self.assertEqual(group in groups_of(self.broker), served and group in known)
