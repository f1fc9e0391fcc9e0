"""A consumer group with a log, a clock and topics that the test controls, called as the broker does."""

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
    """Return a topic; its id follows from its name, and from *number* if it was created again."""
    state = PartitionState(0, 0, (0,), (0,))
    return Topic(name, uuid.uuid5(uuid.NAMESPACE_OID, f"{name}{number}"), (state,) * partitions)


def cluster(*topics: Topic) -> ClusterState:
    """Return a cluster that has these topics."""
    return ClusterState(
        "c",
        0,
        topics={one.name: one for one in topics},
        topic_names={one.topic_id: one.name for one in topics},
    )


class GroupTestCase(SynchronousTestCase):
    """Sends requests to ``self.group``; records that the group stores are in ``self.log``."""

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
        self.client = CLIENT
        self._ids = 0
        self.group: Any = self.new_group()

    def new_group(self) -> ConsumerGroup:
        """Return a group without members."""
        return ConsumerGroup(
            "g",
            lambda: self.settings,
            lambda: self.cluster,
            self.new_member_id,
            lambda: WALL_MS + self.now_ms,
        )

    def new_member_id(self, prefix: str) -> str:
        """Return ids that count up."""
        self._ids += 1
        return f"{prefix}-{self._ids}"

    def new_classic(self) -> ClassicGroup:
        """Return a classic group without members."""
        return ClassicGroup("g", self.settings, self.new_member_id, lambda: WALL_MS + self.now_ms)

    # --- the broker's part

    def perform(self, group: Any, actions: list[Action]) -> None:
        """Perform the actions of a group."""
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
        """Complete the stores that are held."""
        self.holding = False
        held, self.held = self.held, []
        for group in held:
            self.perform(group, group.stored(self.store_error, self.now_ms))

    def ask(self, call: Callable[[object], list[Action]]) -> Any:
        """Send a request; return the response, or None if there is none yet."""
        self.last_token = token = object()
        self.perform(self.group, call(token))
        return self.answers.get(token)

    def pass_time(self, milliseconds: int) -> None:
        """Advance the time, and call the group at each of its deadlines."""
        end_ms = self.now_ms + milliseconds
        while self.group.deadline_ms <= end_ms:
            self.now_ms = max(self.now_ms, self.group.deadline_ms)
            self.perform(self.group, self.group.advance(self.now_ms))
            self.assertGreater(self.group.deadline_ms, self.now_ms, "a deadline in the past")
        self.now_ms = end_ms

    def restart(self) -> None:
        """Replace the group by a new one that is loaded from the log."""
        self.group = self.new_group()
        for key, value in self.log.items():
            version = int.from_bytes(key[:2], "big")
            if value is not None:
                group_id, change = decode(version, key, value)
                self.assertEqual(group_id, "g")
                self.group.replay(change)
        self.assertEqual(self.group.loaded(self.now_ms), [])

    def kinds(self) -> dict[Kind, int]:
        """Return the number of records of each kind in the log, without tombstones."""
        found = [int.from_bytes(key[:2], "big") for key, value in self.log.items() if value is not None]
        return {Kind(number): found.count(number) for number in sorted(set(found))}

    # --- the member's part

    def send(
        self,
        member_id: str,
        epoch: int,
        topics: list[str] | None = None,
        owned: Flat | None = None,
        version: int = 1,
        **fields: Any,
    ) -> Any:
        """Send a heartbeat; return the response."""
        listed = None if owned is None else self.listed(owned)
        request = ConsumerGroupHeartbeatRequest(
            "g", member_id, epoch, subscribed_topic_names=topics, topic_partitions=listed, **fields
        )
        return self.ask(
            lambda token: self.group.consumer_heartbeat(request, version, self.client, token, self.now_ms)
        )

    def join(self, member_id: str = "a", topics: list[str] | None = None, **fields: Any) -> Any:
        """Join, by default with a subscription to the topic t."""
        wanted = ["t"] if topics is None and "subscribed_topic_regex" not in fields else topics
        fields.setdefault("rebalance_timeout_ms", REBALANCE_MS)
        return self.send(member_id, 0, wanted, set(), **fields)

    def joined(self, member_id: str = "a", topics: list[str] | None = None, **fields: Any) -> int:
        """Join; return the epoch."""
        response = self.join(member_id, topics, **fields)
        self.assertEqual((response.error_code, response.member_id), (0, member_id))
        epoch: int = response.member_epoch
        return epoch

    def refused(self, code: ErrorCode, response: ConsumerGroupHeartbeatResponse) -> str:
        """Assert that the response has this error; return its message."""
        self.assertEqual(ErrorCode(response.error_code), code)
        self.assertIsNone(response.assignment)
        assert response.error_message is not None
        return response.error_message

    def listed(self, owned: Flat) -> list[TopicPartitions]:
        """Return partitions as a member lists them."""
        topics = self.cluster.topics
        return [
            TopicPartitions(topics[name].topic_id, sorted(number for one, number in owned if one == name))
            for name in {name for name, _ in owned}
        ]

    def assigned(self, response: ConsumerGroupHeartbeatResponse) -> Flat:
        """Return the assignment of a response, which must have one."""
        assert response.assignment is not None
        names = self.cluster.topic_names
        listed = response.assignment.topic_partitions
        return {(names[one.topic_id], number) for one in listed for number in one.partitions}

    def described(self, member_id: str = "a") -> Any:
        """Return a member as ConsumerGroupDescribe shows it."""
        (found,) = (one for one in self.group.consumer_describe().members if one.member_id == member_id)
        return found


