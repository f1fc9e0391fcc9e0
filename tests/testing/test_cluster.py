"""The embedded cluster: brokers in threads that share a state."""

from __future__ import annotations

import asyncio
import os

from twisted.trial.unittest import SynchronousTestCase

from kafkatx.blocking import Cluster
from kafkatx.errors import KafkaTXError
from kafkatx.testing import AsyncCluster, EmbeddedCluster
from tests.until import until


class EmbeddedClusterTests(SynchronousTestCase):
    def leaders(self, cluster: EmbeddedCluster, topic: str) -> list[int]:
        """Return the leader of each partition of a topic."""
        with Cluster(cluster.bootstrap) as client:
            return [p.leader for p in client.metadata([topic]).topics[topic].partitions.values()]

    def test_serves(self) -> None:
        """Three brokers share topics and messages; afterwards nothing is left of them."""
        with EmbeddedCluster(3) as cluster:
            self.assertEqual(list(cluster.brokers), [1, 2, 3])
            topic = cluster.topic("t", partitions=3)
            self.assertEqual(sorted(self.leaders(cluster, topic)), [1, 2, 3])
            for number in range(3):
                cluster.produce(topic, b"%d" % number, partition=number)
            self.assertEqual([m.value for m in cluster.messages(topic, 3)], [b"0", b"1", b"2"])
            self.assertEqual(len(set(cluster.bootstrap.split(","))), 3)
        self.assertFalse(os.path.exists(cluster.data_dir))

    def test_broker_restarts(self) -> None:
        """A broker can be stopped and started again; its partitions have no leader meanwhile."""
        with EmbeddedCluster(2) as cluster:
            topic = cluster.topic("t", partitions=2)
            mine = self.leaders(cluster, topic).index(2)
            cluster.produce(topic, b"kept", partition=mine)
            before = cluster.brokers[2].bootstrap
            cluster.brokers[2].stop()
            until(lambda: self.leaders(cluster, topic)[mine] == -1, "the partition has no leader")
            cluster.start_broker(2)
            self.assertEqual(cluster.brokers[2].bootstrap, before)
            self.assertEqual([message.value for message in cluster.messages(topic, 1)], [b"kept"])

    def test_settings(self) -> None:
        """Settings are those of all brokers, and the pid of each is its own."""
        with EmbeddedCluster(2, {"num.partitions": 5}, run_in="process") as cluster:
            for broker in cluster.brokers.values():
                self.assertEqual(broker.settings["num.partitions"], "5")
            self.assertEqual(len({broker.pid for broker in cluster.brokers.values()}), 2)
            cluster.brokers[1].kill()
            self.assertFalse(cluster.brokers[1].running)
            topic = cluster.topic("t", partitions=1)
            self.assertEqual(self.leaders(cluster, topic), [2])

    def test_stop(self) -> None:
        """A broker that cannot be stopped does not keep the others from it."""
        cluster = EmbeddedCluster(2).start()
        self.addCleanup(cluster.close)
        stop = cluster.brokers[2].stop
        self.addCleanup(stop)

        def fail() -> None:
            raise RuntimeError("it hangs")

        self.patch(cluster.brokers[2], "stop", fail)
        self.assertRaises(RuntimeError, cluster.stop)
        self.assertFalse(cluster.brokers[1].running)
        self.patch(cluster.brokers[2], "stop", stop)

    def test_data_dir(self) -> None:
        """A cluster on the directory of an earlier one has its topics and messages."""
        folder = self.mktemp()
        with EmbeddedCluster(2, data_dir=folder) as cluster:
            topic = cluster.topic("t", partitions=2)
            cluster.produce(topic, b"0", partition=0)
            cluster.produce(topic, b"1", partition=1)
        with EmbeddedCluster(2, data_dir=folder) as again:
            self.assertEqual([message.value for message in again.messages(topic, 2)], [b"0", b"1"])


