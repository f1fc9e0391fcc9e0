"""A console of a broker with a topic of ten records, and groups that read it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from twisted.internet.defer import Deferred

from kafkatx.group.protocol import encode_assignment
from kafkatx.wire.messages.consumer_group_heartbeat import ConsumerGroupHeartbeatRequest
from kafkatx.wire.messages.join_group import JoinGroupRequest, JoinGroupRequestProtocol
from kafkatx.wire.messages.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
)
from kafkatx.wire.messages.sync_group import SyncGroupRequest, SyncGroupRequestAssignment
from tests.broker.console.case import ConsoleCase


class GroupCase(ConsoleCase):
    """Groups read the topic ``t`` of two partitions, the first of which has ten records."""

    settings: ClassVar[Mapping[str, str]] = {
        "kafkatx.console.enable": "true",
        "group.initial.rebalance.delay.ms": "0",
        "offsets.topic.num.partitions": "3",
    }

    def setUp(self) -> None:
        """Make the topic."""
        super().setUp()
        self.make_topic("t", 2)
        self.fill(*[b"x"] * 10)

    def commit(self, group: str, offset: int, topic: str = "t", partition: int = 0) -> None:
        """Commit an offset without being a member."""
        self.successResultOf(self.broker.groups.topic.ensure())
        one = OffsetCommitRequestPartition(partition, offset, committed_metadata="note")
        response = self.ask(8, 9, OffsetCommitRequest(group, topics=[OffsetCommitRequestTopic(topic, [one])]))
        self.assertEqual(response.topics[0].partitions[0].error_code, 0)

    def join(self, group: str, topic: str, partitions: list[int]) -> str:
        """Join a group of the classic protocol as its only member; return the member's id."""
        self.successResultOf(self.broker.groups.topic.ensure())
        join = JoinGroupRequest(
            group_id=group,
            session_timeout_ms=10_000,
            rebalance_timeout_ms=10_000,
            protocol_type="consumer",
            protocols=[JoinGroupRequestProtocol("range", b"metadata")],
        )
        joined = self.later(11, 3, join)
        assigned = [SyncGroupRequestAssignment(joined.member_id, encode_assignment([(topic, partitions)], 0))]
        sync = SyncGroupRequest(group, joined.generation_id, joined.member_id, assignments=assigned)
        self.assertEqual(self.later(14, 3, sync).error_code, 0)
        member_id: str = joined.member_id
        return member_id

    def heartbeat(self, group: str, topic: str) -> None:
        """Join a group of KIP-848 as its only member."""
        request = ConsumerGroupHeartbeatRequest(
            group,
            "member",
            0,
            rebalance_timeout_ms=10_000,
            subscribed_topic_names=[topic],
            topic_partitions=[],
        )
        self.assertEqual(self.later(68, 1, request).error_code, 0)

    def later(self, key: int, version: int, request: Any) -> Any:
        """Return the response to a request that may wait."""
        answer = self.answer(key, version, request)
        for _ in range(20):
            if not isinstance(answer, Deferred) or answer.called:
                break
            self.clock.advance(0.01)
        reply = self.successResultOf(answer) if isinstance(answer, Deferred) else answer
        return self.response(key, version, reply)
