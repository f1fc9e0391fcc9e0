"""Tests of kafkatx.networkclient.negotiation."""

from __future__ import annotations

from typing import Any

from twisted.trial.unittest import SynchronousTestCase

from kafkatx.clientcore.backoff import Backoff
from kafkatx.clientcore.errors import ConnectionFailed
from kafkatx.errors import ErrorCode, KafkaTXError, RequestError
from kafkatx.networkclient.connection import BrokerConnection
from kafkatx.networkclient.protocol import ConnectionLimits
from kafkatx.wire.api import API_VERSIONS
from kafkatx.wire.connection import OPENING_VERSION
from kafkatx.wire.messages.api_versions import ApiVersion, ApiVersionsResponse
from kafkatx.wire.messages.find_coordinator import FindCoordinatorRequest, FindCoordinatorResponse
from kafkatx.wire.messages.list_groups import ListGroupsRequest
from kafkatx.wire.messages.metadata import MetadataRequest
from tests.blocking.fakes import LOSE_REQUEST
from tests.client.fakes import Link, Network
from tests.networkclient.case import NEWEST


class NegotiationTests(SynchronousTestCase):
    def setUp(self) -> None:
        """Make a broker of any version."""
        self.network = Network()
        self.versions: list[int] = []
        self.network.answers[FindCoordinatorRequest] = self.find

    def find(self, node: int, request: Any, version: int) -> FindCoordinatorResponse:
        """Record the version."""
        self.versions.append(version)
        return FindCoordinatorResponse()

    def ask(self) -> BrokerConnection:
        """Send a request over a new connection; return the connection."""
        connection = BrokerConnection(
            self.network.clock,
            ("broker1", 9092),
            client_id="me",
            limits=ConnectionLimits(),
            connect_s=10.0,
            backoff=Backoff(),
            make_endpoint=self.network.endpoint,
        )
        self.network.result(connection.request(FindCoordinatorRequest(key="g")))
        return connection

    def test_today(self) -> None:
        """The highest version that both sides speak is used."""
        self.ask()
        self.network.newest[FindCoordinatorRequest] = 1
        self.ask()
        self.assertEqual(self.versions, [NEWEST, 1])
        self.assertEqual(len(self.network.links), 2)

    def test_old(self) -> None:
        """A broker that closes the connection on the newest ApiVersions is asked with version 0."""
        self.network.newest_api_versions = 2
        self.network.newest[FindCoordinatorRequest] = 3
        self.ask()
        self.assertEqual((self.versions, len(self.network.links)), ([3], 2))

    def test_oldest(self) -> None:
        """A broker that closes the connection on any ApiVersions is Kafka 0.8: every API has version 0."""
        self.network.newest_api_versions = -1
        connection = self.ask()
        self.assertEqual((self.versions, len(self.network.links)), ([0], 3))
        self.assertEqual(len(self.network.live()), 1)
        error = self.failureResultOf(connection.request(ListGroupsRequest()), RequestError).value
        self.assertIs(error.code, ErrorCode.UNSUPPORTED_VERSION)

    def test_proxy_without_broker(self) -> None:
        """A peer that closes each connection is away, not old: requests fail in a way that is retried."""
        self.network.newest_api_versions = -1
        self.network.answers[MetadataRequest] = lambda *_: LOSE_REQUEST
        self.assertRaises(ConnectionFailed, self.ask)
        self.assertEqual((self.versions, self.network.live()), ([], []))

    def test_told_which(self) -> None:
        """A broker may answer a version that is too new with the newest that it speaks (KIP-511)."""
        asked: list[int] = []
        whole = Link.versions

        def versions(link: Link, version: int) -> ApiVersionsResponse:
            asked.append(version)
            if version < OPENING_VERSION:
                return whole(link, version)
            known = [ApiVersion(API_VERSIONS.key, 0, 2)]
            return ApiVersionsResponse(error_code=ErrorCode.UNSUPPORTED_VERSION, api_keys=known)

        self.patch(Link, "versions", versions)
        self.ask()
        self.assertEqual((asked, self.versions, len(self.network.links)), ([3, 2], [NEWEST], 1))

    def test_refused(self) -> None:
        """An error in the response is raised, and the connection is closed."""
        code = ErrorCode.CLUSTER_AUTHORIZATION_FAILED
        self.patch(Link, "versions", lambda *_: ApiVersionsResponse(error_code=code, api_keys=[]))
        error = self.assertRaises(KafkaTXError, self.ask)
        self.assertIn("CLUSTER_AUTHORIZATION_FAILED", str(error))
        self.network.pump()
        self.assertEqual(self.network.live(), [])
