"""Tests of kafkatx.clientcore.producer.config."""

from __future__ import annotations

from typing import Any

from twisted.trial.unittest import SynchronousTestCase

from kafkatx.clientcore.producer.accumulator import AccumulatorLimits
from kafkatx.clientcore.producer.config import acks_of, is_idempotent, limits_of
from kafkatx.clientcore.settings import ClientSettings
from kafkatx.clientcore.tables import producer
from kafkatx.errors import SettingError
from kafkatx.records.header import HEADER_BYTES


def settings(**values: Any) -> ClientSettings:
    """Return a producer's settings."""
    return ClientSettings.load("producer", values)


class ProducingTests(SynchronousTestCase):
    def test_defaults(self) -> None:
        """A producer is idempotent by default, with five batches in flight and these limits."""
        self.assertEqual((acks_of(settings()), is_idempotent(settings())), (-1, True))
        self.assertEqual(
            limits_of(settings()),
            AccumulatorLimits(
                131072 - HEADER_BYTES, 1048576 - HEADER_BYTES, 0.005, 33554432, 120.0, 5, 2**31 - 1
            ),
        )

    def test_acks(self) -> None:
        """Acks are text or number; a value other than all disables idempotence."""
        for given, meant in (("all", -1), ("-1", -1), (1, 1), ("0", 0)):
            self.assertEqual(acks_of(settings(acks=given)), meant)
            self.assertEqual(is_idempotent(settings(acks=given)), meant == -1)

    def test_idempotence_in_the_way(self) -> None:
        """Settings that exclude idempotence disable it, or are errors if it was requested."""
        for name, value in (
            ("acks", 1),
            ("max_in_flight_requests_per_connection", 6),
            ("retries", 0),
        ):
            self.assertFalse(is_idempotent(settings(**{name: value})))
            error = self.assertRaises(
                SettingError, is_idempotent, settings(enable_idempotence=True, **{name: value})
            )
            self.assertIn(name.replace("_", ".").split(".")[0], str(error))
        self.assertFalse(is_idempotent(settings(enable_idempotence=False)))

    def test_in_flight(self) -> None:
        """One batch per partition is in flight without idempotence; with acks=0 as many as requested."""
        self.assertEqual(limits_of(settings(acks=1)).in_flight, 1)
        self.assertEqual(limits_of(settings(acks=0)).in_flight, 5)
        self.assertEqual(limits_of(settings(max_in_flight_requests_per_connection=2)).in_flight, 2)

    def test_old_names(self) -> None:
        """Names of Kafka 0.7 are accepted: queue.time, producer.type, serializer.class, and encoders' own."""
        self.assertEqual(limits_of(settings(queue_time=250)).linger_s, 0.25)
        self.assertEqual(limits_of(settings(queue_time=250, producer_type="sync")).linger_s, 0.0)
        self.assertEqual(limits_of(settings(**{"producer.type": "async"})).linger_s, 0.005)
        for name in ("serializer.class", "value.encoder", "value.serializer"):
            self.assertEqual(settings(**{name: "json"})[producer.VALUE_SERIALIZER], "json")
        self.assertEqual(settings(key_encoder="string")[producer.KEY_SERIALIZER], "string")

    def test_delivery_time(self) -> None:
        """A delivery time-out below one attempt is an error if it is set, and is raised otherwise."""
        self.assertRaises(SettingError, limits_of, settings(delivery_timeout_ms=1000))
        limits_of(settings(delivery_timeout_ms=1000, request_timeout_ms=900, linger_ms=100))
        self.assertEqual(limits_of(settings(request_timeout_ms=200_000, linger_ms=0)).delivery_s, 200.0)
