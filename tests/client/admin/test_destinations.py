"""Tests of kafkatx.client.admin.destinations."""

from __future__ import annotations

from collections.abc import Coroutine
from typing import Any

from twisted.internet.defer import Deferred

from kafkatx.client.admin.destinations import Destinations
from kafkatx.clientcore.errors import ConnectionFailed, UnknownTopic
from kafkatx.errors import ErrorCode, RequestError
from kafkatx.types import TopicPartition
from kafkatx.wire.messages.create_topics import CreateTopicsRequest
from kafkatx.wire.messages.find_coordinator import FindCoordinatorRequest
from kafkatx.wire.messages.list_groups import ListGroupsRequest, ListGroupsResponse
from tests.networkclient.case import ClusterTestCase

FIRST, SECOND = TopicPartition("t", 0), TopicPartition("t", 1)


class DestinationsTests(ClusterTestCase):
    def setUp(self) -> None:
        """Make requests of an admin client over a lane of its own."""
        super().setUp()
        self.network.answers[ListGroupsRequest] = lambda node, *_: ListGroupsResponse(throttle_time_ms=0)
        self.destinations = Destinations(self.cluster, lane="admin")

    def error(self, kind: type[Exception], work: Coroutine[Any, Any, Any], seconds: float = 0.0) -> Any:
        """Return the error of a coroutine."""
        return self.assertRaises(kind, self.run_, work, seconds)

    def test_lane(self) -> None:
        """Requests go over connections of their own lane."""
        links = len(self.network.live(2))
        for _ in range(2):
            self.run_(self.destinations.node(2, ListGroupsRequest()))
        self.assertEqual(len(self.network.live(2)), links + 1)
        self.assertEqual(self.network.requests[-1][0], 2)

    def test_leaders(self) -> None:
        """Partitions are grouped by their present leaders."""
        self.assertEqual(self.run_(self.destinations.leaders([FIRST, SECOND])), {1: [FIRST], 2: [SECOND]})
        self.brokers.topics["t"][0].leader = 2
        self.assertEqual(self.run_(self.destinations.leaders([FIRST, SECOND])), {2: [FIRST, SECOND]})

    def test_no_leader(self) -> None:
        """A topic, partition or leader that does not exist is an error."""
        self.error(UnknownTopic, self.destinations.leaders([TopicPartition("none", 0)]))
        error = self.error(RequestError, self.destinations.leaders([TopicPartition("t", 9)]))
        self.assertIs(error.code, ErrorCode.INVALID_PARTITIONS)
        self.brokers.topics["t"][0].leader = -1
        error = self.error(RequestError, self.destinations.leaders([FIRST]))
        self.assertIs(error.code, ErrorCode.LEADER_NOT_AVAILABLE)

    def test_controller_version(self) -> None:
        """The version of any broker is used while the controller is unknown."""
        self.network.newest[CreateTopicsRequest] = 3
        version = self.run_(self.destinations.controller_version(CreateTopicsRequest))
        self.assertEqual(version, 3)

    def test_some(self) -> None:
        """An empty set of brokers is an error."""
        self.assertIn(self.destinations.some([4, 5]), (4, 5))
        self.assertRaises(ConnectionFailed, self.destinations.some, [])

    def test_coordinator(self) -> None:
        """The coordinator is looked up again after a retriable error."""
        nodes: list[int] = []

        async def call(node_id: int) -> str:
            nodes.append(node_id)
            if len(nodes) == 1:
                raise RequestError(ErrorCode.NOT_COORDINATOR, "moved")
            return "done"

        self.assertEqual(self.run_(self.destinations.coordinator("g", call), 2), "done")
        self.assertEqual((nodes, len(self.network.sent(FindCoordinatorRequest))), ([3, 3], 2))

    def test_coordinator_refuses(self) -> None:
        """A final error is raised at once, and the coordinator stays known."""

        async def call(node_id: int) -> None:
            raise RequestError(ErrorCode.GROUP_AUTHORIZATION_FAILED, "no")

        for _ in range(2):
            self.error(RequestError, self.destinations.coordinator("g", call))
        self.assertEqual(len(self.network.sent(FindCoordinatorRequest)), 1)

    def test_no_offsets(self) -> None:
        """No request is sent without partitions."""
        before = len(self.network.requests)
        found = self.successResultOf(Deferred.fromCoroutine(self.destinations.offsets({})))
        self.assertEqual((found, len(self.network.requests)), ({}, before))
