"""DescribeCluster: the brokers."""

from __future__ import annotations

from kafkatx.errors import ErrorCode
from kafkatx.wire.messages.describe_cluster import DescribeClusterRequest
from tests.broker.running import NODE, BrokerTestCase


class DescribeClusterTests(BrokerTestCase):
    def test_brokers(self) -> None:
        """The cluster's id, its controller and its brokers as they advertise themselves."""
        for version in range(2):
            response = self.ask(60, version, DescribeClusterRequest())
            state = self.broker.coordinator.state
            self.assertEqual((response.error_code, response.cluster_id), (0, state.cluster_id))
            (broker,) = response.brokers
            self.assertEqual(
                (broker.broker_id, broker.host, broker.port, broker.rack),
                (NODE.id, NODE.host, NODE.port, NODE.rack),
            )
            self.assertEqual(response.controller_id, broker.broker_id)

    def test_controllers(self) -> None:
        """There are no controllers beside the brokers to be described."""
        response = self.ask(60, 1, DescribeClusterRequest(endpoint_type=2))
        self.assertEqual((response.error_code, response.endpoint_type), (ErrorCode.INVALID_REQUEST, 2))
        self.assertTrue(response.error_message)
