"""Partitions that this broker leads no more: their groups are forgotten, and who waits is answered."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from twisted.internet.defer import Deferred
from twisted.logger import LogLevel, capturedLogs

from kafkatx.broker.replica.partition import Partition
from kafkatx.errors import ErrorCode, RequestError
from kafkatx.group.actions import Action, Answer, Record, Store
from kafkatx.group.offset_records import Committed
from kafkatx.group.sizes import text_bytes
from tests.broker.coordinated import groups_of, groups_with_offsets, offsets_of, partition_of
from tests.broker.coordinator.groups.test_coordinator import RECORDS, FakeGroup, GroupsTestCase


class UnloadTests(GroupsTestCase):
    def setUp(self) -> None:
        """Know the partition of the group."""
        super().setUp()
        self.partition = partition_of(self.broker)

    def lose(self) -> None:
        """Lead the partition of the group no more."""
        self.groups.runtime.role_changed(self.partition, False)

    def assertSent(self, waiting: Deferred[Any]) -> None:
        """Assert that a client is sent to find its coordinator."""
        error = self.failureResultOf(waiting, RequestError).value
        assert isinstance(error, RequestError)
        self.assertEqual(error.code, ErrorCode.NOT_COORDINATOR)

    def test_forgotten(self) -> None:
        """A lost partition's groups, offsets, memory and timers are gone; those of others stay."""
        other: Any = FakeGroup("other")
        self.groups.add(other)
        for group in (self.group, other):
            group.deadline_ms = 1000
            self.groups.perform(group, [])
            offsets_of(self.broker, group.group_id).set(group.group_id, "t", 0, Committed(1))
        self.assertEqual(self.timers, 2)
        used = self.groups.memory.used_bytes
        self.lose()
        self.assertEqual(
            (groups_of(self.broker), groups_with_offsets(self.broker)), ({"other": other}, ["other"])
        )
        self.assertEqual(
            (self.timers, self.groups.memory.used_bytes * 2),
            (1, used + text_bytes("other") - text_bytes("g")),
        )
        self.assertEqual(self.groups.check("g"), ErrorCode.COORDINATOR_LOAD_IN_PROGRESS)
        self.assertEqual(self.groups.check("other"), ErrorCode.NONE)

    def test_answered(self) -> None:
        """Waiting requests are answered with NOT_COORDINATOR, and their groups do nothing any more."""
        self.group.deadline_ms = 1000
        _, waiting = self.wait()
        self.lose()
        self.assertSent(waiting)
        self.clock.advance(5)
        self.assertEqual(self.group.advanced_ms, [])

    def test_store_under_way(self) -> None:
        """A store that is not committed is not reported to the group, which is gone."""
        self.writer.committing = Deferred()
        _, waiting = self.wait()
        self.ask(Store(RECORDS), Answer(..., ""))
        self.lose()
        self.assertSent(waiting)
        self.writer.committing.callback(None)
        self.assertEqual(self.group.stored_with, [])

    def test_lost_while_performing(self) -> None:
        """A group whose partition is lost by its own write stores no more, and gets no timer again."""

        def append(partition: Partition, records: Sequence[Record]) -> None:
            self.lose()
            raise RequestError(ErrorCode.NOT_COORDINATOR)

        self.patch(self.groups.writer, "append", append)
        self.group.deadline_ms = 1000
        self.group.after_store = [Store(RECORDS)] * 2
        _, waiting = self.wait()
        self.patch(self.group, "stored", lambda error, now_ms: self.group.stored_with.append(error) or [])
        self.assertEqual(self.ask(Store(RECORDS), Store(RECORDS), Answer(..., "done")), "done")
        self.assertEqual(self.group.stored_with, [ErrorCode.NOT_COORDINATOR] * 2)
        self.assertEqual(self.timers, 0)
        self.assertSent(waiting)

    def test_request_without_its_shard(self) -> None:
        """A request whose group loses its partition before it waits is sent to find the coordinator."""

        def call(token: object, now_ms: int) -> list[Action]:
            self.lose()
            return []

        error = self.assertRaises(RequestError, self.groups.ask, self.group, call)
        self.assertEqual(error.code, ErrorCode.NOT_COORDINATOR)

    def test_deletion_under_way(self) -> None:
        """A deletion that is not committed is answered with NOT_COORDINATOR."""
        self.patched.restore()
        self.partition.flush_messages = 1
        self.patch(type(self.partition.log), "flushed_offset", property(lambda log: 0))
        self.patch(self.partition.log, "flush", Deferred)
        deleting = Deferred.fromCoroutine(self.groups.delete(self.group))
        self.assertNoResult(deleting)
        self.lose()
        self.assertEqual(self.successResultOf(deleting), ErrorCode.NOT_COORDINATOR)

    def test_not_served(self) -> None:
        """No group can be made, added or deleted in a partition that is not served."""
        self.lose()
        self.assertRaises(RequestError, self.groups.make, "g")
        self.assertRaises(RequestError, self.groups.add, self.group)
        deleting = Deferred.fromCoroutine(self.groups.delete(self.group))
        self.assertEqual(self.successResultOf(deleting), ErrorCode.NOT_COORDINATOR)
        self.assertEqual(self.groups.offsets_of("g").groups(), [])
        self.groups.remove("g")

    def test_told(self) -> None:
        """A line tells how many groups came and went; partitions without groups are not worth one."""
        with capturedLogs() as events:
            self.lose()
            self.groups.runtime.role_changed(self.partition, True)
        self.assertEqual([(e["log_level"], e["count"]) for e in events], [(LogLevel.info, 1)])
