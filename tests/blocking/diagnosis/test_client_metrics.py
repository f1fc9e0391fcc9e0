"""Subscriptions to metrics of clients, and their values, from all brokers."""

from __future__ import annotations

from twisted.trial.unittest import SynchronousTestCase

from kafkatx.blocking.diagnosis.client_metrics import ClientMetrics
from kafkatx.blocking.diagnosis.own_requests import NotKafkatx
from kafkatx.errors import ErrorCode, RequestError
from kafkatx.wire.messages.describe_client_metrics import DescribeClientMetricsRequest
from kafkatx.wire.messages.list_config_resources import ListConfigResourcesRequest
from tests.blocking.fake_client_metrics import FakeClientMetrics, metric, pushed
from tests.blocking.fakes import LOSE_REPLY


class ClientMetricsTests(SynchronousTestCase):
    def setUp(self) -> None:
        """Two brokers, whose clients have pushed."""
        self.fake = FakeClientMetrics(brokers=2)
        self.fake.pushed = {1: [pushed("a", metric("x", 1))], 2: [pushed("b")]}
        self.metrics = ClientMetrics(self.fake.client(retries=3))

    def test_subscriptions(self) -> None:
        """A subscription is made, changed and deleted."""
        self.assertEqual(self.metrics.subscriptions(), [])
        self.metrics.alter("s", {"metrics": "*", "interval.ms": "1000"})
        self.metrics.alter("s", {"interval.ms": "2000"})
        self.metrics.alter("r", {"metrics": "a"})
        self.assertEqual(self.metrics.subscriptions(), ["r", "s"])
        values = {name: entry.value for name, entry in self.metrics.describe("s").items()}
        self.assertEqual(values, {"interval.ms": "2000", "match": "", "metrics": "*"})
        self.assertTrue(self.metrics.delete("s"))
        self.assertFalse(self.metrics.delete("s"))
        self.assertEqual(self.metrics.subscriptions(), ["r"])

    def test_refused(self) -> None:
        """An error of the broker is raised."""
        self.fake.faults[ListConfigResourcesRequest].append(ErrorCode.CLUSTER_AUTHORIZATION_FAILED)
        with self.assertRaises(RequestError) as caught:
            self.metrics.subscriptions()
        self.assertEqual(caught.exception.code, ErrorCode.CLUSTER_AUTHORIZATION_FAILED)

    def test_values(self) -> None:
        """Every broker is asked, also again when a connection is lost."""
        self.fake.faults[DescribeClientMetricsRequest].append(LOSE_REPLY)
        found = self.metrics.values(None, ["x"])
        self.assertEqual(
            [(one.broker, [client.client_id for client in one.clients]) for one in found],
            [(1, ["a"]), (2, ["b"])],
        )
        self.assertEqual(self.fake.sent(DescribeClientMetricsRequest)[0].metrics, ["x"])
        self.assertEqual([len(one.clients) for one in self.metrics.values("b", None)], [0, 1])

    def test_foreign(self) -> None:
        """A broker that closes the connection twice is told to be none of kafkatx."""
        self.fake.foreign = {2}
        with self.assertRaises(NotKafkatx) as caught:
            self.metrics.values(None, None)
        self.assertIn(
            "broker2:9092 has closed the connection on DescribeClientMetrics", str(caught.exception)
        )
