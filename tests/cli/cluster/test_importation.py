"""Tests of the connection of an import. Reading the data: tests.daemon.test_embedded_data."""

from __future__ import annotations

from twisted.trial.unittest import SynchronousTestCase

from kafkatx.cli.cluster.importation import look_at
from kafkatx.errors import KafkaTXError
from kafkatx.metadata.tree.zookeeper import ZooKeeperSettings
from tests.ports import free_port


class ConnectionTests(SynchronousTestCase):
    def test_unreachable(self) -> None:
        """A ZooKeeper that cannot be reached is named."""
        settings = ZooKeeperSettings(f"127.0.0.1:{free_port()}/k", connection_timeout_s=0.2)
        error = self.assertRaises(KafkaTXError, look_at, settings, "c")
        self.assertIn(f"zookeeper.connect={settings.connect}: ", str(error))
