"""A second process of a broker, from a copy of its data, and brokers that come back with other data."""

from __future__ import annotations

import os
import shutil
import signal
from itertools import chain

from kafkatx.blocking import Admin, Cluster
from kafkatx.testing import EmbeddedBroker
from kafkatx.testing.errors import BrokerDidNotStart
from tests.integration.acknowledged import AcknowledgedLoad
from tests.integration.test_cluster_faults import FaultCase
from tests.integration.test_several_brokers import SeveralCase
from tests.until import until

SESSION_MS = 2000
STALE = "do not continue the last registered life of this broker"


class ZooKeeperTests(FaultCase):
    def setUp(self) -> None:
        """Start three brokers, and a load on a topic with three replicas."""
        super().setUp()
        self.serve()
        self.brokers = {one: self.at(one, self.mktemp()).start() for one in (1, 2, 3)}
        self.bootstrap = self.brokers[1].bootstrap
        with Cluster(self.bootstrap) as cluster:
            Admin(cluster).create_topic("t", 1, 3, {"min.insync.replicas": "2"})
        self.load = AcknowledgedLoad(self.bootstrap, "t")
        self.addCleanup(self.load.stop)
        self.load.go_on()

    def at(self, broker_id: int, data_dir: str) -> EmbeddedBroker:
        """Make a broker with a data directory."""
        broker = EmbeddedBroker(
            {
                "broker.id": broker_id,
                "zookeeper.connect": f"127.0.0.1:{self.server.port}{self.chroot}",
                "zookeeper.session.timeout.ms": SESSION_MS,
                "zookeeper.connection.timeout.ms": 20_000,
                "replica.lag.time.max.ms": 2000,
                "offsets.topic.replication.factor": 3,
                "offsets.topic.num.partitions": 1,
            },
            data_dir=data_dir,
            run_in="process",
        )
        self.addCleanup(broker.close)
        return broker

    def in_sync(self) -> list[int]:
        """Return the in-sync replicas of the topic's partition."""
        with Cluster(self.bootstrap) as cluster:
            return sorted(cluster.metadata(["t"]).topics["t"].partitions[0].isr)

    def check(self) -> None:
        """Check that all replicas come back in sync, and have all that was acknowledged."""
        until(lambda: self.in_sync() == [1, 2, 3], "all replicas are in sync")
        self.load.go_on()
        self.load.stop()
        self.assertEqual(self.load.lost(), [])

    def test_copy(self) -> None:
        """A copy of a live broker is refused; without the original it counts when it has copied."""
        copy = self.mktemp()
        shutil.copytree(self.brokers[2].data_dir or "", copy)
        self.load.go_on()
        twin = self.at(2, copy)
        with self.assertRaises(BrokerDidNotStart) as caught:
            twin.start()
        original = self.brokers[2]
        for part in (f"process {original.pid}", original.bootstrap, original.data_dir, copy, "a copy"):
            self.assertIn(str(part), str(caught.exception))
        self.assertEqual(self.in_sync(), [1, 2, 3])
        original.stop()
        self.load.go_on()
        twin.start()
        self.assertIn(STALE, twin.output())
        self.check()

    def test_emptied(self) -> None:
        """A broker whose disk is empty, or that has lost a partition's directory, copies everything."""
        broker = self.brokers[2]
        for lost in ("t-0", ""):
            until(lambda: self.in_sync() == [1, 2, 3], "all replicas are in sync")
            broker.stop()
            self.load.go_on()
            shutil.rmtree(os.path.join(str(broker.data_dir), lost))
            broker.start()
            self.assertIn("start empty", broker.output())
        self.check()


class LocalTests(SeveralCase):
    def test_copy(self) -> None:
        """A copy is refused while the original lives; frozen, it is fenced, and comes back without a loss."""
        settings = (f"zookeeper.session.timeout.ms={SESSION_MS}", "replica.lag.time.max.ms=2000")
        process = self.cluster(3, *chain(*(("--set", each) for each in settings)))
        self.kafkatx(
            "topics", "create", "t", "--replication-factor", "3", "--config", "min.insync.replicas=2"
        )
        load = AcknowledgedLoad(self.bootstrap, "t")
        self.addCleanup(load.stop)
        load.go_on()
        copy, original = os.path.join(self.dir, "copy"), self.pid("2")
        shutil.copytree(os.path.join(self.data, "2"), copy)
        twin = self.twin(copy)
        with self.assertRaises(BrokerDidNotStart) as caught:
            twin.start()
        for part in (f"process {original}", f"log.dirs={self.data}/2", copy, "a copy"):
            self.assertIn(part, str(caught.exception))
        load.go_on()
        os.kill(original, signal.SIGSTOP)
        try:
            twin.start()
            load.go_on()
        finally:
            os.kill(original, signal.SIGCONT)
        self.assertIn(STALE, twin.output())
        until(lambda: "must not be started; trying again" in self.log, "the original is not registered")
        twin.stop()
        until(lambda: STALE in self.log, "the original is registered again")
        until(lambda: self.in_sync() == [1, 2, 3], "all replicas are in sync")
        load.go_on()
        load.stop()
        self.assertEqual(load.lost(), [])
        self.stopped(process)

    def twin(self, data_dir: str) -> EmbeddedBroker:
        """Make a broker 2 beside that of the cluster."""
        settings: dict[str, str | int] = {
            "broker.id": 2,
            "kafkatx.metadata.store": "local",
            "zookeeper.session.timeout.ms": SESSION_MS,
            "kafkatx.local.socket": os.path.join(self.data, "kafkatx-tree.sock"),
        }
        broker = EmbeddedBroker(settings, data_dir=data_dir, run_in="process")
        self.addCleanup(broker.close)
        return broker

    def in_sync(self) -> list[int]:
        """Return the in-sync replicas of the topic's partition."""
        with Cluster(self.bootstrap) as cluster:
            return sorted(cluster.metadata(["t"]).topics["t"].partitions[0].isr)
