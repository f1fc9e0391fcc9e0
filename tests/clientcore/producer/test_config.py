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
    """A producer's settings."""
    return ClientSettings.load("producer", values)


class ProducingTests(SynchronousTestCase):
    def test_defaults(self) -> None:
        """By default a producer is idempotent, with five batches under way and these limits."""
        self.assertEqual((acks_of(settings()), is_idempotent(settings())), (-1, True))
        self.assertEqual(
            limits_of(settings()),
            AccumulatorLimits(
                131072 - HEADER_BYTES, 1048576 - HEADER_BYTES, 0.005, 33554432, 120.0, 5, 2**31 - 1
            ),
        )

    def test_acks(self) -> None:
        """Acks are taken as text or number; without all there is no idempotence."""
        for given, meant in (("all", -1), ("-1", -1), (1, 1), ("0", 0)):
            self.assertEqual(acks_of(settings(acks=given)), meant)
            self.assertEqual(is_idempotent(settings(acks=given)), meant == -1)

    def test_idempotence_in_the_way(self) -> None:
        """What idempotence cannot be had with turns it off, or is an error where it was asked for."""
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
        """Without idempotence one batch of a partition is under way; with acks=0 as many as are asked for."""
        self.assertEqual(limits_of(settings(acks=1)).in_flight, 1)
        self.assertEqual(limits_of(settings(acks=0)).in_flight, 5)
        self.assertEqual(limits_of(settings(max_in_flight_requests_per_connection=2)).in_flight, 2)

    def test_old_names(self) -> None:
        """Kafka 0.7's names are taken: queue.time, producer.type, serializer.class; and the encoders' own."""
        self.assertEqual(limits_of(settings(queue_time=250)).linger_s, 0.25)
        self.assertEqual(limits_of(settings(queue_time=250, producer_type="sync")).linger_s, 0.0)
        self.assertEqual(limits_of(settings(**{"producer.type": "async"})).linger_s, 0.005)
        for name in ("serializer.class", "value.encoder", "value.serializer"):
            self.assertEqual(settings(**{name: "json"})[producer.VALUE_SERIALIZER], "json")
        self.assertEqual(settings(key_encoder="string")[producer.KEY_SERIALIZER], "string")

    def test_delivery_time(self) -> None:
        """A delivery time below one attempt is an error where it is set, else it is made long enough."""
        self.assertRaises(SettingError, limits_of, settings(delivery_timeout_ms=1000))
        limits_of(settings(delivery_timeout_ms=1000, request_timeout_ms=900, linger_ms=100))
        self.assertEqual(limits_of(settings(request_timeout_ms=200_000, linger_ms=0)).delivery_s, 200.0)
