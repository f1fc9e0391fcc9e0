"""Tests of kafkatx.clientcore.tables.producer: defaults, old names and limits."""

from __future__ import annotations

from typing import Any

from twisted.trial.unittest import SynchronousTestCase

from kafkatx.clientcore.settings import ClientSettings
from kafkatx.clientcore.tables import producer
from kafkatx.errors import SettingError


class ProducerTests(SynchronousTestCase):
    def load(self, **values: Any) -> ClientSettings:
        """Return a producer's settings."""
        return ClientSettings.load("producer", values)

    def test_java_defaults(self) -> None:
        """Defaults are those of the Java producer 4.0, except for batch.size."""
        settings = self.load()
        found = [
            settings[row]
            for row in (
                producer.ACKS,
                producer.ENABLE_IDEMPOTENCE,
                producer.DELIVERY_TIMEOUT_MS,
                producer.RETRIES,
                producer.MAX_IN_FLIGHT,
                producer.MAX_BLOCK_MS,
                producer.LINGER_MS,
                producer.MAX_REQUEST_SIZE,
                producer.BUFFER_MEMORY,
                producer.COMPRESSION_TYPE,
            )
        ]
        expected = ["all", True, 120_000, 2**31 - 1, 5, 60_000, 5, 1_048_576, 33_554_432, "none"]
        self.assertEqual(found, expected)
        self.assertEqual(settings[producer.BATCH_SIZE], 131_072)

    def test_old_names(self) -> None:
        """Names of Kafka 0.7 and 0.8 are accepted for the same settings."""
        settings = self.load(queue_time=7, key_encoder="string", serializer_class="json")
        self.assertEqual(settings[producer.LINGER_MS], 7)
        self.assertEqual(settings.part(producer.KEY_SERIALIZER), "string")
        self.assertEqual(settings.part(producer.VALUE_SERIALIZER), "json")

    def test_choices(self) -> None:
        """Other values than the listed ones are refused."""
        for values in ({"acks": "2"}, {"compression_type": "brotli"}, {"producer_type": "x"}):
            self.assertRaises(SettingError, self.load, **values)

    def test_limits(self) -> None:
        """Values out of range are refused."""
        for values in (
            {"linger_ms": -1},
            {"max_in_flight_requests_per_connection": 0},
            {"audit_interval_ms": 86_400_001},
        ):
            self.assertRaises(SettingError, self.load, **values)

    def test_not_a_consumers(self) -> None:
        """A setting of the consumer is refused with its kind."""
        error = self.assertRaises(SettingError, self.load, group_id="g")
        self.assertIn("is a setting of the consumer", str(error))
