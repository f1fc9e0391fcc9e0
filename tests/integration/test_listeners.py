"""Brokers with several listeners: clients are told the addresses of the listener that they ask."""

from __future__ import annotations

from twisted.trial.unittest import SynchronousTestCase

from kafkatx.blocking.connection import Connection
from kafkatx.testing import EmbeddedBroker
from kafkatx.wire.messages.describe_cluster import DescribeClusterRequest
from kafkatx.wire.messages.find_coordinator import FindCoordinatorRequest
from kafkatx.wire.messages.metadata import MetadataRequest
from tests.ports import free_port


class ListenersTests(SynchronousTestCase):
    def test_own_addresses(self) -> None:
        """Metadata, DescribeCluster and FindCoordinator have the address of the listener that was asked."""
        ports = free_port(), free_port()
        told = ("in.example", 1), ("out.example", 2)
        settings = {
            "listeners": f"IN://127.0.0.1:{ports[0]},OUT://127.0.0.1:{ports[1]}",
            "listener.security.protocol.map": "IN:PLAINTEXT,OUT:PLAINTEXT",
            "advertised.listeners": "IN://in.example:1,OUT://out.example:2",
        }
        with EmbeddedBroker(settings):
            for port, address in zip(ports, told, strict=True):
                with Connection("127.0.0.1", port) as connection:
                    for request in (MetadataRequest([]), DescribeClusterRequest()):
                        (broker,) = connection.request(request).brokers
                        self.assertEqual((broker.host, broker.port), address)
                    (found,) = connection.request(FindCoordinatorRequest(coordinator_keys=["g"])).coordinators
                    self.assertEqual((found.host, found.port), address)
