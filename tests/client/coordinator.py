"""A group coordinator for :class:`tests.client.fakes.Network`: the broker's own group code, in memory."""

from __future__ import annotations

from typing import Any

from twisted.internet.defer import Deferred
from twisted.internet.interfaces import IDelayedCall

from kafkatx.errors import ErrorCode
from kafkatx.group.actions import NEVER_MS, Action, Answer, Client, Store
from kafkatx.group.classic import ClassicGroup
from kafkatx.group.settings import GroupSettings
from kafkatx.types import TopicPartition
from kafkatx.wire.messages import find_coordinator as fc
from kafkatx.wire.messages.heartbeat import HeartbeatRequest
from kafkatx.wire.messages.join_group import JoinGroupRequest
from kafkatx.wire.messages.leave_group import LeaveGroupRequest
from kafkatx.wire.messages.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitResponse,
    OffsetCommitResponsePartition,
    OffsetCommitResponseTopic,
)
from kafkatx.wire.messages.offset_fetch import (
    OffsetFetchRequest,
    OffsetFetchResponse,
    OffsetFetchResponseGroup,
    OffsetFetchResponsePartition,
    OffsetFetchResponsePartitions,
    OffsetFetchResponseTopic,
    OffsetFetchResponseTopics,
)
from kafkatx.wire.messages.sync_group import SyncGroupRequest
from tests.client.fakes import Network

MANY = 8
"""From this version of OffsetFetch on it is about several groups."""


class Coordinator:
    """Coordinates the group ``g`` at a node; other nodes are not its coordinator.

    :ivar node: id of its node; changed to move the coordinator.
    :ivar offsets: committed offsets: offset, metadata, leader epoch.
    :ivar commit_errors: the next commits' errors, for all their partitions.
    :ivar fetch_errors: the next fetches' errors, for the group.
    """

    def __init__(self, network: Network, node: int = 1) -> None:
        self.network = network
        self.node = node
        self.offsets: dict[TopicPartition, tuple[int, str, int]] = {}
        self.commit_errors: list[ErrorCode] = []
        self.fetch_errors: list[ErrorCode] = []
        self._waiting: dict[int, Deferred[Any]] = {}
        self._tokens = self._ids = 0
        self._timer: IDelayedCall | None = None
        settings = GroupSettings(initial_rebalance_delay_ms=0, min_session_timeout_ms=1)
        self.group = ClassicGroup("g", settings, self._new_id, self._now_ms)
        network.answers[fc.FindCoordinatorRequest] = self._find
        for kind in (JoinGroupRequest, SyncGroupRequest, HeartbeatRequest, LeaveGroupRequest):
            network.answers[kind] = self._ask
        network.answers[OffsetCommitRequest] = self._commit
        network.answers[OffsetFetchRequest] = self._fetch

    def _now_ms(self) -> int:
        return int(self.network.clock.seconds() * 1000)

    def _new_id(self, prefix: str) -> str:
        self._ids += 1
        return f"{prefix}-{self._ids}"

    def _find(self, node: int, request: Any, version: int) -> Any:
        found = fc.Coordinator("g", self.node, f"broker{self.node}", 9092, 0, None)
        return fc.FindCoordinatorResponse(
            error_code=0, node_id=found.node_id, host=found.host, port=found.port, coordinators=[found]
        )

    def _ask(self, node: int, request: Any, version: int) -> Any:
        self._tokens += 1
        token, now_ms = self._tokens, self._now_ms()
        answer: Deferred[Any] = Deferred()
        self._waiting[token] = answer
        if isinstance(request, JoinGroupRequest):
            client = Client("c", "/10.0.0.1")
            actions = self.group.join(request, version, client, token, now_ms)
        elif isinstance(request, SyncGroupRequest):
            actions = self.group.sync(request, version, token, now_ms)
        elif isinstance(request, HeartbeatRequest):
            actions = self.group.heartbeat(request, version, token, now_ms)
        else:
            actions = self.group.leave(request, version, token, now_ms)
        self._perform(actions)
        return answer

    def _perform(self, actions: list[Action]) -> None:
        answers = []
        for action in actions:
            if isinstance(action, Answer):
                answers.append((self._waiting.pop(action.token), action.response))
            elif isinstance(action, Store):
                self._perform(self.group.stored(ErrorCode.NONE, self._now_ms()))
        for waiting, response in answers:
            waiting.callback(response)
        if self._timer is not None and self._timer.active():
            self._timer.cancel()
        if self.group.deadline_ms != NEVER_MS:
            wait_s = max(0.0, (self.group.deadline_ms - self._now_ms()) / 1000)
            self._timer = self.network.clock.callLater(wait_s, self._advance)

    def _advance(self) -> None:
        self._perform(self.group.advance(self._now_ms()))

    def _commit(self, node: int, request: OffsetCommitRequest, version: int) -> OffsetCommitResponse:
        error = self.commit_errors.pop(0) if self.commit_errors else ErrorCode.NONE
        if node != self.node:
            error = ErrorCode.NOT_COORDINATOR
        error = error or self.group.check_commit(
            request.member_id,
            request.group_instance_id,
            request.generation_id_or_member_epoch,
            version,
            self._now_ms(),
        )
        topics = []
        for topic in request.topics:
            for p in topic.partitions:
                if not error:
                    at = TopicPartition(topic.name, p.partition_index)
                    told = (p.committed_offset, p.committed_metadata or "", p.committed_leader_epoch)
                    self.offsets[at] = told
            numbers = [p.partition_index for p in topic.partitions]
            partitions = [OffsetCommitResponsePartition(number, error) for number in numbers]
            topics.append(OffsetCommitResponseTopic(topic.name, partitions))
        return OffsetCommitResponse(topics=topics)

    def _fetch(self, node: int, request: OffsetFetchRequest, version: int) -> OffsetFetchResponse:
        error = self.fetch_errors.pop(0) if self.fetch_errors else ErrorCode.NONE
        if version < MANY:
            assert request.topics is not None
            old = [
                OffsetFetchResponseTopic(
                    t.name,
                    [self._known(OffsetFetchResponsePartition, t.name, n) for n in t.partition_indexes],
                )
                for t in request.topics
            ]
            return OffsetFetchResponse(topics=old, error_code=error)
        wanted = request.groups[0].topics
        assert wanted is not None
        topics = [
            OffsetFetchResponseTopics(
                t.name, [self._known(OffsetFetchResponsePartitions, t.name, n) for n in t.partition_indexes]
            )
            for t in wanted
        ]
        return OffsetFetchResponse(groups=[OffsetFetchResponseGroup("g", topics, error)])

    def _known(self, kind: Any, topic: str, number: int) -> Any:
        offset, text, epoch = self.offsets.get(TopicPartition(topic, number), (-1, "", -1))
        return kind(number, offset, epoch, text, 0)
