"""A group machine with a log, a clock and topics that the test moves: what the broker does, as calls."""

from __future__ import annotations

import uuid
from collections.abc import Callable
from typing import Any

from twisted.trial.unittest import SynchronousTestCase

from kafkatx.errors import ErrorCode
from kafkatx.group import protocol
from kafkatx.group.actions import Action, Answer, Client, Group, LogLine, Replace, Store
from kafkatx.group.classic.group import ClassicGroup
from kafkatx.group.consumer.group import ConsumerGroup
from kafkatx.group.consumer.records import Kind, decode
from kafkatx.group.protocol import ConsumerProtocolSubscription, encode_subscription, parse_assignment
from kafkatx.group.settings import GroupSettings
from kafkatx.types import ClusterState, PartitionState, Topic
from kafkatx.wire.messages.consumer_group_heartbeat import (
    ConsumerGroupHeartbeatRequest,
    ConsumerGroupHeartbeatResponse,
    TopicPartitions,
)
from kafkatx.wire.messages.heartbeat import HeartbeatRequest
from kafkatx.wire.messages.join_group import JoinGroupRequest, JoinGroupRequestProtocol
from kafkatx.wire.messages.leave_group import LeaveGroupRequest, MemberIdentity
from kafkatx.wire.messages.sync_group import SyncGroupRequest

CLIENT = Client("client", "/127.0.0.1")
WALL_MS = 1_700_000_000_000
SESSION_MS, INTERVAL_MS, REBALANCE_MS = 45_000, 5000, 60_000
CLASSIC_SESSION_MS = 10_000

Flat = set[tuple[str, int]]
"""(topic, partition)"""


def topic(name: str, partitions: int, number: int = 0) -> Topic:
    """A topic; its id is that of its name, and of *number* if it was created again."""
    state = PartitionState(0, 0, (0,), (0,))
    return Topic(name, uuid.uuid5(uuid.NAMESPACE_OID, f"{name}{number}"), (state,) * partitions)


def cluster(*topics: Topic) -> ClusterState:
    """A cluster that has these topics."""
    return ClusterState(
        "c",
        0,
        topics={one.name: one for one in topics},
        topic_names={one.topic_id: one.name for one in topics},
    )


