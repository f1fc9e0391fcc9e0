"""The state of a cluster on ZooKeeper is put back to an older copy, with one broker and with three."""

from __future__ import annotations

import shutil
from pathlib import Path

from twisted.trial.unittest import SynchronousTestCase

from kafkatx.testing import EmbeddedBroker, EmbeddedCluster
from kafkatx.testing.zookeeper import ZooKeeperServer
from tests.integration.test_restored_state import SAID, load, texts
from tests.ports import free_port

SESSION_MS = 3000


class ZooKeeperTests(SynchronousTestCase):
    """ZooKeeper is stopped, and its data are put back."""

    def setUp(self) -> None:
        """Start a server."""
        self.server = ZooKeeperServer(Path(self.mktemp()), free_port(), tick_ms=500)
        self.addCleanup(self.server.kill)
        self.serve()

    def serve(self) -> None:
        """Start the server with the data that are there."""
        self.server.start()
        self.server.wait()

    def copy(self) -> Path:
        """Copy the data of the server, which is stopped for that."""
        copied = self.server.folder / "copy"
        self.server.stop()
        shutil.copytree(self.server.folder / "data", copied)
        self.serve()
        return copied

    def put_back(self, copied: Path) -> None:
        """Put the copy in the place of the data; nothing else runs."""
        self.server.stop()
        shutil.rmtree(self.server.folder / "data")
        copied.rename(self.server.folder / "data")
        self.serve()

    def test_one_broker(self) -> None:
        """Records of new producers are stored, though the copy would give their ids out again."""
        broker = EmbeddedBroker(
            {
                "broker.id": 1,
                "zookeeper.connect": f"127.0.0.1:{self.server.port}/k",
                "zookeeper.session.timeout.ms": SESSION_MS,
            },
            run_in="process",
        )
        self.addCleanup(broker.close)
        broker.start()
        topic = broker.topic("t")
        values = load(lambda: broker.bootstrap, topic, "before")
        broker.stop()
        copied = self.copy()
        broker.start()
        values += load(lambda: broker.bootstrap, topic, "unknown")
        broker.stop()
        self.put_back(copied)
        broker.start()
        values += load(lambda: broker.bootstrap, topic, "after")
        self.assertEqual(texts(broker, topic, len(values)), values)
        self.assertIn(SAID, broker.output())

    def test_lagging_copy(self) -> None:
        """A broker that lacks records, and was in sync by the copy, cuts none off the others."""
        cluster = EmbeddedCluster(
            3,
            {"min.insync.replicas": 2, "replica.lag.time.max.ms": 2000},
            run_in="process",
            zookeeper=f"127.0.0.1:{self.server.port}/k",
        )
        self.addCleanup(cluster.close)
        cluster.start()
        topic = cluster.topic("t", replication=3)
        values = load(lambda: cluster.bootstrap, topic, "before", 1)
        cluster.stop()
        copied = self.copy()
        cluster.start()
        values += load(lambda: cluster.bootstrap, topic, "unknown", 1)
        cluster.brokers[1].kill()
        values += load(lambda: cluster.bootstrap, topic, "lagging", 2)
        cluster.stop()
        self.put_back(copied)
        cluster.start()
        values += load(lambda: cluster.bootstrap, topic, "after", 2)
        for broker in cluster.brokers.values():
            found = texts(broker, topic, len(values))
            self.assertEqual(found, values)
        self.assertIn(SAID, "".join(broker.output() for broker in cluster.brokers.values()))
