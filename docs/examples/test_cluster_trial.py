"""A cluster in a test of Twisted's trial: the reactor goes on while brokers are cut off and restarted."""

from twisted.trial.unittest import TestCase

from kafkatx.testing import EmbeddedCluster


class FailoverTests(TestCase):
    """A topic with three copies, whose leader goes away."""

    async def test_next_leader(self) -> None:
        """Messages that were acknowledged before a leader is cut off, and afterwards, are there."""
        async with EmbeddedCluster(3) as cluster:
            orders = await cluster.topic("orders", replication=3, configs={"min.insync.replicas": 2})
            await cluster.move_leader(orders, 0, to=2)
            await cluster.produce(orders, b"41")
            await cluster.brokers[2].cut()
            await cluster.produce(orders, b"42")
            await cluster.brokers[2].heal()
            await cluster.restart_broker(3)
            found = await cluster.messages(orders, count=2)
            self.assertEqual([message.value for message in found], [b"41", b"42"])
