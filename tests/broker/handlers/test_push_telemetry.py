"""GetTelemetrySubscriptions and PushTelemetry through the dispatch, with subscriptions as configs."""

from __future__ import annotations

import uuid
from collections.abc import Mapping
from typing import Any, ClassVar

from kafkatx.errors import ErrorCode
from kafkatx.records.compression import Codec, compress
from kafkatx.wire.messages.get_telemetry_subscriptions import GetTelemetrySubscriptionsRequest
from kafkatx.wire.messages.push_telemetry import PushTelemetryRequest
from kafkatx.wire.schema import NULL_UUID
from tests.broker.running import BrokerTestCase
from tests.broker.telemetry.pushes import gauge, metrics_data

ALL = {"metrics": "*", "interval.ms": "1000"}
PUSH = metrics_data(gauge("a", 1.5))


class TelemetryTestCase(BrokerTestCase):
    def subscribe(self, configs: Mapping[str, str] = ALL, name: str = "all") -> None:
        """Set a subscription; empty configs remove it."""
        self.successResultOf(
            self.broker.metadata.alter_client_metrics_configs(name, lambda old: dict(configs))
        )

    def get(self, instance_id: uuid.UUID = NULL_UUID) -> Any:
        """Ask for the subscription."""
        return self.ask(71, 0, GetTelemetrySubscriptionsRequest(instance_id))

    def push(self, got: Any, metrics: bytes = PUSH, codec: int = 0, terminating: bool = False) -> ErrorCode:
        """Push, as a client that has got its subscription; return the error."""
        request = PushTelemetryRequest(
            got.client_instance_id, got.subscription_id, terminating, codec, metrics
        )
        return ErrorCode(self.ask(72, 0, request).error_code)

    def values(self) -> dict[str, float]:
        """Return the recent values of the only client by name."""
        (one,) = self.broker.telemetry.recent()
        return {name: value.value for (name, _), value in one.values.items()}


class GetTests(TelemetryTestCase):
    def test_nothing(self) -> None:
        """Without subscriptions a client gets an id and is asked for nothing; nothing is kept about it."""
        for _ in range(3):
            got = self.get()
            self.assertEqual((got.error_code, got.requested_metrics, got.push_interval_ms), (0, [], 300_000))
            self.assertNotEqual(got.client_instance_id, NULL_UUID)
            again = self.get(got.client_instance_id)
            self.assertEqual(
                (again.error_code, again.client_instance_id, again.subscription_id),
                (0, got.client_instance_id, got.subscription_id),
            )
        self.assertEqual(len(self.broker.telemetry.instances), 0)

    def test_subscription(self) -> None:
        """A client gets prefixes, interval, codecs, the largest push, and that deltas are wanted."""
        self.subscribe({"metrics": "org.b,org.a", "interval.ms": "7000"})
        got = self.get()
        self.assertEqual(
            (got.error_code, got.requested_metrics, got.push_interval_ms, got.telemetry_max_bytes),
            (0, ["org.a", "org.b"], 7000, 1_048_576),
        )
        self.assertEqual((got.accepted_compression_types, got.delta_temporality), ([4, 3, 1, 2], True))
        self.assertNotEqual(got.client_instance_id, self.get().client_instance_id)

    def test_match(self) -> None:
        """Client id, software, address and port are those of the connection."""
        self.peer.client_software = "librdkafka 2.16.1"
        match = (
            "client_id=tests,client_software_name=librdkafka,client_software_version=2\\..*,"
            "client_source_address=127\\.0\\.0\\.1,client_source_port=40000"
        )
        self.subscribe({**ALL, "match": match})
        self.assertEqual(self.get().requested_metrics, ["*"])
        self.peer.client_software = "apache-kafka-java 4.3.1"
        self.assertEqual(self.get().requested_metrics, [])

    def test_too_early(self) -> None:
        """A client that asks again is told to wait; another subscription is told at once."""
        self.subscribe()
        got = self.get()
        again = self.get(got.client_instance_id)
        self.assertEqual(again.error_code, ErrorCode.THROTTLING_QUOTA_EXCEEDED)
        self.subscribe({**ALL, "metrics": "b"})
        self.assertEqual(self.get(got.client_instance_id).requested_metrics, ["b"])


class PushTests(TelemetryTestCase):
    def setUp(self) -> None:
        """Subscribe to all metrics."""
        super().setUp()
        self.subscribe()

    def test_codecs(self) -> None:
        """A push in each codec is read."""
        got = self.get()
        for codec in Codec:
            self.clock.advance(1)
            self.assertEqual(self.push(got, compress(codec, PUSH), codec), ErrorCode.NONE)
            self.assertEqual(self.values(), {"a": 1.5})
        self.assertEqual(self.broker.telemetry.pushes, 5)

    def test_empty(self) -> None:
        """An empty push is taken, and is no value."""
        self.assertEqual(self.push(self.get(), b""), ErrorCode.NONE)
        self.assertEqual([*self.broker.telemetry.recent()], [])

    def test_unreadable(self) -> None:
        """A push that cannot be inflated or read is INVALID_RECORD."""
        got = self.get()
        for codec, metrics in ((4, b"garbage"), (0, b"\x0b"), (1, PUSH)):
            self.assertEqual(self.push(got, metrics, codec), ErrorCode.INVALID_RECORD)
            self.clock.advance(1)
        self.assertEqual((self.broker.telemetry.pushes, self.broker.telemetry.refused), (0, 3))

    def test_unknown_codec(self) -> None:
        """An unknown codec is refused."""
        for codec in (5, -1, 127):
            self.assertEqual(self.push(self.get(), PUSH, codec), ErrorCode.UNSUPPORTED_COMPRESSION_TYPE)

    def test_without_id(self) -> None:
        """A push without the id of an instance is refused."""
        got = self.get()
        for number in (0, 1):
            got.client_instance_id = uuid.UUID(int=number)
            self.assertEqual(self.push(got), ErrorCode.INVALID_REQUEST)

    def test_terminating(self) -> None:
        """The last push comes at any time, and only once."""
        got = self.get()
        self.assertEqual(self.push(got), ErrorCode.NONE)
        self.assertEqual(self.push(got), ErrorCode.THROTTLING_QUOTA_EXCEEDED)
        self.assertEqual(self.push(got, terminating=True), ErrorCode.NONE)
        self.assertEqual(self.push(got, terminating=True), ErrorCode.INVALID_REQUEST)


class SizeTests(TelemetryTestCase):
    settings: ClassVar = {"telemetry.max.bytes": "1000"}

    def test_too_large(self) -> None:
        """A push above telemetry.max.bytes is refused, also if it is so only when it is inflated."""
        self.subscribe()
        got = self.get()
        self.assertEqual(got.telemetry_max_bytes, 1000)
        large = metrics_data(gauge("a" * 2000, 1))
        self.assertEqual(self.push(got, large), ErrorCode.TELEMETRY_TOO_LARGE)
        for codec in (Codec.ZSTD, Codec.GZIP, Codec.LZ4, Codec.SNAPPY):
            self.clock.advance(1)
            small = compress(codec, large)
            self.assertLess(len(small), 1000)
            self.assertEqual(self.push(got, small, codec), ErrorCode.TELEMETRY_TOO_LARGE)
