"""Clients that find brokers in a real ZooKeeper, and follow them to other addresses."""

from __future__ import annotations

import asyncio
import uuid

from kazoo.client import KazooClient
from twisted.trial.unittest import SynchronousTestCase

from kafkatx.client import aio
from kafkatx.client.threads import Consumer, Producer
from kafkatx.clientcore.errors import ConnectionFailed
from kafkatx.scratch import Scratch
from kafkatx.testing import EmbeddedBroker
from kafkatx.types import TopicPartition
from tests.integration.zookeeper import shared_server

WAIT_S = 30.0


class DiscoveryTests(SynchronousTestCase):
    """Clients without bootstrap.servers."""

    def setUp(self) -> None:
        """Prepare a broker's directory, and a path in ZooKeeper."""
        scratch = Scratch()
        self.addCleanup(scratch.close)
        self.data_dir = scratch.path
        self.connect = f"127.0.0.1:{shared_server().port}/discovery-{uuid.uuid4().hex[:8]}"

    def broker(self) -> EmbeddedBroker:
        """Start broker 1, at any port."""
        settings = {"zookeeper.connect": self.connect, "broker.id": "1"}
        broker = EmbeddedBroker(settings, data_dir=self.data_dir)
        self.addCleanup(broker.close)
        return broker.start()

    def test_there_and_back(self) -> None:
        """Clients of threads and of asyncio go on after the only broker has moved to another port."""
        first = self.broker()
        with (
            Producer({"zk.connect": self.connect}, timeout_s=WAIT_S) as producer,
            Consumer({"zookeeper.connect": self.connect}, timeout_s=WAIT_S) as consumer,
        ):
            producer.send("t", b"one").result(WAIT_S)
            consumer.assign([TopicPartition("t", 0)])
            consumer.seek_to_beginning()
            self.assertEqual(next(iter(consumer)).value, b"one")
            first.stop()
            second = self.broker()
            self.assertNotEqual(second.bootstrap, first.bootstrap)
            producer.send("t", b"two").result(WAIT_S)
            self.assertEqual(next(iter(consumer)).value, b"two")

        async def send() -> int:
            async with aio.Producer({"zookeeper.connect": self.connect}) as other:
                return (await other.send("t", b"three")).offset

        self.assertEqual(asyncio.run(send()), 2)

    def test_no_cluster(self) -> None:
        """A path without a cluster is told to the caller, and it is not made."""
        self.broker().close()
        for path in ("", "/none"):
            with (
                self.assertRaises(ConnectionFailed) as caught,
                Producer(zookeeper_connect=self.connect + path),
            ):
                self.fail("there is no broker")
            self.assertIn("no broker is registered in /brokers/ids", str(caught.exception))
        tool = KazooClient(f"127.0.0.1:{shared_server().port}")
        tool.start()
        self.addCleanup(tool.stop)
        chroot = self.connect[self.connect.index("/") :]
        self.assertEqual([tool.exists(chroot + path) is None for path in ("", "/none")], [False, True])
