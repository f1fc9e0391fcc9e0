"""A broker for all tests of a class of the standard library's unittest."""

import unittest

from kafka import KafkaProducer

from kafkatx.testing import EmbeddedBroker


class ProducerTests(unittest.TestCase):
    """A producer against a real broker."""

    broker: EmbeddedBroker

    @classmethod
    def setUpClass(cls) -> None:
        """Start the broker."""
        cls.broker = EmbeddedBroker().start()
        cls.addClassCleanup(cls.broker.close)

    def test_delivery(self) -> None:
        """The broker has what the producer sends."""
        orders = self.broker.topic("orders")
        with KafkaProducer(bootstrap_servers=self.broker.bootstrap) as producer:
            producer.send(orders, b"42")
        self.assertEqual([message.value for message in self.broker.messages(orders, count=1)], [b"42"])


if __name__ == "__main__":
    unittest.main()
