"""Three brokers in processes with two log dirs each: one dir of one broker goes away while clients write."""

from __future__ import annotations

import os

from twisted.trial.unittest import SynchronousTestCase

from kafkatx.blocking import Cluster, Writer
from kafkatx.clientcore.metadata import PartitionMetadata
from kafkatx.testing import EmbeddedCluster
from tests.until import until

BROKERS = 3
PARTITIONS = 6
SETTINGS = {
    "min.insync.replicas": 2,
    "zookeeper.session.timeout.ms": 3000,
    "log.flush.offset.checkpoint.interval.ms": 200,
}


class FailedLogDirTests(SynchronousTestCase):
    """A topic with three replicas, on all brokers in both log dirs."""

    def setUp(self) -> None:
        """Start the cluster, and make the topic."""
        self.cluster = EmbeddedCluster(BROKERS, SETTINGS, run_in="process")
        self.addCleanup(self.cluster.close)
        self.dirs = {
            broker_id: [os.path.join(self.cluster.data_dir, f"{broker_id}-{name}") for name in "ab"]
            for broker_id in self.cluster.brokers
        }
        for broker_id, broker in self.cluster.brokers.items():
            broker.settings["log.dirs"] = ",".join(self.dirs[broker_id])
        self.cluster.start()
        self.topic = self.cluster.topic("copies", partitions=PARTITIONS, replication=BROKERS)

    def partitions(self) -> dict[int, PartitionMetadata]:
        """Return the partitions as the brokers know them."""
        with Cluster(self.cluster.bootstrap) as cluster:
            return dict(cluster.metadata([self.topic]).topics[self.topic].partitions)

    def in_dir(self, path: str) -> set[int]:
        """Return the partitions that have a log in a dir."""
        return {number for number in range(PARTITIONS) if os.path.exists(f"{path}/{self.topic}-{number}")}

    def test_leaders_move(self) -> None:
        """Others lead what was in the dir, nothing acknowledged is lost, and the other dir goes on."""
        until(lambda: all(len(one.isr) == BROKERS for one in self.partitions().values()), "all are in sync")
        victim = self.partitions()[0].leader
        first, second = self.dirs[victim]
        failing = first if 0 in self.in_dir(first) else second
        gone = self.in_dir(failing)
        kept = set(range(PARTITIONS)) - gone
        self.assertTrue(gone and kept)
        values = [b"%d" % number for number in range(3000)]
        with Cluster(self.cluster.bootstrap) as cluster, Writer(cluster, self.topic) as writer:
            for number, value in enumerate(values):
                writer.send(value, partition=number % PARTITIONS)
                if number == 1000:
                    writer.flush()
                    os.rename(failing, f"{failing}-gone")
                if number > 1000 and number % 100 == 0:
                    writer.flush()
            until(
                lambda: all(victim not in self.partitions()[number].isr for number in gone),
                "the broker is out of sync where its log dir has failed",
            )
        partitions = self.partitions()
        self.assertTrue(all(partitions[number].leader not in (victim, -1) for number in gone))
        self.assertTrue(all(victim in partitions[number].isr for number in kept))
        self.assertTrue(self.cluster.brokers[victim].running)
        found = sorted(int(message.value or b"") for message in self.cluster.messages(self.topic))
        self.assertEqual(found, list(range(3000)))
