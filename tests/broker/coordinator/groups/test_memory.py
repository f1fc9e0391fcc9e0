"""The memory limits of consumer groups: per member, per group, and for all groups."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

import attrs
from twisted.internet.defer import Deferred
from twisted.logger import LogLevel, capturedLogs

from kafkatx.errors import ErrorCode
from kafkatx.group.sizes import GROUP_BYTES, MEMBER_BYTES
from kafkatx.wire.messages.consumer_group_heartbeat import ConsumerGroupHeartbeatRequest
from kafkatx.wire.messages.join_group import JoinGroupRequest, JoinGroupRequestProtocol
from kafkatx.wire.messages.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
)
from tests.broker.coordinated import groups_of
from tests.broker.members import DELAY_S, JOIN, SESSION_MS, MembersTestCase

HEARTBEAT, COMMIT = 68, 8
MEMBER, GROUP, ALL = 20_000, 55_000, 100_000
FULL = ErrorCode.GROUP_MAX_SIZE_REACHED


class RoomTestCase(MembersTestCase):
    settings: ClassVar[Mapping[str, str]] = {
        **MembersTestCase.settings,
        "kafkatx.group.member.max.bytes": str(MEMBER),
        "kafkatx.group.max.bytes": str(GROUP),
        "kafkatx.groups.max.bytes": str(ALL),
    }

    def come(
        self, size: int, group: str = "g", member_id: str = "", version: int = 3, session_ms: int = SESSION_MS
    ) -> Deferred[Any]:
        """Join with a given number of bytes of metadata."""
        protocols = [JoinGroupRequestProtocol("range", b"x" * size)]
        request = JoinGroupRequest(group, session_ms, 30_000, member_id, None, "consumer", protocols)
        return self.later(JOIN, version, request)

    def codes(self, *joining: Deferred[Any]) -> list[ErrorCode]:
        """Return the error codes of the requests that were answered."""
        found: list[Any] = []
        for one in joining:
            one.addCallback(found.append)
        return [ErrorCode.of(response.error_code) for response in found]

    @property
    def used(self) -> int:
        """Return the bytes that all groups use."""
        return self.broker.groups.memory.used_bytes


class ClassicTests(RoomTestCase):
    def test_member(self) -> None:
        """A member with too much metadata is refused, and no group is made for it."""
        with capturedLogs() as events:
            self.assertEqual(self.codes(self.come(MEMBER)), [FULL])
            self.assertEqual(self.codes(self.come(MEMBER, version=9)), [FULL])
        self.assertEqual((groups_of(self.broker), self.used), ({}, 0))
        (warned,) = [event for event in events if event["log_level"] == LogLevel.warn]
        self.assertIn(f"kafkatx.group.member.max.bytes={MEMBER}", warned["why"])
        self.assertEqual(self.codes(self.come(MEMBER - 3000)), [])

    def test_group(self) -> None:
        """A full group refuses members; other groups accept them."""
        joining = [self.come(15_000) for _ in range(5)]
        self.assertEqual(self.codes(*joining), [FULL, FULL])
        self.assertEqual(self.codes(self.come(15_000, group="other")), [])

    def test_all(self) -> None:
        """All groups together are limited by the setting, and freed memory can be used again."""
        joining = [self.come(15_000, group=f"g{number}") for number in range(7)]
        self.assertEqual(self.codes(*joining), [FULL, FULL, FULL])
        self.assertLessEqual(self.used, ALL)
        for name in list(groups_of(self.broker)):
            for member in list(groups_of(self.broker)[name].members):
                self.leave(member, group=name)
        self.assertLess(self.used, 5 * (GROUP_BYTES + 500))

    def test_joins_again(self) -> None:
        """A member of a full group may join again with as much metadata as it had, but not with more."""
        joining = [self.come(15_000) for _ in range(3)]
        for _ in range(3):
            self.clock.advance(DELAY_S)
        ids = [self.successResultOf(one).member_id for one in joining]
        before = self.used
        self.assertEqual(self.codes(self.come(15_000)), [FULL])
        self.assertEqual(
            self.codes(*(self.come(15_000, member_id=name) for name in ids)), [ErrorCode.NONE] * 3
        )
        self.assertEqual(self.codes(self.come(19_000, member_id=ids[0])), [FULL])
        self.assertEqual(self.codes(self.come(10, member_id=ids[0])), [])
        self.assertLess(self.used, before)

    def test_less_room_than_before(self) -> None:
        """Existing members may join again after the limits were lowered; new ones may not."""
        (member,) = self.settle()
        groups = self.broker.groups
        groups.settings = attrs.evolve(
            groups.settings, member_max_bytes=1, group_max_bytes=1, groups_max_bytes=1
        )
        self.assertEqual(self.codes(self.come(8, member_id=member)), [ErrorCode.NONE])
        self.assertEqual(self.codes(self.come(8)), [FULL])

    def test_ids_given_out(self) -> None:
        """Member ids that are never used for joining count, and expire."""
        answers = [
            self.successResultOf(self.come(100, version=9, session_ms=SESSION_MS)).error_code
            for _ in range(1000)
        ]
        self.assertEqual(set(answers), {ErrorCode.MEMBER_ID_REQUIRED, FULL})
        self.assertLessEqual(self.used, GROUP + GROUP_BYTES + 200)
        self.clock.advance(SESSION_MS / 1000 + 1)
        self.assertEqual(self.used, 0)

    def test_groups_that_emptied(self) -> None:
        """Groups without members and offsets count until they expire; those with offsets do not count."""
        for number in range(100):
            joining = self.come(10, group=f"g{number}")
            self.clock.advance(4)
            if joining.called:
                response = self.successResultOf(joining)
                if response.error_code == 0:
                    self.leave(response.member_id, group=f"g{number}")
        self.assertLessEqual(self.used, ALL + 1000)
        self.assertLess(len(groups_of(self.broker)), 30)
        for _ in self.broker.expiry.expire_each(self.now_ms + 1):
            pass
        self.assertEqual(self.used, 0)

    def test_committed_offsets(self) -> None:
        """A group that only has offsets uses no memory of members."""
        self.make_topic()
        partition = OffsetCommitRequestPartition(0, 5)
        request = OffsetCommitRequest("g", -1, "", topics=[OffsetCommitRequestTopic("t", [partition])])
        self.ask(COMMIT, 7, request)
        self.assertIn("g", groups_of(self.broker))
        self.assertEqual(self.used, 0)

    def test_left_with_offsets(self) -> None:
        """A group with committed offsets uses no memory once its members have left."""
        self.make_topic()
        (member,) = self.settle()
        partition = OffsetCommitRequestPartition(0, 5)
        request = OffsetCommitRequest("g", 1, member, topics=[OffsetCommitRequestTopic("t", [partition])])
        self.ask(COMMIT, 7, request)
        self.leave(member)
        self.assertEqual(self.used, 0)

    def test_assignments(self) -> None:
        """The leader's assignments count; a leader that sends too large ones is refused."""
        joining = self.come(100)
        self.clock.advance(4)
        member = self.successResultOf(joining).member_id
        before = self.used
        synced = self.sync(member, 1, parts={member: b"x" * (GROUP + 1)})
        self.assertEqual(self.codes(synced), [ErrorCode.UNKNOWN_SERVER_ERROR])
        self.assertEqual(self.codes(self.sync(member, 1, parts={member: b"x" * 5000})), [ErrorCode.NONE])
        self.assertEqual(self.used - before, 5000)

    def test_heartbeats_cost_nothing(self) -> None:
        """Heartbeats do not change the memory that is counted for a group."""
        (member,) = self.settle()
        before = self.used
        for _ in range(5):
            self.beat(member, 1)
        self.assertEqual(self.used, before)
        self.leave(member)
        self.assertLess(self.used, before - MEMBER_BYTES + 1)


