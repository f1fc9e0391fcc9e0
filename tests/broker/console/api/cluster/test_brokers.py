"""Brokers."""

from __future__ import annotations

from typing import Any

import attrs
from twisted.internet.defer import Deferred, fail, succeed

from kafkatx.acls import AclOperation, ResourceType
from kafkatx.errors import KafkaTXError
from kafkatx.types import BrokerNode
from kafkatx.wire.messages.describe_log_dirs import (
    DescribeLogDirsRequest,
    DescribeLogDirsResponse,
    DescribeLogDirsResult,
)
from tests.broker.console.authorized import AuthorizedConsoleCase
from tests.broker.console.case import ConsoleCase


class BrokersTests(ConsoleCase):
    def test_alone(self) -> None:
        """A broker tells itself, as the controller that leads everything."""
        self.make_topic("t", 3)
        (found,) = self.get("/brokers")["items"]
        self.assertEqual((found["id"], found["live"], found["controller"]), (0, True, True))
        self.assertEqual((found["leaders"], found["replicas"], found["rack"]), (3, 3, "rack a"))
        self.assertEqual(found["logDirs"], [])

    def test_others(self) -> None:
        """Other brokers are asked for their log dirs; one that does not answer is told without them."""
        nodes = {number: BrokerNode(number, f"h{number}", 9092) for number in (0, 9, 10)}
        state = attrs.evolve(self.broker.metadata.state, brokers=nodes)

        def request(node: BrokerNode, message: Any, version: int | None = None) -> Deferred[Any]:
            if node.id == 10 or not isinstance(message, DescribeLogDirsRequest):
                return fail(KafkaTXError("away"))
            result = DescribeLogDirsResult(0, "/d", total_bytes=100, usable_bytes=40)
            return succeed(DescribeLogDirsResponse(results=[result]))

        self.patch(self.console._peers, "request", request)
        self.patch(self.broker.metadata, "state", state)
        items = self.get("/brokers")["items"]
        self.assertEqual([one["id"] for one in self.get("/brokers?search=h9")["items"]], [9])
        self.assertEqual([one["id"] for one in items], [0, 9, 10])
        expected = [{"path": "/d", "error": None, "sizeBytes": "0", "freeBytes": "40", "totalBytes": "100"}]
        self.assertEqual([one["logDirs"] for one in items], [[], expected, None])


class AuthorizedBrokersTests(AuthorizedConsoleCase):
    def test_rights(self) -> None:
        """The brokers are told to all users, as to Kafka clients; log dirs to those who may describe them."""
        (found,) = self.get("/brokers")["items"]
        self.assertIsNone(found["logDirs"])
        self.grant(AclOperation.DESCRIBE, ResourceType.CLUSTER)
        (found,) = self.get("/brokers")["items"]
        self.assertEqual(found["logDirs"], [])