class GroupTestCase(SynchronousTestCase):
    """``self.group`` is asked; what it stores stands in ``self.log``."""

    def setUp(self) -> None:
        """Make a group, and a topic ``t`` with 6 partitions."""
        self.settings = GroupSettings()
        self.cluster = cluster(topic("t", 6))
        self.now_ms = 1000
        self.log: dict[bytes, bytes | None] = {}
        self.batches: list[int] = []
        self.store_error = ErrorCode.NONE
        self.holding = False
        self.held: list[Group] = []
        self.lines: list[LogLine] = []
        self.answers: dict[object, Any] = {}
        self.last_token: object = None
        self._ids = 0
        self.group: Any = self.new_group()

    def new_group(self) -> ConsumerGroup:
        """A group without members."""
        return ConsumerGroup(
            "g",
            lambda: self.settings,
            lambda: self.cluster,
            self.new_member_id,
            lambda: WALL_MS + self.now_ms,
        )

    def new_member_id(self, prefix: str) -> str:
        """Ids that count."""
        self._ids += 1
        return f"{prefix}-{self._ids}"

    def new_classic(self) -> ClassicGroup:
        """A classic group without members."""
        return ClassicGroup("g", self.settings, self.new_member_id, lambda: WALL_MS + self.now_ms)

    # --- as the broker

    def perform(self, group: Any, actions: list[Action]) -> None:
        """Do what a machine wants."""
        todo = list(actions)
        while todo:
            action = todo.pop(0)
            if isinstance(action, Answer):
                self.assertNotIn(action.token, self.answers, "answered twice")
                self.answers[action.token] = action.response
            elif isinstance(action, Store):
                if self.holding:
                    self.held.append(group)
                else:
                    todo[:0] = group.stored(self.write(action), self.now_ms)
                if self.holding:
                    self.write(action)
            elif isinstance(action, Replace):
                group = self.group = action.group
            else:
                self.lines.append(action)

    def write(self, store: Store) -> ErrorCode:
        """Write records, or fail."""
        if not self.store_error:
            self.batches.append(len(store.records))
            for record in store.records:
                self.log.pop(record.key, None)
                self.log[record.key] = record.value
        return self.store_error

    def release(self) -> None:
        """What is being written is written."""
        self.holding = False
        held, self.held = self.held, []
        for group in held:
            self.perform(group, group.stored(self.store_error, self.now_ms))

    def ask(self, call: Callable[[object], list[Action]]) -> Any:
        """Ask; gives the response, or None if there is none yet."""
        self.last_token = token = object()
        self.perform(self.group, call(token))
        return self.answers.get(token)

    def pass_time(self, milliseconds: int) -> None:
        """Let time pass, with the calls that the machine has asked for."""
        end_ms = self.now_ms + milliseconds
        while self.group.deadline_ms <= end_ms:
            self.now_ms = max(self.now_ms, self.group.deadline_ms)
            self.perform(self.group, self.group.advance(self.now_ms))
            self.assertGreater(self.group.deadline_ms, self.now_ms, "a deadline in the past")
        self.now_ms = end_ms

    def restart(self) -> None:
        """Another broker: only the log is left."""
        self.group = self.new_group()
        for key, value in self.log.items():
            version = int.from_bytes(key[:2], "big")
            if value is not None:
                group_id, change = decode(version, key, value)
                self.assertEqual(group_id, "g")
                self.group.replay(change)
        self.assertEqual(self.group.loaded(self.now_ms), [])

    def kinds(self) -> dict[Kind, int]:
        """How many records of each kind the log holds; tombstones do not count."""
        found = [int.from_bytes(key[:2], "big") for key, value in self.log.items() if value is not None]
        return {Kind(number): found.count(number) for number in sorted(set(found))}

    # --- as a member

    def send(
        self,
        member_id: str,
        epoch: int,
        topics: list[str] | None = None,
        owned: Flat | None = None,
        version: int = 1,
        **fields: Any,
    ) -> Any:
        """Send a heartbeat; gives the response."""
        listed = None if owned is None else self.listed(owned)
        request = ConsumerGroupHeartbeatRequest(
            "g", member_id, epoch, subscribed_topic_names=topics, topic_partitions=listed, **fields
        )
        return self.ask(
            lambda token: self.group.consumer_heartbeat(request, version, CLIENT, token, self.now_ms)
        )

    def join(self, member_id: str = "a", topics: list[str] | None = None, **fields: Any) -> Any:
        """Join, by default the topic t."""
        wanted = ["t"] if topics is None and "subscribed_topic_regex" not in fields else topics
        fields.setdefault("rebalance_timeout_ms", REBALANCE_MS)
        return self.send(member_id, 0, wanted, set(), **fields)

    def joined(self, member_id: str = "a", topics: list[str] | None = None, **fields: Any) -> int:
        """Join, and give the epoch."""
        response = self.join(member_id, topics, **fields)
        self.assertEqual((response.error_code, response.member_id), (0, member_id))
        epoch: int = response.member_epoch
        return epoch

    def refused(self, code: ErrorCode, response: ConsumerGroupHeartbeatResponse) -> str:
        """The response is this error; gives its message."""
        self.assertEqual(ErrorCode(response.error_code), code)
        self.assertIsNone(response.assignment)
        assert response.error_message is not None
        return response.error_message

    def listed(self, owned: Flat) -> list[TopicPartitions]:
        """Partitions as a member lists them."""
        topics = self.cluster.topics
        return [
            TopicPartitions(topics[name].topic_id, sorted(number for one, number in owned if one == name))
            for name in {name for name, _ in owned}
        ]

    def assigned(self, response: ConsumerGroupHeartbeatResponse) -> Flat:
        """What a response assigns, which it must."""
        assert response.assignment is not None
        names = self.cluster.topic_names
        listed = response.assignment.topic_partitions
        return {(names[one.topic_id], number) for one in listed for number in one.partitions}

    def described(self, member_id: str = "a") -> Any:
        """A member as ConsumerGroupDescribe shows it."""
        (found,) = (one for one in self.group.consumer_describe().members if one.member_id == member_id)
        return found


