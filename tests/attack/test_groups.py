"""Members of groups that harm others: metadata without end, and hundreds of them at once."""

from __future__ import annotations

import time
import uuid
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from kafkatx.errors import ErrorCode
from kafkatx.wire import codec
from kafkatx.wire.api import APIS
from kafkatx.wire.headers import decode_response_header
from kafkatx.wire.messages.consumer_group_heartbeat import ConsumerGroupHeartbeatRequest
from kafkatx.wire.messages.create_topics import CreatableTopic, CreateTopicsRequest
from kafkatx.wire.messages.find_coordinator import FindCoordinatorRequest
from kafkatx.wire.messages.join_group import JoinGroupRequest, JoinGroupRequestProtocol
from kafkatx.wire.messages.list_groups import ListGroupsRequest
from kafkatx.wire.schema import Message
from tests.attack.case import FULL, AttackCase
from tests.integration.raw import TIMEOUT_S, RawClient, request_frame

JOIN, LIST, HEARTBEAT = 11, 16, 68
WITHOUT_ID, WITH_ID = 3, 9
SESSION_MS = 30_000
FITTING = 133
"""How many members of 1,000,000 bytes, each in a group of its own, ``kafkatx.groups.max.bytes`` allows."""


def join(group: str, size: int, member_id: str = "") -> JoinGroupRequest:
    """Join a group with so many bytes of metadata."""
    protocols = [JoinGroupRequestProtocol("range", b"x" * size)]
    return JoinGroupRequest(group, SESSION_MS, 60_000, member_id, None, "consumer", protocols)


def subscribe(group: str, names: Sequence[str]) -> ConsumerGroupHeartbeatRequest:
    """Join a group of KIP-848 that subscribes to these topics."""
    return ConsumerGroupHeartbeatRequest(
        group,
        str(uuid.uuid4()),
        0,
        rebalance_timeout_ms=60_000,
        subscribed_topic_names=list(names),
        topic_partitions=[],
    )


def receive(client: RawClient, key: int, version: int) -> Any:
    """Decode the next response."""
    body = memoryview(client.receive())
    _, at = decode_response_header(key, version, body)
    return codec.decode(APIS[key].response, version, body[at:])


class HoardTests(AttackCase):
    """Members that are let in are bounded; so is what they have the broker keep."""

    settings: ClassVar[Mapping[str, str]] = {"group.initial.rebalance.delay.ms": "60000"}

    def setUp(self) -> None:
        """Make __consumer_offsets."""
        super().setUp()
        self.connect().ask(10, 1, FindCoordinatorRequest("g", 0))

    def test_large_members(self) -> None:
        """Members with megabytes of metadata each are refused at once."""
        client = self.connect()
        with self.beside():
            for number in range(200 if FULL else 10):
                response = client.ask(JOIN, WITHOUT_ID, join(f"g{number}", 7 << 20))
                self.assertEqual(response.error_code, ErrorCode.GROUP_MAX_SIZE_REACHED)

    def test_many_members(self) -> None:
        """Members below the limit of one, each in a group of its own and left behind by its client."""
        count, refused = 400 if FULL else 20, 0
        with self.beside():
            for number in range(count):
                if number == 140:
                    self.wait_for_groups(FITTING)
                client = self.connect()
                client.send(request_frame(JOIN, WITHOUT_ID, join(f"g{number}", 1_000_000)))
                if number >= 140:
                    refused += receive(client, JOIN, WITHOUT_ID).error_code
        if FULL:
            self.assertEqual(refused, ErrorCode.GROUP_MAX_SIZE_REACHED * (count - 140))

    def wait_for_groups(self, count: int) -> None:
        """Wait until the broker has so many groups: it serves connections in no particular order."""
        client, found, end_s = self.connect(), 0, time.monotonic() + TIMEOUT_S
        while found < count:
            self.assertLess(time.monotonic(), end_s, f"{found} groups")
            found = len(client.ask(LIST, 4, ListGroupsRequest([])).groups)

    def test_ids_never_used(self) -> None:
        """Ids are asked for, and never used."""
        client = self.connect()
        with self.beside():
            for number in range(30_000 if FULL else 300):
                response = client.ask(JOIN, WITH_ID, join(f"g{number % 10_000}", 10))
                self.assertEqual(response.error_code, ErrorCode.MEMBER_ID_REQUIRED)

    def test_subscriptions(self) -> None:
        """Members of KIP-848 that subscribe to tens of thousands of topics each are refused."""
        names = [f"a-rather-long-name-of-a-topic-{number}" for number in range(100_000)]
        client = self.connect()
        with self.beside():
            for number in range(20 if FULL else 2):
                response = client.ask(HEARTBEAT, 1, subscribe(f"k{number}", names))
                self.assertEqual(response.error_code, ErrorCode.GROUP_MAX_SIZE_REACHED)


class CrowdTests(AttackCase):
    """Many members join at once, of a group whose assignment takes its time."""

    settings: ClassVar[Mapping[str, str]] = {
        "kafkatx.storage": "memory",
        "group.initial.rebalance.delay.ms": "300",
    }
    count = 300 if FULL else 50

    def at_once(self, key: int, version: int, requests: Sequence[Message]) -> list[Any]:
        """Send each request on a connection of its own, then receive all the responses."""
        clients = [self.connect() for _ in requests]
        frames = [request_frame(key, version, request) for request in requests]
        for client, frame in zip(clients, frames, strict=True):
            client.send(frame)
        return [receive(client, key, version) for client in clients]

    def test_classic(self) -> None:
        """Every member that joins a classic group is in its first generation."""
        self.connect().ask(10, 1, FindCoordinatorRequest("g", 0))
        with self.beside():
            responses = self.at_once(JOIN, WITHOUT_ID, [join("g", 1000) for _ in range(self.count)])
        self.assertEqual({(one.error_code, one.generation_id) for one in responses}, {(0, 1)})

    def test_consumer(self) -> None:
        """Every member that joins a group of KIP-848 gets an answer, and other clients theirs in between."""
        names = [f"t{number}" for number in range(3)]
        topics = [CreatableTopic(name, 1000 if FULL else 100, 1) for name in names]
        client = self.connect()
        client.ask(10, 1, FindCoordinatorRequest("g", 0))
        client.ask(19, 4, CreateTopicsRequest(topics, 30_000))
        with self.beside():
            responses = self.at_once(HEARTBEAT, 1, [subscribe("k", names) for _ in range(self.count)])
        self.assertEqual({one.error_code for one in responses}, {0})
