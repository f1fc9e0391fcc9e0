"""Denials are records of a topic, written here or by another broker."""

from __future__ import annotations

import json
from typing import Any, ClassVar

from twisted.internet.defer import Deferred, succeed
from twisted.internet.task import Clock
from twisted.logger import Logger
from twisted.trial.unittest import SynchronousTestCase

from kafkatx.acls import AclOperation, ResourceType
from kafkatx.broker.authorization.audit_topic import DELAY_S, MOST_PENDING, AuditTopic, Ways
from kafkatx.net.limited_log import LimitedLog
from kafkatx.records.conversion import iter_any
from kafkatx.types import BrokerNode, ClusterState, PartitionState, Topic
from kafkatx.wire.messages.produce import PartitionProduceResponse, ProduceResponse, TopicProduceResponse
from kafkatx.wire.schema import NULL_UUID, Message
from tests.broker.authorization.authorized import ALICE, TOPIC, AuthorizedTestCase

DENIED = ("User:bob", "192.0.2.7", AclOperation.READ, ResourceType.TOPIC, "orders")


class BrokerTests(AuthorizedTestCase):
    settings: ClassVar[dict[str, str]] = {
        **AuthorizedTestCase.settings,
        "kafkatx.authorizer.audit.topic": "denied",
    }

    def test_written(self) -> None:
        """A denied request is a record; the same one is no second record in this minute."""
        for _ in range(3):
            self.put()
        self.clock.advance(DELAY_S)
        self.clock.advance(0)
        (value,) = self.stored("denied")
        assert value is not None
        found = json.loads(value)
        self.assertEqual(
            {name: found[name] for name in ("principal", "host", "operation", "resource_type", "resource")},
            {
                "principal": ALICE,
                "host": "192.0.2.7",
                "operation": "write",
                "resource_type": "topic",
                "resource": TOPIC,
            },
        )
        self.assertEqual((found["time_ms"], found["broker"], found["left_out"]), (self.now_ms, 0, 0))


class Store:
    """A cluster whose broker 2 leads the topic."""

    def __init__(self, leader: int = 2) -> None:
        topic = Topic("denied", NULL_UUID, (PartitionState(leader, 1, (leader,), (leader,)),))
        self.state = ClusterState("c", 2, {2: BrokerNode(2, "host2", 9092)}, {"denied": topic})


class OtherBrokerTests(SynchronousTestCase):
    def setUp(self) -> None:
        """Make a topic that another broker leads."""
        self.clock = Clock()
        self.sent: list[tuple[int, Any]] = []
        self.code = 0
        self.topic = self.make(Store())

    def make(self, store: Store) -> AuditTopic:
        """Return the topic of broker 1."""

        async def ensure(name: str) -> None:
            self.assertEqual(name, "denied")

        ways = Ways(ensure, lambda topic, number: None, lambda partition, pairs: None, self.send)
        log = LimitedLog(Logger(), self.clock)
        return AuditTopic("denied", 1, store, ways, self.clock, lambda: 5, log)  # type: ignore[arg-type]

    def send(self, node: BrokerNode, request: Message) -> Deferred[Any]:
        """Note a request, and answer it."""
        self.sent.append((node.id, request))
        result = PartitionProduceResponse(0, self.code, 0)
        return succeed(ProduceResponse([TopicProduceResponse("denied", [result])]))

    def values(self) -> list[dict[str, Any]]:
        """Return what was sent."""
        return [
            json.loads(record.value or b"")
            for _, request in self.sent
            for record in iter_any(memoryview(request.topic_data[0].partition_data[0].records))
        ]

    def test_sent(self) -> None:
        """Denials of a second go to the leader in one batch."""
        for host in ("a", "b"):
            self.topic.note(DENIED[0], host, *DENIED[2:])
        self.clock.advance(DELAY_S)
        self.assertEqual([node for node, _ in self.sent], [2])
        self.assertEqual([value["host"] for value in self.values()], ["a", "b"])
        self.topic.note(*DENIED)
        self.clock.advance(DELAY_S)
        self.assertEqual(len(self.sent), 2)

    def test_bounded(self) -> None:
        """More denials than fit are counted, and told with the next one."""
        for _ in range(MOST_PENDING + 7):
            self.topic.note(*DENIED)
        self.clock.advance(DELAY_S)
        self.topic.note(*DENIED)
        self.clock.advance(DELAY_S)
        self.assertEqual((len(self.values()), self.values()[-1]["left_out"]), (MOST_PENDING + 1, 7))

    def test_refused(self) -> None:
        """Denials that cannot be written are given up; later ones are tried."""
        self.code = 29
        self.topic.note(*DENIED)
        self.clock.advance(DELAY_S)
        self.code = 0
        self.topic.note(*DENIED)
        self.clock.advance(DELAY_S)
        self.assertEqual(len(self.sent), 2)

    def test_no_leader(self) -> None:
        """Without a leader nothing is sent, and nothing waits."""
        topic = self.make(Store(leader=-1))
        topic.note(*DENIED)
        self.clock.advance(DELAY_S)
        self.assertEqual((self.sent, self.clock.getDelayedCalls()), ([], []))
