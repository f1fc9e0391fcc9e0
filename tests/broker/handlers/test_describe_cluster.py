"""DescribeCluster: the brokers."""

from __future__ import annotations

import attrs

from kafkatx.errors import ErrorCode
from kafkatx.types import BrokerNode
from kafkatx.wire.messages.describe_cluster import DescribeClusterRequest
from tests.broker.running import NODE, BrokerTestCase


class DescribeClusterTests(BrokerTestCase):
    def test_brokers(self) -> None:
        """The response has the cluster id, the controller and the brokers with their advertised addresses."""
        for version in range(3):
            response = self.ask(60, version, DescribeClusterRequest())
            state = self.broker.metadata.state
            self.assertEqual((response.error_code, response.cluster_id), (0, state.cluster_id))
            (broker,) = response.brokers
            self.assertEqual(
                (broker.broker_id, broker.host, broker.port, broker.rack),
                (NODE.id, NODE.host, NODE.port, NODE.rack),
            )
            self.assertEqual(response.controller_id, broker.broker_id)

    def test_controllers(self) -> None:
        """Controllers and other types of endpoints are refused."""
        for kind, code in (
            (2, ErrorCode.MISMATCHED_ENDPOINT_TYPE),
            (3, ErrorCode.UNSUPPORTED_ENDPOINT_TYPE),
        ):
            for version in (1, 2):
                response = self.ask(60, version, DescribeClusterRequest(endpoint_type=kind))
                self.assertEqual((response.error_code, response.endpoint_type), (code, kind))
                self.assertTrue(response.error_message)

    def test_fenced(self) -> None:
        """No live broker is fenced, even if fenced ones are requested."""
        response = self.ask(60, 2, DescribeClusterRequest(include_fenced_brokers=True))
        self.assertEqual([broker.is_fenced for broker in response.brokers], [False])

    def test_fenced_itself(self) -> None:
        """A broker that may lead nothing says so of itself, and of no other."""
        node = BrokerNode(NODE.id + 1, "other", 9092)
        state = self.broker.metadata.state
        brokers = {**state.brokers, node.id: node}
        self.patch(self.broker.metadata, "state", attrs.evolve(state, brokers=brokers, fenced=True))
        response = self.ask(60, 2, DescribeClusterRequest())
        self.assertEqual([(b.broker_id, b.is_fenced) for b in response.brokers], [(0, True), (1, False)])

    def test_operations(self) -> None:
        """The cluster's seven operations without an authorizer are returned on request."""
        for version in range(3):
            asked = self.ask(60, version, DescribeClusterRequest(True))
            self.assertEqual(asked.cluster_authorized_operations, 8096)  # as Apache Kafka 4.3.1 answers
            plain = self.ask(60, version, DescribeClusterRequest())
            self.assertEqual(plain.cluster_authorized_operations, -(2**31))
