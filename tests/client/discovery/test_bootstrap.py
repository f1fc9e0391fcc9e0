"""Tests of kafkatx.client.discovery.bootstrap."""

from __future__ import annotations

import subprocess
import sys
from unittest import mock

from twisted.internet.task import Clock
from twisted.trial.unittest import SynchronousTestCase

from kafkatx.client import Admin, Consumer, Producer
from kafkatx.client.discovery.bootstrap import bootstrap_addresses
from kafkatx.client.discovery.zookeeper_brokers import ZooKeeperBrokers
from kafkatx.clientcore.bootstrap import Addresses
from kafkatx.clientcore.settings import ClientSettings
from kafkatx.errors import SettingError

WITHOUT_KAZOO = """
import sys
from kafkatx.client import Consumer
Consumer(broker_list="0:127.0.0.1:1")
assert not [name for name in sys.modules if name.split(".")[0] == "kazoo"]
"""


def made(**settings: object) -> Addresses:
    """Return the addresses of a producer's settings."""
    return bootstrap_addresses(ClientSettings.load("producer", settings), Clock())


class BootstrapTests(SynchronousTestCase):
    def test_chosen(self) -> None:
        """The addresses are those of the setting that is set."""
        self.assertEqual(made(bootstrap_servers="a:1").known, [("a", 1)])
        self.assertEqual(made(broker_list="0:a:1").known, [("a", 1)])
        found = made(zk_connect="z:1/x", kafkatx_zookeeper_listener="IN")
        assert isinstance(found, ZooKeeperBrokers)
        self.assertEqual((found.where, found.known), ("zookeeper.connect=z:1/x", ()))
        self.assertEqual(found._listener, "IN")
        error = self.assertRaises(SettingError, made)
        self.assertIn("bootstrap.servers", str(error))

    def test_every_client(self) -> None:
        """Every client takes the settings; one that shares its cluster needs none of them."""
        for client in (Producer, Consumer, Admin):
            one = client(zookeeper_connect="z:1", reactor=Clock())
            self.assertIsInstance(one.cluster._addresses, ZooKeeperBrokers)
            beside = Consumer(cluster=one.cluster)
            self.assertIs(beside.cluster, one.cluster)

    def test_no_kazoo(self) -> None:
        """Without kazoo the message says how to get it."""
        with mock.patch("importlib.util.find_spec", return_value=None):
            error = self.assertRaises(SettingError, made, zookeeper_connect="z:1")
        self.assertIn("pip install 'kafkatx[zookeeper]'", str(error))

    def test_kazoo_only_where_used(self) -> None:
        """A client without the setting does not import kazoo."""
        subprocess.run([sys.executable, "-c", WITHOUT_KAZOO], check=True)