def t(*numbers: int) -> Flat:
    """Partitions of the topic t."""
    return {("t", number) for number in numbers}


class MixedTestCase(GroupTestCase):
    """Members of the classic protocol, too."""

    def classic_join(
        self,
        member_id: str = "",
        topics: tuple[str, ...] = ("t",),
        owned: Flat | None = None,
        version: int = 9,
        protocols: tuple[str, ...] = ("range",),
        metadata: bytes | None = None,
        **fields: Any,
    ) -> Any:
        """Send a JoinGroup; gives the response, or None while it waits."""
        listed = [
            protocol.TopicPartitions(name, sorted(number for one, number in owned or () if one == name))
            for name in sorted({name for name, _ in owned or ()})
        ]
        if metadata is None:
            metadata = encode_subscription(ConsumerProtocolSubscription(list(topics), None, listed), 1)
        defaults = {
            "session_timeout_ms": CLASSIC_SESSION_MS,
            "rebalance_timeout_ms": REBALANCE_MS,
            "protocol_type": "consumer",
            "protocols": [JoinGroupRequestProtocol(name, metadata) for name in protocols],
        }
        request = JoinGroupRequest("g", member_id=member_id, **{**defaults, **fields})
        return self.ask(lambda token: self.group.join(request, version, CLIENT, token, self.now_ms))

    def send_join(self, member_id: str = "", **fields: Any) -> object:
        """Send a JoinGroup; gives its token, to look for the answer when it may be there."""
        self.last_token = None
        self.classic_join(member_id, **fields)
        return self.last_token

    def classic_joined(self, **fields: Any) -> tuple[str, int]:
        """Join as a new member, id and all; gives the id and the generation."""
        required = self.classic_join(**fields)
        if required.error_code == ErrorCode.MEMBER_ID_REQUIRED:
            required = self.classic_join(required.member_id, **fields)
        self.assertEqual(required.error_code, 0)
        return required.member_id, required.generation_id

    def sync(self, member_id: str, generation: int, assignments: Any = (), **fields: Any) -> Any:
        """Send a SyncGroup; gives the response, or None while it waits."""
        request = SyncGroupRequest("g", generation, member_id, assignments=list(assignments), **fields)
        version = 5 if "protocol_type" in fields else 4
        return self.ask(lambda token: self.group.sync(request, version, token, self.now_ms))

    def synced(self, member_id: str, generation: int) -> Flat:
        """What a member has, by a SyncGroup."""
        response = self.sync(member_id, generation)
        self.assertEqual(ErrorCode(response.error_code), 0)
        return self.read(response.assignment)

    def read(self, data: bytes) -> Flat:
        """The partitions of an assignment."""
        listed = parse_assignment(bytes(data)).assigned_partitions
        return {(one.topic, number) for one in listed for number in one.partitions}

    def beat(self, member_id: str, generation: int, instance_id: str | None = None) -> ErrorCode:
        """Send a Heartbeat; gives its error."""
        request = HeartbeatRequest("g", generation, member_id, instance_id)
        response = self.ask(lambda token: self.group.heartbeat(request, 4, token, self.now_ms))
        return ErrorCode(response.error_code)

    def leave(self, *who: MemberIdentity, version: int = 5, member_id: str = "") -> Any:
        """Send a LeaveGroup; gives the response."""
        request = LeaveGroupRequest("g", member_id, list(who))
        return self.ask(lambda token: self.group.leave(request, version, token, self.now_ms))
