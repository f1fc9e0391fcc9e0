"""Kafka requests of the console's users, here and at other brokers, with the rights of the user."""

from __future__ import annotations

from typing import Any

from twisted.internet.defer import Deferred, succeed

from kafkatx.acls import AclOperation, ResourceType
from kafkatx.broker.console.kafka_requests import KafkaRequests
from kafkatx.errors import RequestError
from kafkatx.net.requests import Session
from kafkatx.types import BrokerNode
from kafkatx.web.calls import Call
from kafkatx.wire.messages.delete_groups import (
    DeletableGroupResult,
    DeleteGroupsRequest,
    DeleteGroupsResponse,
)
from kafkatx.wire.messages.describe_acls import DescribeAclsRequest
from kafkatx.wire.messages.describe_mirrors import DescribeMirrorsRequest, DescribeMirrorsResponse
from kafkatx.wire.messages.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
)
from kafkatx.wire.schema import Message
from tests.broker.authorization.authorized import ADMIN, ALICE, GROUP, TOPIC
from tests.broker.console.authorized import AuthorizedConsoleCase

OTHER = BrokerNode(2, "other", 9092)


def commit(topic: str) -> OffsetCommitRequest:
    """Return a request that commits an offset."""
    partition = OffsetCommitRequestPartition(0, 1, committed_metadata="")
    return OffsetCommitRequest(GROUP, topics=[OffsetCommitRequestTopic(topic, [partition])])


class KafkaRequestsTests(AuthorizedConsoleCase):
    def setUp(self) -> None:
        """Make requests whose ways to other brokers are noted."""
        super().setUp()
        self.kafka = KafkaRequests(self.broker)
        self.sent: list[tuple[BrokerNode, Message]] = []
        self.versions: list[int | None] = []
        self.patch(self.broker.peers, "request", self.at_peer)

    def at_peer(self, node: BrokerNode, message: Message, version: int | None) -> Deferred[Any]:
        """Answer for another broker."""
        self.sent.append((node, message))
        self.versions.append(version)
        if isinstance(message, DescribeMirrorsRequest):
            return succeed(DescribeMirrorsResponse())
        assert isinstance(message, DeleteGroupsRequest)
        return succeed(DeleteGroupsResponse(0, [DeletableGroupResult(one) for one in message.groups_names]))

    def ask_as(self, principal: str, request: Message, node: BrokerNode | None = None) -> Deferred[Any]:
        """Make a request as a user."""
        call = Call("GET", "/", (), {}, session=Session(principal), client="127.0.0.1")
        asked: Deferred[Any] = Deferred.fromCoroutine(self.kafka.ask(call, request, node))
        self.clock.advance(0)
        return asked

    def test_here(self) -> None:
        """The handlers of this broker answer; what is staged is written at once."""
        (topic,) = self.successResultOf(self.ask_as(ADMIN, commit(TOPIC))).topics
        self.assertEqual(topic.partitions[0].error_code, 0)
        self.assertIsNotNone(self.broker.groups.find(GROUP))

    def test_refused(self) -> None:
        """A user who may not do it is refused, all of it or each part."""
        self.failureResultOf(self.ask_as(ALICE, DescribeAclsRequest()), RequestError)
        found = self.successResultOf(self.ask_as(ALICE, DeleteGroupsRequest([GROUP])))
        self.assertEqual(found.results[0].error_code, 30)
        self.assertIsNotNone(self.broker.groups.find(GROUP))

    def test_there(self) -> None:
        """Another broker gets what the user may do alone; the rest is refused here."""
        self.grant(AclOperation.DELETE, ResourceType.GROUP, "own")
        found = self.successResultOf(self.ask_as(ALICE, DeleteGroupsRequest([GROUP, "own"]), OTHER))
        self.assertEqual({one.group_id: one.error_code for one in found.results}, {"own": 0, GROUP: 30})
        ((node, message),) = self.sent
        assert isinstance(message, DeleteGroupsRequest)
        self.assertEqual((node, message.groups_names), (OTHER, ["own"]))
        here = BrokerNode(self.broker.node_id, "h", 1)
        self.successResultOf(self.ask_as(ADMIN, DeleteGroupsRequest(["own"]), here))
        self.assertEqual(len(self.sent), 1)

    def test_versions(self) -> None:
        """The version is negotiated, but for requests that brokers do not list."""
        self.successResultOf(self.ask_as(ADMIN, DeleteGroupsRequest(["own"]), OTHER))
        self.successResultOf(self.ask_as(ADMIN, DescribeMirrorsRequest(), OTHER))
        self.assertEqual(self.versions, [None, 0])
