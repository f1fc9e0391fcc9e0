"""The collector of what clients push: names, labels, limits."""

from __future__ import annotations

import uuid
from typing import ClassVar

from opentelemetry.proto.metrics.v1 import metrics_pb2 as m

from kafkatx.broker.metrics.application import OPEN_METRICS
from kafkatx.broker.metrics.collectors import clients
from kafkatx.broker.metrics.collectors.clients import metric_name
from kafkatx.errors import ErrorCode
from kafkatx.wire.messages.push_telemetry import PushTelemetryRequest
from tests.broker.metrics.scraped import ScrapeTestCase, series
from tests.broker.telemetry.pushes import gauge, metrics_data, total

A, B = uuid.UUID(int=1 << 64), uuid.UUID(int=2 << 64)
A_TEXT, B_TEXT = "AAAAAAAAAAEAAAAAAAAAAA", "AAAAAAAAAAIAAAAAAAAAAA"
LATENCY = "org.apache.kafka.producer.node.request.latency.avg"


class ClientCollectorTests(ScrapeTestCase):
    settings: ClassVar = {"kafkatx.metrics.max.clients": "1"}

    def setUp(self) -> None:
        """Subscribe to all metrics."""
        super().setUp()
        alter = self.broker.metadata.alter_client_metrics_configs
        self.successResultOf(alter("all", lambda old: {"metrics": "*", "interval.ms": "100"}))

    def push(self, *metrics: m.Metric, who: uuid.UUID = A) -> None:
        """Push metrics."""
        self.clock.advance(1)
        selection = self.broker.telemetry.instances.subscriptions.select(None)  # type: ignore[arg-type]
        request = PushTelemetryRequest(who, selection.subscription_id(who), False, 0, metrics_data(*metrics))
        self.assertEqual(ErrorCode(self.ask(72, 0, request).error_code), ErrorCode.NONE)

    def test_names(self) -> None:
        """Names and labels become those of Prometheus, of sums and gauges, in both formats."""
        self.push(
            gauge(LATENCY, 2.5, **{"node.id": "1"}), total("org.apache.kafka.producer.retries.total", 3)
        )
        self.push(
            gauge(LATENCY, 2.5, **{"node.id": "1"}), total("org.apache.kafka.producer.retries.total", 4)
        )
        for accept in ("", OPEN_METRICS):
            found = series(self.ask_for_metrics(accept))
            ids = {"client_id": "tests", "client_instance_id": A_TEXT}
            wanted = {"kafka_client_producer_node_request_latency_avg": 2.5}
            self.assertValues(found, wanted, node_id="1", **ids)
            self.assertValues(found, {"kafka_client_producer_retries_total": 7}, **ids)
            info = {"software_name": "unknown", "software_version": "unknown", "address": "127.0.0.1"}
            self.assertValues(found, {"kafkatx_client_info": 1}, principal="User:ANONYMOUS", **info, **ids)
            self.assertValues(found, {"kafkatx_client_pushes_total": 2, "kafkatx_client_values": 2})

    def test_limit_of_clients(self) -> None:
        """Clients above the limit have no series, and are counted."""
        for who in (B, A):
            self.push(gauge("x", 1), who=who)
        found = self.scrape()
        self.assertEqual(
            [dict(key)["client_instance_id"] for key in found["kafka_client_x"]], [min(A_TEXT, B_TEXT)]
        )
        self.assertValues(found, {"kafkatx_metrics_left_out": 1}, kind="clients")
        self.assertValues(found, {"kafkatx_client_instances": 2, "kafkatx_client_values": 2})

    def test_limit_of_names(self) -> None:
        """Names above the limit have no series, nor has what would become another one's."""
        self.patch(clients, "MOST_NAMES", 3)
        self.push(gauge("a.b", 1), gauge("a_b", 2), *(gauge(f"m{number}", 1) for number in range(9)))
        found = self.scrape()
        shown = sorted(name for name in found if name.startswith("kafka_client_"))
        self.assertEqual(shown, ["kafka_client_a_b", "kafka_client_m0", "kafka_client_m1"])
        self.assertEqual([*found["kafka_client_a_b"].values()], [1])

    def test_hostile_texts(self) -> None:
        """The page can be read with any names of metrics and labels."""
        self.push(
            gauge('x{y="z"}\n# EOF\n', 1, **{'a"b\n': 'c"d\\\n', "client_id": "other", "1": "2", "é": "3"}),
            gauge("x_total", 1),
            gauge("y", 1, **{"a.b": "1"}),
            gauge("y", 2, a_b="1"),
        )
        for accept in ("", OPEN_METRICS):
            found = series(self.ask_for_metrics(accept))
            names = {name for name in found if name.startswith("kafka_client_")}
            self.assertEqual(names, {"kafka_client_x_y_z_eof", "kafka_client_x_value", "kafka_client_y"})
            ((key, _),) = found["kafka_client_x_y_z_eof"].items()
            self.assertEqual(
                {name: value for name, value in key if name in ("a_b", "_1", "client_id")},
                {"a_b": 'c"d\\\n', "_1": "2", "client_id": "tests"},
            )

    def test_gone(self) -> None:
        """A client that is forgotten has no series any more."""
        self.push(gauge("x", 1))
        self.assertIn("kafka_client_x", self.scrape())
        self.clock.advance(100)
        self.assertNotIn("kafka_client_x", self.scrape())

    def test_none(self) -> None:
        """Without any client that asks there are no series, and nothing is made for them."""
        self.assertFalse([name for name in self.scrape() if "client" in name and "socket" not in name])
        self.assertNotIn("telemetry", vars(self.broker))


class NameTests(ScrapeTestCase):
    def test_metric_name(self) -> None:
        """The name of a sum ends with _total, that of a gauge never."""
        for name, is_sum, expected in (
            ("org.apache.kafka.producer.x.total", True, "kafka_client_producer_x_total"),
            ("org.apache.kafka.producer.x.total", False, "kafka_client_producer_x_value"),
            ("my-metric", True, "kafka_client_my_metric_total"),
            ("", False, "kafka_client_"),
        ):
            self.assertEqual(metric_name(name, is_sum), expected)