class ConsumerTests(RoomTestCase):
    def beat848(self, member_id: str, epoch: int = 0, **fields: Any) -> tuple[ErrorCode, Any]:
        """Send a KIP-848 heartbeat; return the error and the response."""
        if not epoch:
            fields = {"rebalance_timeout_ms": 5000, "topic_partitions": [], **fields}
        response = self.ask(HEARTBEAT, 1, ConsumerGroupHeartbeatRequest("k", member_id, epoch, **fields))
        return ErrorCode.of(response.error_code), response

    def test_subscription(self) -> None:
        """A member with too large a subscription is refused with a message, at first and later on."""
        much = [f"topic-{number}" for number in range(1000)]
        code, response = self.beat848("a", subscribed_topic_names=much)
        self.assertIs(code, FULL)
        self.assertIn("kafkatx.group.member.max.bytes", response.error_message)
        self.assertEqual(self.used, 0)
        code, response = self.beat848("a", subscribed_topic_names=["t"])
        self.assertIs(code, ErrorCode.NONE)
        code, _ = self.beat848("a", response.member_epoch, subscribed_topic_names=much)
        self.assertIs(code, FULL)
        self.assertIs(self.beat848("a", response.member_epoch)[0], ErrorCode.NONE)

    def test_all(self) -> None:
        """The group has room for a limited number of members until some leave."""
        names = [f"topic-{number}" for number in range(150)]
        found = [self.beat848(f"m{number}", subscribed_topic_names=names) for number in range(6)]
        codes = [code for code, _ in found]
        self.assertEqual(codes, [ErrorCode.NONE] * 4 + [FULL] * 2)
        self.assertIs(self.beat848("m0", -1)[0], ErrorCode.NONE)
        self.assertIs(self.beat848("m5", subscribed_topic_names=names)[0], ErrorCode.NONE)
