"""The blocking reader with a rack, against brokers in racks."""

from __future__ import annotations

from twisted.trial.unittest import SynchronousTestCase

from kafkatx.blocking import Cluster, Reader
from kafkatx.testing import EmbeddedCluster

COUNT = 20


class RackTests(SynchronousTestCase):
    def values(self, cluster: EmbeddedCluster, topic: str) -> list[bytes | None]:
        """Read the topic as a client in the rack of broker 2."""
        with (
            Cluster(cluster.brokers[1].bootstrap) as client,
            Reader(client, topic, 0, start_offset=0, end_offset=COUNT, rack="r2") as reader,
        ):
            return [record.value for record in reader]

    def test_follower_and_leader(self) -> None:
        """The copy in the reader's rack serves all records; if it refuses, the leader does."""
        cluster = EmbeddedCluster(2, {"replica.selector.class": "RackAwareReplicaSelector"})
        for broker_id, broker in cluster.brokers.items():
            broker.settings["broker.rack"] = f"r{broker_id}"
        with cluster:
            topic = cluster.topic("t", replication=2)
            cluster.move_leader(topic, 0, to=1)
            sent = [b"%d" % number for number in range(COUNT)]
            cluster.produce(topic, *sent)
            served = cluster.brokers[2].faults.delay("Fetch", 0.0, topic=topic, times=None)
            self.assertEqual(self.values(cluster, topic), sent)
            self.assertGreater(served.hits, 0)
            cluster.brokers[2].faults.clear()
            refused = cluster.brokers[2].faults.answer("Fetch", "NOT_LEADER_OR_FOLLOWER", topic=topic)
            self.assertEqual(self.values(cluster, topic), sent)
            self.assertEqual(refused.hits, 1)
