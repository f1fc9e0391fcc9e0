"""The rows of the client matrix that need no other toolchain: Python's clients and kcat, all features pass.

``make clients`` runs these and the others, each with a broker of its own, and writes ``docs/clients.md``.
"""

from __future__ import annotations

import atexit
from functools import lru_cache

from twisted.trial.unittest import SynchronousTestCase

from tests.clients.brokers import OurBroker
from tests.clients.features import FEATURES, PASS
from tests.clients.matrix import CLIENTS
from tests.clients.runner import try_features


@lru_cache(maxsize=1)
def matrix_broker() -> OurBroker:
    """A broker with the matrix's settings for all rows: one for each would take longest."""
    broker = OurBroker()
    broker.start()
    atexit.register(broker.close)
    return broker


class ClientMatrixTests(SynchronousTestCase):
    def check(self, name: str) -> None:
        """All that the client has passes; restarts are left to ``make clients``, for the broker is shared."""
        (client,) = [client for client in CLIENTS if client.name == name]
        asked = [feature for feature in FEATURES if feature != "restart"]
        outcome = try_features(client, matrix_broker(), asked)
        self.assertEqual(outcome.failed, {}, matrix_broker().output()[-10_000:])
        offered = {name for name, found in outcome.results.items() if found.result == PASS}
        self.assertEqual(offered, set(asked) - set(client.lacks))

    def test_ours(self) -> None:
        """Our own client."""
        self.check("kafkatx (Twisted client)")

    def test_ours_0_7(self) -> None:
        """The same, reading as in Kafka 0.7."""
        self.check("kafkatx (Twisted client), SimpleConsumer and ConsumerConnector")

    def test_confluent_kafka(self) -> None:
        """librdkafka of today, with classic groups."""
        self.check("confluent-kafka")

    def test_confluent_kafka_consumer_protocol(self) -> None:
        """librdkafka of today, with groups of KIP-848."""
        self.check("confluent-kafka, group.protocol=consumer")

    def test_kafka_python(self) -> None:
        """kafka-python, which asks for our versions."""
        self.check("kafka-python")

    def test_kafka_python_0_8_2(self) -> None:
        """kafka-python as it speaks to a broker of 0.8.2: commits, but no members."""
        self.check("kafka-python, api_version=(0, 8, 2)")

    def test_kafka_python_0_9(self) -> None:
        """kafka-python as it speaks to a broker of 0.9: the first groups."""
        self.check("kafka-python, api_version=(0, 9)")

    def test_kafka_python_0_10(self) -> None:
        """kafka-python as it speaks to a broker of 0.10: magic 1."""
        self.check("kafka-python, api_version=(0, 10)")

    def test_aiokafka(self) -> None:
        """aiokafka."""
        self.check("aiokafka")

    def test_kcat(self) -> None:
        """Debian's kcat."""
        self.check("kcat")

    def test_kcat_0_8_2_1(self) -> None:
        """kcat as it speaks to a broker of 0.8.2.1, without ApiVersions."""
        self.check("kcat, broker.version.fallback=0.8.2.1")

    def test_all_rows_are_here(self) -> None:
        """No row that is marked for these tests is forgotten: there is a test for each."""
        tests = [name for name in dir(self) if name.startswith("test_")]
        self.assertEqual(len(tests) - 1, sum(client.ci for client in CLIENTS))
