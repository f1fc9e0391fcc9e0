"""Three brokers in processes that copy a topic: kills, a follower that was away, and equal files."""

from __future__ import annotations

import os

from twisted.trial.unittest import SynchronousTestCase

from kafkatx.blocking import Cluster
from kafkatx.clientcore.metadata import PartitionMetadata
from kafkatx.records.builder import build_values
from kafkatx.testing import EmbeddedBroker, EmbeddedCluster
from kafkatx.wire.messages import produce
from tests.integration.raw import RawClient
from tests.until import until

BROKERS = 3
SETTINGS = {"min.insync.replicas": 2, "zookeeper.session.timeout.ms": 3000}
RETRIABLE = {3, 5, 6, 7, 9, 19, 20}


class CopiesTests(SynchronousTestCase):
    """A topic with three replicas, of which two must be in sync."""

    def setUp(self) -> None:
        """Start the cluster, and make the topic."""
        self.cluster = EmbeddedCluster(BROKERS, SETTINGS, run_in="process")
        self.addCleanup(self.cluster.close)
        self.cluster.start()
        self.topic = self.cluster.topic("copies", replication=BROKERS)
        self.acknowledged: list[bytes] = []
        self.wait_for_all()

    def partition(self) -> PartitionMetadata:
        """Return the partition as a broker that runs knows it."""
        (one, *_) = self.running()
        with Cluster(one.bootstrap) as cluster:
            return cluster.metadata([self.topic]).topics[self.topic].partitions[0]

    def running(self) -> list[EmbeddedBroker]:
        """Return the brokers that run."""
        return [broker for broker in self.cluster.brokers.values() if broker.running]

    def wait_for_all(self) -> None:
        """Wait until every broker that runs is in sync."""
        count = len(self.running())
        until(lambda: len(self.partition().isr) == count, f"{count} brokers are in sync")

    def add(self, count: int, size: int = 100) -> None:
        """Produce with acks=all, one batch after the other, as a client that looks for the leader again."""
        for _ in range(count):
            payload = os.urandom(size)
            until(lambda payload=payload: self.added(payload), "a record is acknowledged")  # type: ignore[misc]
            self.acknowledged.append(payload)

    def added(self, payload: bytes) -> bool:
        """Try once; return True if the record was acknowledged."""
        leader = self.partition().leader
        broker = self.cluster.brokers.get(leader)
        if broker is None or not broker.running:
            return False
        data = produce.PartitionProduceData(0, build_values([payload], 1_700_000_000_000))
        request = produce.ProduceRequest(None, -1, 5000, [produce.TopicProduceData(self.topic, [data])])
        try:
            with RawClient(broker.bootstrap) as client:
                (done,) = client.ask(0, 9, request).responses
        except OSError:
            return False
        code = done.partition_responses[0].error_code
        self.assertIn(code, {0, *RETRIABLE})
        return bool(code == 0)

    def files(self, broker_id: int) -> bytes:
        """Return all bytes of a broker's log."""
        directory = os.path.join(self.cluster.data_dir, str(broker_id))
        found = sorted(
            os.path.join(at, name)
            for at, _, names in os.walk(directory)
            for name in names
            if os.path.basename(at) == f"{self.topic}-0" and name.endswith(".log")
        )
        return b"".join(_read(path) for path in found)

    def check(self) -> None:
        """Check that all copies are equal to the last byte, and have each acknowledged record in order."""
        self.wait_for_all()
        until(
            lambda: len({self.files(one) for one in self.cluster.brokers}) == 1, "all files are equal", 20.0
        )
        values = [message.value for message in self.cluster.messages(self.topic)]
        seen = iter(values)
        self.assertTrue(all(payload in seen for payload in self.acknowledged))

    def test_leader_is_killed(self) -> None:
        """Kill -9 of each leader in turn loses nothing; a broker that is back catches up."""
        for _ in range(BROKERS):
            self.add(20)
            leader = self.partition().leader
            self.cluster.brokers[leader].kill()
            self.add(20)
            self.cluster.start_broker(leader)
            self.wait_for_all()
        self.check()

    def test_catches_up(self) -> None:
        """A follower that was away for many segments and large batches gets all of them."""
        leader = self.partition().leader
        (away, *_) = self.cluster.brokers.keys() - {leader}
        self.cluster.brokers[away].stop()
        self.add(60, 500_000)
        self.cluster.start_broker(away)
        self.check()

    def test_all_are_killed(self) -> None:
        """After kill -9 of all brokers at once everything acknowledged is there, on all of them."""
        self.add(50)
        for broker in self.cluster.brokers.values():
            broker.kill()
        for broker_id in self.cluster.brokers:
            self.cluster.start_broker(broker_id)
        self.add(20)
        self.check()


def _read(path: str) -> bytes:
    with open(path, "rb") as file:
        return file.read()