class ClusterFaultsTests(SynchronousTestCase):
    def test_cut(self) -> None:
        """A broker that is cut off loses its session and answers nothing; healed, it registers again."""
        with EmbeddedCluster(2) as cluster:
            cluster.brokers[2].cut()
            until(lambda: registered(cluster) == {1}, "broker 2 is gone")
            with Cluster(cluster.brokers[2].bootstrap, timeout_s=0.2, retries=0) as client:
                self.assertRaises(KafkaTXError, client.metadata, [])
            cluster.brokers[2].heal()
            until(lambda: registered(cluster) == {1, 2}, "broker 2 is back")
            with Cluster(cluster.brokers[2].bootstrap) as client:
                self.assertEqual(set(client.metadata([]).brokers), {1, 2})

    def test_expired(self) -> None:
        """A broker whose session has ended registers again, and leads its partitions in a later epoch."""
        with EmbeddedCluster(2) as cluster:
            topic = cluster.topic("t", partitions=2)
            cluster.produce(topic, b"a", partition=0)
            cluster.produce(topic, b"b", partition=1)
            epochs = sum(leader_epochs(cluster, topic))
            cluster.expire_session(2)
            until(lambda: sum(leader_epochs(cluster, topic)) > epochs, "a later leader epoch")
            self.assertEqual({message.value for message in cluster.messages(topic, 2)}, {b"a", b"b"})

    def test_frozen_process(self) -> None:
        """A process that is frozen loses its session; thawed it is back, and killed it can be restarted."""
        with EmbeddedCluster(2, run_in="process") as cluster:
            cluster.brokers[2].freeze()
            until(lambda: registered(cluster) == {1}, "broker 2 is gone")
            cluster.brokers[2].thaw()
            until(lambda: registered(cluster) == {1, 2}, "broker 2 is back")
            cluster.brokers[2].kill()
            self.assertFalse(cluster.brokers[2].running)
            cluster.restart_broker(2)
            until(lambda: registered(cluster) == {1, 2}, "broker 2 is back again")


class AsyncClusterTests(SynchronousTestCase):
    def test_async(self) -> None:
        """A coroutine awaits what a blocking test calls, and its loop goes on meanwhile."""

        async def main() -> AsyncCluster:
            async with EmbeddedCluster(2) as cluster:
                turns = 0

                async def count() -> None:
                    nonlocal turns
                    while True:
                        await asyncio.sleep(0)
                        turns += 1

                counting = asyncio.create_task(count())
                topic = await cluster.topic("t", replication=2)
                await cluster.produce(topic, "a")
                await cluster.move_leader(topic, 0, to=2)
                broker = await cluster.restart_broker(1)
                self.assertTrue(broker.running)
                await cluster.brokers[1].freeze()
                await cluster.brokers[1].thaw()
                await cluster.brokers[1].cut()
                await cluster.brokers[1].heal()
                await cluster.expire_session(2)
                found = await cluster.messages(topic, 1)
                self.assertEqual([message.value for message in found], [b"a"])
                counting.cancel()
                self.assertGreater(turns, 0)
                return cluster

        cluster = asyncio.run(main())
        self.assertFalse(os.path.exists(cluster.data_dir))
        self.assertFalse(any(broker.running for broker in cluster.brokers.values()))


def registered(cluster: EmbeddedCluster) -> set[int]:
    """Return the brokers that broker 1 knows."""
    with Cluster(cluster.brokers[1].bootstrap) as client:
        return set(client.metadata([]).brokers)


def leader_epochs(cluster: EmbeddedCluster, topic: str) -> list[int]:
    """Return the leader epochs that broker 1 knows; none while a partition has no leader."""
    with Cluster(cluster.brokers[1].bootstrap) as client:
        partitions = client.metadata([topic]).topics[topic].partitions.values()
    return [one.leader_epoch for one in partitions] if all(one.leader >= 0 for one in partitions) else []
