"""DescribeClientMetrics: filters and bounds."""

from __future__ import annotations

from typing import Any

from kafkatx.broker.handlers import describe_client_metrics
from kafkatx.wire.messages.describe_client_metrics import DescribeClientMetricsRequest
from tests.broker.handlers.test_push_telemetry import TelemetryTestCase
from tests.broker.telemetry.pushes import gauge, metrics_data, total


class DescribeClientMetricsTests(TelemetryTestCase):
    def setUp(self) -> None:
        """Push as two clients."""
        super().setUp()
        self.subscribe()
        for value in (1, 2):
            self.push(self.get(), metrics_data(gauge("a.x", value, node="1"), total("b", 5), group_id="g"))

    def describe(self, *arguments: Any) -> Any:
        """Describe."""
        return self.ask(10101, 0, DescribeClientMetricsRequest(*arguments))

    def test_all(self) -> None:
        """A client is described with all of its values."""
        self.clock.advance(2)
        response = self.describe()
        self.assertEqual((response.error_code, response.truncated, len(response.clients)), (0, False, 2))
        one = response.clients[0]
        self.assertEqual(
            (one.client_id, one.address, one.principal), ("tests", "127.0.0.1:40000", "User:ANONYMOUS")
        )
        self.assertEqual((one.push_interval_ms, one.age_ms, one.dropped), (1000, 2000, 0))
        self.assertEqual([(label.name, label.value) for label in one.labels], [("group_id", "g")])
        self.assertEqual(
            [(v.name, v.is_sum, len(v.labels)) for v in one.metrics], [("a.x", False, 1), ("b", True, 0)]
        )

    def test_filters(self) -> None:
        """Clients and metrics are chosen by id and prefix."""
        self.assertEqual(self.describe("other").clients, [])
        response = self.describe("tests", ["b", "c"])
        self.assertEqual([[v.name for v in one.metrics] for one in response.clients], [["b"], ["b"]])

    def test_bounds(self) -> None:
        """Values above the limit of the request, and clients above that of the broker, are left out."""
        response = self.describe(None, None, 3)
        self.assertEqual((response.truncated, [len(one.metrics) for one in response.clients]), (True, [2, 1]))
        self.assertFalse(self.describe(None, None, 4).truncated)
        self.assertTrue(self.describe(None, None, -1).truncated)
        self.patch(describe_client_metrics, "MOST_CLIENTS", 1)
        response = self.describe()
        self.assertEqual((response.truncated, len(response.clients)), (True, 1))
