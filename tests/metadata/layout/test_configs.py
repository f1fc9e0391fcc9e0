"""Tests of config nodes and the notifications of their changes."""

from __future__ import annotations

from random import Random

from twisted.trial.unittest import SynchronousTestCase

from kafkatx.metadata.layout import configs as c
from kafkatx.metadata.layout.entities import broker, quota, topic
from kafkatx.metadata.layout.fields import UnreadableNode

PATH = "/config/topics/T"


class ConfigTests(SynchronousTestCase):
    def test_kafka(self) -> None:
        """A config node of Apache Kafka 3.9 is read, and written again byte for byte."""
        data = b'{"version":1,"config":{"retention.ms":"5","cleanup.policy":"compact"}}'
        self.assertEqual(c.decode_configs(PATH, data), {"retention.ms": "5", "cleanup.policy": "compact"})
        self.assertEqual(c.encode_configs(c.decode_configs(PATH, data)), data)

    def test_empty(self) -> None:
        """A node without content or configs has none, as for Kafka."""
        for data in (b"", b'{"version":1,"config":{}}', b'{"version":1}'):
            self.assertEqual(c.decode_configs(PATH, data), {})

    def test_wrong(self) -> None:
        """A newer version and values that are not text are errors."""
        for data in (b'{"version":2,"config":{}}', b'{"version":1,"config":{"a":1}}', b'{"config":{}}', b"x"):
            self.assertRaises(UnreadableNode, c.decode_configs, PATH, data)

    def test_round_trip(self) -> None:
        """Random configs come back."""
        random = Random(9)
        alphabet = 'a"\\\n\té\N{GRINNING FACE}\x00'
        for _ in range(100):
            configs = {
                "".join(random.choices(alphabet, k=5)): "".join(
                    random.choices(alphabet, k=random.randint(0, 9))
                )
                for _ in range(random.randint(0, 5))
            }
            self.assertEqual(c.decode_configs(PATH, c.encode_configs(configs)), configs)


class QuotaTests(SynchronousTestCase):
    def test_read(self) -> None:
        """Quotas are numbers as texts; other configs of a user are none."""
        configs = {"producer_byte_rate": "1024", "request_percentage": "12.5", "SCRAM-SHA-256": "salt=x"}
        self.assertEqual(c.quotas(PATH, configs), {"producer_byte_rate": 1024.0, "request_percentage": 12.5})
        self.assertEqual(
            c.quotas(PATH, {"controller_mutation_rate": "1.0E7"}), {"controller_mutation_rate": 1e7}
        )

    def test_wrong(self) -> None:
        """A quota that is no number is an error."""
        for value in ("", "x", "NaN"):
            self.assertRaises(UnreadableNode, c.quotas, PATH, {"producer_byte_rate": value})

    def test_change(self) -> None:
        """Changes leave other configs alone; byte rates are whole numbers, as Apache Kafka reads them."""
        before = {"SCRAM-SHA-256": "salt=x", "consumer_byte_rate": "5"}
        after = c.with_quotas(
            before,
            {
                "producer_byte_rate": 1048576.0,
                "request_percentage": 50.0,
                "consumer_byte_rate": None,
                "x": None,
            },
        )
        self.assertEqual(
            after, {"SCRAM-SHA-256": "salt=x", "producer_byte_rate": "1048576", "request_percentage": "50.0"}
        )
        self.assertEqual(c.with_quotas({}, {"producer_byte_rate": 0.5}), {"producer_byte_rate": "0.5"})


class NotificationTests(SynchronousTestCase):
    path = "/config/changes/config_change_0000000001"

    def test_version_2(self) -> None:
        """A notification is written as Apache Kafka 3.9 does, and read."""
        data = b'{"version":2,"entity_path":"users/<default>/clients/C"}'
        entity = quota((("client-id", "C"), ("user", None)))
        self.assertEqual(c.encode_notification(entity), data)
        self.assertEqual(c.decode_notification(self.path, data), entity)
        data = b'{"version":2,"entity_path":"brokers/1"}'
        self.assertEqual(c.decode_notification(self.path, data), broker("1"))

    def test_version_1(self) -> None:
        """A notification of Kafka 0.9 is read."""
        data = b'{"version":1,"entity_type":"topics","entity_name":"T"}'
        self.assertEqual(c.decode_notification(self.path, data), topic("T"))

    def test_wrong(self) -> None:
        """A newer version and an entity that there is not are errors."""
        for data in (
            b'{"version":3,"entity_path":"topics/T"}',
            b'{"version":2,"entity_path":"topics"}',
            b'{"version":2}',
            b'{"version":1,"entity_type":"users","entity_name":"U"}',
            b"T",
        ):
            self.assertRaises(UnreadableNode, c.decode_notification, self.path, data)
