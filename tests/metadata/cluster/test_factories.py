"""The plugins of clusters: they take their settings, and connect only when they are started."""

from __future__ import annotations

import os
import shutil
import tempfile
from typing import cast

from twisted.internet.defer import execute
from twisted.internet.interfaces import IReactorFromThreads
from twisted.trial.unittest import SynchronousTestCase, TestCase

from kafkatx.config import BrokerConfig
from kafkatx.errors import SettingError
from kafkatx.interfaces import IMetadataStore, Worker
from kafkatx.metadata.cluster.factories import boottime_s, local_store, now_ms, zookeeper_store
from kafkatx.net.workers import ThreadWorkers
from kafkatx.types import BrokerNode


def at_once(name: str) -> Worker:
    """Return a worker without a thread."""
    return execute


class FactoryTests(SynchronousTestCase):
    def test_zookeeper(self) -> None:
        """The store on ZooKeeper takes the settings, and is not connected."""
        config = BrokerConfig.load(
            None,
            {
                "zookeeper.connect": "h:2181/kafka",
                "kafkatx.controller.eligible": "false",
                "kafkatx.zookeeper.broker.version": "2",
            },
        )
        store = zookeeper_store(config, at_once)
        options = store._options
        self.assertEqual(options.where, "zookeeper.connect=h:2181/kafka")
        self.assertEqual((options.controller_eligible, options.broker_version), (False, 2))
        self.assertTrue(store.state.fenced)

    def test_wrong_file(self) -> None:
        """A file that the settings name and that is missing is refused when the store is made."""
        config = BrokerConfig.load(
            None,
            {
                "zookeeper.connect": "h:2181",
                "zookeeper.ssl.client.enable": "true",
                "zookeeper.ssl.truststore.location": "/nowhere.pem",
            },
        )
        with self.assertRaises(SettingError):
            zookeeper_store(config, at_once)

    def test_clocks(self) -> None:
        """The clock of leases does not go back, and the time of day is in ms."""
        self.assertLessEqual(boottime_s(), boottime_s())
        self.assertGreater(now_ms(), 1_000_000_000_000)


class LocalTests(TestCase):
    timeout = 30

    async def test_local(self) -> None:
        """The store on one machine connects to the socket of the settings, or says that it cannot."""
        folder = tempfile.mkdtemp(prefix="kafkatx-")
        self.addCleanup(shutil.rmtree, folder, True)
        path = os.path.join(folder, "x.sock")
        config = BrokerConfig.load(None, {"kafkatx.metadata.store": "local", "kafkatx.local.socket": path})
        store = local_store(config, at_once)
        self.assertTrue(IMetadataStore.providedBy(store))
        self.assertEqual(store._options.where, f"kafkatx.local.socket={path}")

        from twisted.internet import reactor

        from kafkatx.metadata.tree.local.listener import TreeListener

        workers = ThreadWorkers(cast(IReactorFromThreads, reactor))
        self.addCleanup(workers.stop)
        listener = TreeListener(os.path.join(folder, "t.sqlite3"), path, reactor, workers("tree"))
        await listener.start()
        self.addCleanup(listener.stop)
        await store.start(BrokerNode(1, "h", 9092))
        await store.register(["d"])
        self.assertFalse(store.state.fenced)
        await store.stop()