def t(*numbers: int) -> Flat:
    """Return partitions of the topic t."""
    return {("t", number) for number in numbers}


class MixedTestCase(GroupTestCase):
    """Adds members of the classic protocol."""

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
        """Send a JoinGroup; return the response, or None while it waits."""
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
        """Send a JoinGroup; return its token, by which its answer is found later."""
        self.last_token = None
        self.classic_join(member_id, **fields)
        return self.last_token

    def classic_joined(self, **fields: Any) -> tuple[str, int]:
        """Join as a new member without an id; return the id and the generation."""
        required = self.classic_join(**fields)
        if required.error_code == ErrorCode.MEMBER_ID_REQUIRED:
            required = self.classic_join(required.member_id, **fields)
        self.assertEqual(required.error_code, 0)
        return required.member_id, required.generation_id

    def sync(self, member_id: str, generation: int, assignments: Any = (), **fields: Any) -> Any:
        """Send a SyncGroup; return the response, or None while it waits."""
        request = SyncGroupRequest("g", generation, member_id, assignments=list(assignments), **fields)
        version = 5 if "protocol_type" in fields else 4
        return self.ask(lambda token: self.group.sync(request, version, token, self.now_ms))

    def synced(self, member_id: str, generation: int) -> Flat:
        """Return the partitions of a member, read by a SyncGroup."""
        response = self.sync(member_id, generation)
        self.assertEqual(ErrorCode(response.error_code), 0)
        return self.read(response.assignment)

    def read(self, data: bytes) -> Flat:
        """Return the partitions of an assignment."""
        listed = parse_assignment(bytes(data)).assigned_partitions
        return {(one.topic, number) for one in listed for number in one.partitions}

    def beat(self, member_id: str, generation: int, instance_id: str | None = None) -> ErrorCode:
        """Send a Heartbeat; return its error."""
        request = HeartbeatRequest("g", generation, member_id, instance_id)
        response = self.ask(lambda token: self.group.heartbeat(request, 4, token, self.now_ms))
        return ErrorCode(response.error_code)

    def leave(self, *who: MemberIdentity, version: int = 5, member_id: str = "") -> Any:
        """Send a LeaveGroup; return the response."""
        request = LeaveGroupRequest("g", member_id, list(who))
        return self.ask(lambda token: self.group.leave(request, version, token, self.now_ms))
