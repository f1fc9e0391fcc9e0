"""The id of a broker on ZooKeeper: set, kept in its log dirs, or generated."""

from __future__ import annotations

import importlib.util
import os

from twisted.trial.unittest import SynchronousTestCase

from kafkatx.config import BrokerConfig
from kafkatx.config.table import broker as b
from kafkatx.daemon.identity import identified, with_same_id
from kafkatx.errors import SettingError


class IdentifiedTests(SynchronousTestCase):
    generated = 0

    def generate(self, config: BrokerConfig) -> int:
        """Be ZooKeeper."""
        self.generated += 1
        return 1000 + self.generated

    def log_dir(self, meta: str | None) -> str:
        """Return a log dir with a meta.properties."""
        path: str = self.mktemp()
        os.makedirs(path)
        if meta is not None:
            with open(os.path.join(path, "meta.properties"), "w") as file:
                file.write(meta)
        return path

    def identify(self, **settings: str) -> BrokerConfig:
        """Return the settings with the id; names have _ for a dot."""
        named = {name.replace("_", "."): value for name, value in settings.items()}
        config = BrokerConfig.load(None, {"zookeeper.connect": "h:1", **named})
        return identified(config, self.generate)

    def refused(self, **settings: str) -> str:
        """Return the message with which settings are refused."""
        error: SettingError = self.assertRaises(SettingError, self.identify, **settings)
        return str(error)

    def test_set(self) -> None:
        """An id that is set is used; one that could be generated for another broker is refused."""
        self.assertEqual(self.identify(broker_id="1000")[b.BROKER_ID], 1000)
        message = self.refused(node_id="1001")
        self.assertTrue(
            message.startswith("node.id=1001: ids above reserved.broker.max.id=1000 are"), message
        )
        for more in ({"reserved_broker_max_id": "2000"}, {"broker_id_generation_enable": "false"}):
            self.assertEqual(self.identify(broker_id="1001", **more)[b.BROKER_ID], 1001)
        self.assertEqual(self.generated, 0)

    def test_generated(self) -> None:
        """A broker without an id, or with -1, gets one; it counts as set."""
        config = self.identify(log_dirs=self.log_dir(None))
        self.assertEqual((config[b.BROKER_ID], config.used_name(b.BROKER_ID)), (1001, "broker.id"))
        config = self.identify(log_dirs=self.log_dir("version=0\n"), broker_id="-1")
        self.assertEqual((config[b.BROKER_ID], config.warnings), (1002, ()))

    def test_kept(self) -> None:
        """The id in any of the log dirs is used again; dirs that cannot be read are not asked."""
        dirs = (
            self.log_dir(None),
            self.log_dir("broker.id=1007\n"),
            self.log_dir("node.id=1007\n"),
            "/no/dir",
        )
        self.assertEqual(self.identify(log_dirs=",".join(dirs))[b.BROKER_ID], 1007)
        self.assertEqual(self.generated, 0)

    def test_several_owners(self) -> None:
        """Log dirs of different brokers are refused, with their owners."""
        first, second = self.log_dir("broker.id=1\n"), self.log_dir("broker.id=2\n")
        message = self.refused(log_dirs=f"{first},{second}")
        self.assertIn(f"several brokers by their meta.properties: {first} to broker 1, {second} to", message)

    def test_not_generated(self) -> None:
        """Without generation an id must be set."""
        message = self.refused(broker_id_generation_enable="false")
        self.assertEqual(
            message, "broker.id: not set, and broker.id.generation.enable=false; set one of them"
        )

    def test_no_kazoo(self) -> None:
        """Without kazoo the setting is refused with what to install."""
        self.patch(importlib.util, "find_spec", lambda name: None)
        self.assertEqual(
            self.refused(broker_id="1"),
            "zookeeper.connect: it needs kazoo; pip install 'kafkatx[zookeeper]'",
        )

    def test_other_stores(self) -> None:
        """A broker that is not on ZooKeeper has id 0 unless it is set, and any id will do."""
        config = BrokerConfig.load(None, {})
        self.assertIs(identified(config, self.generate), config)
        self.assertIs(with_same_id(config, 7), config)
        self.assertEqual(
            self.identify(kafkatx_metadata_store="embedded", broker_id="5000")[b.BROKER_ID], 5000
        )
        self.assertEqual(self.generated, 0)

    def test_read_again(self) -> None:
        """Settings that are read again have the generated id, unless one is set."""
        running = self.identify(log_dirs=self.log_dir(None))
        read = BrokerConfig.load(None, {"zookeeper.connect": "h:1"})
        self.assertEqual(running.reloaded(with_same_id(read, 1001)).fixed, ("log.dirs",))
        read = BrokerConfig.load(None, {"zookeeper.connect": "h:1", "broker.id": "3"})
        self.assertEqual(with_same_id(read, 1001)[b.BROKER_ID], 3)
