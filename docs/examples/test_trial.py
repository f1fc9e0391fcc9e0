"""A broker in a test of Twisted's trial: started and stopped off the reactor's thread."""

from twisted.trial.unittest import TestCase

from kafkatx.client import Producer
from kafkatx.testing import EmbeddedBroker


class ProducerTests(TestCase):
    """A producer against a real broker."""

    async def test_delivery(self) -> None:
        """The broker has what the producer sends."""
        async with EmbeddedBroker({"kafkatx.storage": "memory"}) as broker:
            orders = await broker.topic("orders")
            producer = Producer(bootstrap_servers=broker.bootstrap)
            await producer.start()
            await producer.send(orders, b"42")
            await producer.close()
            self.assertEqual([message.value for message in await broker.messages(orders)], [b"42"])
