"""Offset commits where ``__consumer_offsets`` has several replicas: they count when they are committed."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from twisted.internet.defer import Deferred

from kafkatx.broker.coordinator.groups.shard import GroupShard
from kafkatx.broker.replica.partition import Partition
from kafkatx.errors import ErrorCode, RequestError
from kafkatx.group.offset_records import Committed
from kafkatx.names import CONSUMER_OFFSETS
from kafkatx.wire.messages.consumer_group_heartbeat import ConsumerGroupHeartbeatRequest
from kafkatx.wire.messages.delete_groups import DeleteGroupsRequest
from kafkatx.wire.messages.offset_delete import (
    OffsetDeleteRequest,
    OffsetDeleteRequestPartition,
    OffsetDeleteRequestTopic,
)
from tests.broker.coordinated import partition_of
from tests.broker.handlers.test_offset_commit import CommitTestCase, commit
from tests.broker.replicated import ReplicatedTestCase
from tests.broker.running import NOW_MS

COMMIT, DELETE_GROUPS, OFFSET_DELETE, HEARTBEAT = 8, 42, 47, 68
TIMEOUT_S = 5.0
"""The default of offsets.commit.timeout.ms."""

NONE, NOT_COORDINATOR, NOT_AVAILABLE = (
    ErrorCode.NONE,
    ErrorCode.NOT_COORDINATOR,
    ErrorCode.COORDINATOR_NOT_AVAILABLE,
)


class ReplicatedCommitCase(ReplicatedTestCase, CommitTestCase):
    settings: ClassVar[Mapping[str, str]] = {
        **ReplicatedTestCase.settings,
        "offsets.topic.num.partitions": "1",
    }

    def setUp(self) -> None:
        """Make ``__consumer_offsets`` with three replicas."""
        super().setUp()
        self.make_replicated(CONSUMER_OFFSETS, [[1, 2, 3]], {"min.insync.replicas": "2"})

    @property
    def partition(self) -> Partition:
        """The only partition of ``__consumer_offsets``."""
        return partition_of(self.broker)

    @property
    def shard(self) -> GroupShard:
        """Its groups and offsets."""
        return self.broker.groups.served_shard("g")

    def commit(self, *offsets: int, group: str = "g") -> Deferred[list[int]]:
        """Begin to commit; return what fires with the codes."""
        done = self.begin(COMMIT, 8, commit(*offsets, group=group))
        return done.addCallback(
            lambda response: [part.error_code for topic in response.topics for part in topic.partitions]
        )

    def offset(self, partition: int = 0, group: str = "g") -> int | None:
        """Return the committed offset of a group as it can be fetched."""
        found: Committed | None = self.committed(partition, group)
        return None if found is None else found.offset

    def catch_up(self) -> None:
        """Note fetches of all followers at the log end."""
        self.replicate(self.partition, self.partition.log.log_end_offset)


class CommitTests(ReplicatedCommitCase):
    def test_committed(self) -> None:
        """A commit can be fetched, and is acknowledged, when all in-sync replicas have it."""
        waiting = self.commit(5, 6)
        self.assertNoResult(waiting)
        self.assertIsNone(self.offset())
        self.replicate(self.partition, 2, 2)
        self.assertNoResult(waiting)
        self.replicate(self.partition, 2, 3)
        self.assertEqual(self.successResultOf(waiting), [0, 0])
        self.assertEqual((self.offset(), self.offset(1)), (5, 6))
        self.assertFalse(self.shard.pending)

    def test_in_order(self) -> None:
        """The last commit in the log is the one that can be fetched, though one step commits several."""
        waiting = [self.commit(number) for number in range(4)]
        self.replicate(self.partition, 2)
        self.assertEqual(self.offset(), 1)
        self.catch_up()
        self.assertEqual([self.successResultOf(one) for one in waiting], [[0]] * 4)
        self.assertEqual(self.offset(), 3)

    def test_replies_together(self) -> None:
        """The replies that one step makes ready are made from the last to the first."""
        order: list[int] = []
        for number in range(3):
            self.commit(number).addCallback(lambda _, number: order.append(number), number)
        self.catch_up()
        self.assertEqual(order, [2, 1, 0])

    def test_alone(self) -> None:
        """The only in-sync replica commits at once, if that is enough."""
        self.partition.use_min_insync(1)
        self.metadata.replicate(CONSUMER_OFFSETS, isr=[1])
        self.partition.use_min_insync(1)
        self.assertEqual(self.codes(commit(5)), [0])
        self.assertEqual(self.offset(), 5)

    def test_too_few(self) -> None:
        """A commit is refused, and not written, with too few in-sync replicas."""
        self.metadata.replicate(CONSUMER_OFFSETS, isr=[1])
        self.assertEqual(self.codes(commit(5)), [NOT_AVAILABLE])
        self.assertEqual(self.written(), [])

    def test_timeout(self) -> None:
        """A client is told an error after offsets.commit.timeout.ms; the commit may count later."""
        waiting = self.commit(5)
        self.clock.advance(TIMEOUT_S - 0.01)
        self.assertNoResult(waiting)
        self.clock.advance(0.01)
        self.assertEqual(self.successResultOf(waiting), [NOT_AVAILABLE])
        self.assertIsNone(self.offset())
        self.catch_up()
        self.assertEqual(self.offset(), 5)

    def test_late_and_next(self) -> None:
        """A commit whose client was told an error does not undo a later one."""
        first = self.commit(5)
        self.clock.advance(TIMEOUT_S)
        self.assertEqual(self.successResultOf(first), [NOT_AVAILABLE])
        second = self.commit(6)
        self.catch_up()
        self.assertEqual(self.successResultOf(second), [0])
        self.assertEqual(self.offset(), 6)

    def test_too_few_now(self) -> None:
        """Clients are told at once when too few replicas are left; the commit counts when they are back."""
        waiting = self.commit(5)
        self.metadata.replicate(CONSUMER_OFFSETS, isr=[1], eligible=[2])
        self.assertEqual(self.successResultOf(waiting), [NOT_AVAILABLE])
        self.assertIsNone(self.offset())
        self.catch_up()
        self.assertIsNone(self.offset())
        self.metadata.replicate(CONSUMER_OFFSETS, isr=[1, 2])
        self.catch_up()
        self.assertEqual(self.offset(), 5)

    def test_leader_changes(self) -> None:
        """Clients are sent to find the coordinator when another broker leads; nothing is applied."""
        waiting = self.commit(5)
        shard = self.shard
        self.metadata.replicate(CONSUMER_OFFSETS, leader=2)
        self.assertEqual(self.successResultOf(waiting), [NOT_COORDINATOR])
        self.assertIsNone(shard.offsets.get("g", "t", 0))
        self.assertFalse(shard.pending)

    def test_leads_again(self) -> None:
        """A coordinator of a new epoch waits until what it has read is committed, and knows it then."""
        waiting = self.commit(5)
        self.metadata.replicate(CONSUMER_OFFSETS, leader_epoch=self.partition.leader_epoch + 1)
        self.assertEqual(self.successResultOf(waiting), [NOT_COORDINATOR])
        self.assertEqual(self.codes(commit(6)), [ErrorCode.COORDINATOR_LOAD_IN_PROGRESS])
        self.catch_up()
        self.assertEqual(self.offset(), 5)
        again = self.commit(6)
        self.catch_up()
        self.assertEqual(self.successResultOf(again), [0])

    def test_disconnect(self) -> None:
        """The commit of a client that has gone is applied all the same, and others are answered."""
        first, second = self.commit(5), self.commit(6, group="h")
        first.cancel()
        self.failureResultOf(first)
        self.catch_up()
        self.assertEqual(self.successResultOf(second), [0])
        self.assertEqual((self.offset(), self.offset(group="h")), (5, 6))

    def hold_flushes(self) -> list[Deferred[int]]:
        """Make commits wait for flushes that the test ends; return these."""
        flushes: list[Deferred[int]] = []

        def flush() -> Deferred[int]:
            flushes.append(Deferred())
            return flushes[-1]

        self.patch(type(self.partition.log), "flushed_offset", 0)
        self.patch(self.partition.log, "flush", flush)
        self.partition.flush_messages = 1
        return flushes

    def test_too_few_during_a_flush(self) -> None:
        """A commit that is flushed while too few replicas are in sync counts when they are back."""
        flushes = self.hold_flushes()
        waiting = self.commit(5)
        self.metadata.replicate(CONSUMER_OFFSETS, isr=[1], eligible=[2])
        for flushed in flushes:
            flushed.callback(1)
        self.assertEqual(self.successResultOf(waiting), [NOT_AVAILABLE])
        self.assertIsNone(self.offset())
        self.metadata.replicate(CONSUMER_OFFSETS, isr=[1, 2])
        self.catch_up()
        self.assertEqual(self.offset(), 5)

    def test_flush_as_well(self) -> None:
        """With flush.messages a commit counts when this broker has flushed it and the others have it."""
        flushes = self.hold_flushes()
        waiting = self.commit(5)
        self.catch_up()
        self.assertNoResult(waiting)
        self.assertIsNone(self.offset())
        for flushed in flushes:
            flushed.callback(1)
        self.assertEqual(self.successResultOf(waiting), [0])
        self.assertEqual(self.offset(), 5)

    def test_first_commit_of_all(self) -> None:
        """The commit that waits for the creation of the topic is committed like others."""
        self.metadata.remove(CONSUMER_OFFSETS)
        waiting = self.answer(COMMIT, 8, commit(5))
        assert isinstance(waiting, Deferred)
        leader = self.metadata.state.topics[CONSUMER_OFFSETS].partitions[0].leader
        if leader == 1:
            self.assertNoResult(waiting)
            self.catch_up()
        response = self.response(COMMIT, 8, self.successResultOf(waiting))
        code = response.topics[0].partitions[0].error_code
        self.assertEqual(code, NONE if leader == 1 else NOT_COORDINATOR)


class DeletionTests(ReplicatedCommitCase):
    """Offsets that are deleted while they are being committed stay deleted."""

    def end(self, waiting: Any) -> Any:
        """Note fetches of all followers at the log end; return the result of a request."""
        self.catch_up()
        return self.successResultOf(waiting)

    def test_group(self) -> None:
        """DeleteGroups removes offsets that were committed before it, though they are committed later."""
        first = self.commit(5, 6)
        self.assertEqual(self.end(first), [0, 0])
        second = self.commit(7, 8)
        third = self.commit(9, 9, group="h")
        deleting = self.begin(DELETE_GROUPS, 1, DeleteGroupsRequest(["g"]))
        self.assertNoResult(deleting)
        self.catch_up()
        self.assertEqual(self.successResultOf(deleting).results[0].error_code, 0)
        self.assertEqual(self.successResultOf(second), [0, 0])
        self.assertEqual(self.successResultOf(third), [0, 0])
        self.assertEqual((self.offset(), self.offset(1), self.offset(group="h")), (None, None, 9))
        self.assertEqual(self.after_reload("g"), None)

    def test_group_with_pending_offsets_only(self) -> None:
        """DeleteGroups writes tombstones for offsets that are not committed yet."""
        waiting = self.commit(5)
        deleting = self.begin(DELETE_GROUPS, 1, DeleteGroupsRequest(["g"]))
        self.catch_up()
        self.successResultOf(waiting)
        self.assertEqual(self.successResultOf(deleting).results[0].error_code, 0)
        self.assertEqual((self.offset(), self.after_reload("g")), (None, None))

    def test_offset(self) -> None:
        """OffsetDelete removes one offset, and leaves the others of the same commit."""
        waiting = self.commit(5, 6)
        asked = [OffsetDeleteRequestTopic("t", [OffsetDeleteRequestPartition(0)])]
        deleting = self.begin(OFFSET_DELETE, 0, OffsetDeleteRequest("g", asked))
        self.catch_up()
        self.successResultOf(waiting)
        self.assertEqual(self.successResultOf(deleting).error_code, 0)
        self.assertEqual((self.offset(), self.offset(1)), (None, 6))
        self.assertEqual((self.after_reload("g"), self.offset(1)), (None, 6))

    def test_committed_again(self) -> None:
        """A commit after the deletion counts."""
        first = self.commit(5)
        deleting = self.begin(DELETE_GROUPS, 1, DeleteGroupsRequest(["g"]))
        second = self.commit(3)
        self.catch_up()
        for one in (first, deleting, second):
            self.successResultOf(one)
        self.assertEqual((self.offset(), self.after_reload("g")), (3, 3))

    def test_topic(self) -> None:
        """The offsets of a deleted topic are removed, also those that are not committed yet."""
        waiting = self.commit(5)
        self.metadata.remove("t")
        self.catch_up()
        self.successResultOf(waiting)
        self.assertIsNone(self.offset())
        self.assertIsNone(self.after_reload("g"))

    def test_expiry(self) -> None:
        """An old offset that is being committed again does not expire."""
        self.end(self.commit(5, 5))
        self.now_ms = NOW_MS + 2**50
        waiting = self.commit(6)
        for _ in self.broker.expiry.expire_each(self.now_ms):
            pass
        self.end(waiting)
        self.assertEqual((self.offset(), self.offset(1)), (6, None))
        self.assertEqual((self.after_reload("g"), self.offset(1)), (6, None))

    def after_reload(self, group: str) -> int | None:
        """Return the committed offset of a group as the next coordinator knows it."""
        self.metadata.replicate(CONSUMER_OFFSETS, leader_epoch=self.partition.leader_epoch + 1)
        self.catch_up()
        self.clock.advance(0)
        self.assertEqual(self.broker.groups.check(group), NONE)
        return self.offset(group=group)


class GroupRecordTests(ReplicatedCommitCase):
    """Records of groups."""

    def append(self) -> Deferred[None]:
        """Append a record that is not committed at once; return what waits for it."""
        waiting = self.broker.groups.writer.append(self.partition, [(b"\0\2g", None)])
        assert waiting is not None
        return waiting

    def refused(self, waiting: Deferred[None]) -> ErrorCode:
        """Return the code that a wait has failed with."""
        error = self.failureResultOf(waiting, RequestError).value
        assert isinstance(error, RequestError)
        return error.code

    def test_committed(self) -> None:
        """Records count when all in-sync replicas have them."""
        first, second = self.append(), self.append()
        self.replicate(self.partition, 1)
        self.successResultOf(first)
        self.assertNoResult(second)
        self.replicate(self.partition, 2)
        self.successResultOf(second)

    def test_errors(self) -> None:
        """Clients are told errors that they know how to go on after."""
        waiting = self.append()
        self.clock.advance(TIMEOUT_S)
        self.assertEqual(self.refused(waiting), NOT_AVAILABLE)
        waiting = self.append()
        self.metadata.replicate(CONSUMER_OFFSETS, isr=[1])
        self.assertEqual(self.refused(waiting), NOT_AVAILABLE)
        self.metadata.replicate(CONSUMER_OFFSETS, isr=[1, 2, 3])
        waiting = self.append()
        self.metadata.replicate(CONSUMER_OFFSETS, leader=2)
        self.assertEqual(self.refused(waiting), NOT_COORDINATOR)

    def join(self) -> Deferred[Any]:
        """Begin to join group g by the consumer protocol; return what fires with the response."""
        request = ConsumerGroupHeartbeatRequest(
            "g", "m", 0, rebalance_timeout_ms=10_000, subscribed_topic_names=["t"], topic_partitions=[]
        )
        return self.begin(HEARTBEAT, 1, request)

    def test_member(self) -> None:
        """A member is told that it has joined when that is committed."""
        joining = self.join()
        self.catch_up()
        self.clock.advance(0)
        self.catch_up()
        response = self.successResultOf(joining)
        self.assertEqual((response.error_code, response.member_id), (NONE, "m"))

    def leave(self) -> Deferred[Any]:
        """Begin to leave group g; return what fires with the response."""
        return self.begin(HEARTBEAT, 1, ConsumerGroupHeartbeatRequest("g", "m", -1))

    def test_last_member_leaves(self) -> None:
        """A group without members is kept while that is not committed, and afterwards as an empty one."""
        self.join()
        self.catch_up()
        self.clock.advance(0)
        self.catch_up()
        group = self.broker.groups.find("g")
        assert group is not None
        leaving = self.leave()
        for _ in self.broker.expiry.expire_each(self.now_ms):
            pass
        self.assertIs(self.broker.groups.find("g"), group)
        self.assertNoResult(leaving)
        self.catch_up()
        self.assertEqual(self.successResultOf(leaving).error_code, NONE)
        self.assertIs(self.broker.groups.find("g"), group)
        self.assertEqual(group.state, "Empty")

    def test_member_is_late(self) -> None:
        """A member whose records are committed late is sent away, and is in the group as the log says."""
        joining = self.join()
        self.clock.advance(TIMEOUT_S)
        self.assertEqual(self.successResultOf(joining).error_code, NOT_COORDINATOR)
        loading = ErrorCode.COORDINATOR_LOAD_IN_PROGRESS
        self.assertEqual(self.broker.groups.check("g"), loading)
        self.clock.advance(10 * TIMEOUT_S)
        self.assertEqual(self.broker.groups.check("g"), loading)
        self.catch_up()
        self.clock.advance(0)
        self.assertEqual(self.broker.groups.check("g"), NONE)
        group = self.broker.groups.find("g")
        assert group is not None
        self.assertTrue(group.has_members)

    def test_cancelled(self) -> None:
        """A client that has gone waits no more; the others do."""
        first, second = self.append(), self.append()
        first.cancel()
        self.failureResultOf(first)
        self.catch_up()
        self.successResultOf(second)
