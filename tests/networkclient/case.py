"""A cluster of three brokers in memory, for the tests of this package."""

from __future__ import annotations

from collections.abc import Coroutine
from typing import Any

from twisted.internet.defer import Deferred
from twisted.trial.unittest import SynchronousTestCase

from kafkatx.wire.api import APIS
from kafkatx.wire.messages.find_coordinator import (
    Coordinator,
    FindCoordinatorRequest,
    FindCoordinatorResponse,
)
from kafkatx.wire.messages.list_groups import ListGroupsRequest, ListGroupsResponse
from kafkatx.wire.messages.metadata import MetadataRequest
from tests.blocking.fakes import FakeCluster, Log
from tests.client.fakes import Network

NEWEST = APIS[FindCoordinatorRequest.API_KEY].versions[-1]
"""The highest version of FindCoordinator that this code has."""


class ClusterTestCase(SynchronousTestCase):
    def setUp(self) -> None:
        """Make three brokers; topic t has a partition at 1 and one at 2."""
        self.brokers = FakeCluster({"t": [Log(leader=1), Log(leader=2)]}, brokers=3)
        self.network = Network(self.brokers.answer)
        self.network.answers[ListGroupsRequest] = lambda node, *_: ListGroupsResponse(throttle_time_ms=node)
        self.network.answers[FindCoordinatorRequest] = self.coordinate
        self.coordinators: list[int] = []
        self.cluster = self.network.started()

    def coordinate(self, node: int, request: Any, version: int) -> FindCoordinatorResponse:
        """Return the errors that the test prepared, then broker 3."""
        code = self.coordinators.pop(0) if self.coordinators else 0
        told = Coordinator(request.coordinator_keys[0], 3, "broker3", 9092, code)
        return FindCoordinatorResponse(coordinators=[told])

    def run_(self, work: Coroutine[Any, Any, Any], seconds: float = 0.0) -> Any:
        """Run a coroutine to its end; return its result."""
        return self.network.result(Deferred.fromCoroutine(work), seconds)

    def metadata_requests(self) -> list[Any]:
        """Return the topics of each metadata request."""
        return [
            None if request.topics is None else [topic.name for topic in request.topics]
            for request in self.network.sent(MetadataRequest)
        ]

    def tearDown(self) -> None:
        """Check that nothing is left behind."""
        closed = self.cluster.close()
        self.network.pump()
        self.successResultOf(closed)
        self.assertEqual(self.network.clock.getDelayedCalls(), [])
        self.assertEqual(self.network.live(), [])
