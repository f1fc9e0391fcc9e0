"""The choice of the metadata store, and the settings that it needs."""

from __future__ import annotations

from twisted.trial.unittest import SynchronousTestCase

from kafkatx.config import BrokerConfig
from kafkatx.config.describe import describe_broker
from kafkatx.config.table import broker as b
from kafkatx.errors import SettingError

TLS = {"zookeeper.connect": "h", "zookeeper.ssl.client.enable": "true"}

# what is set, and what its refusal says
REFUSED: tuple[tuple[dict[str, str], str], ...] = (
    (
        {"kafkatx.metadata.store": "zookeeper"},
        "kafkatx.metadata.store=zookeeper: zookeeper.connect is not set; set it to HOST:PORT,HOST:PORT/PATH",
    ),
    (
        {"kafkatx.metadata.store": "zookeeper", "zk.connect": "h", "enable.zookeeper": "false"},
        "kafkatx.metadata.store=zookeeper: zookeeper.connect is not set",
    ),
    (
        {"kafkatx.metadata.store": "local"},
        "kafkatx.metadata.store=local: kafkatx.local.socket is not set; start the brokers",
    ),
    (
        {"zookeeper.connect": "h", "kafkatx.zookeeper.username": "u"},
        "kafkatx.zookeeper.username: kafkatx.zookeeper.password is not set",
    ),
    (
        {"zookeeper.connect": "h", "kafkatx.zookeeper.password": "secret"},
        "kafkatx.zookeeper.password: kafkatx.zookeeper.username is not set",
    ),
    (
        {"zookeeper.connect": "h", "zookeeper.set.acl": "true"},
        "zookeeper.set.acl=true: the broker does not authenticate",
    ),
    (
        {"zookeeper.connect": "h", "zookeeper.set.acl": "true", "zookeeper.ssl.keystore.location": "a.pem"},
        "zookeeper.set.acl=true: the broker does not authenticate",
    ),
)

TAKEN: tuple[tuple[dict[str, str], str], ...] = (
    ({}, "embedded"),
    ({"zookeeper.connect": "h:1/a"}, "zookeeper"),
    ({"zk.connect": "h:1/a", "enable.zookeeper": "true"}, "zookeeper"),
    ({"zk.connect": "h:1/a", "enable.zookeeper": "false"}, "embedded"),
    ({"kafkatx.metadata.store": "local", "kafkatx.local.socket": "/a"}, "local"),
    ({"kafkatx.metadata.store": "other"}, "other"),
    ({**TLS, "zookeeper.ssl.keystore.location": "k", "zookeeper.set.acl": "true"}, "zookeeper"),
    ({**TLS, "zookeeper.ssl.keystore.location": "k.jks", "zookeeper.ssl.keystore.type": "JKS"}, "zookeeper"),
    ({"zookeeper.connect": "h", "zookeeper.ssl.keystore.location": "k.jks"}, "zookeeper"),
    (
        {"zookeeper.connect": "h", "zookeeper.set.acl": "true", "kafkatx.zookeeper.jaas.file": "f"},
        "zookeeper",
    ),
)


class ChooseStoreTests(SynchronousTestCase):
    def test_taken(self) -> None:
        """The store is ZooKeeper where its servers are set, and the embedded one elsewhere."""
        for values, store in TAKEN:
            config = BrokerConfig.load(None, values)
            self.assertEqual((config[b.KAFKATX_METADATA_STORE], config.warnings), (store, ()), values)

    def test_refused(self) -> None:
        """Settings that are missing, and formats that cannot be read, are named."""
        for values, what in REFUSED:
            message = str(self.assertRaises(SettingError, BrokerConfig.load, None, values))
            self.assertTrue(message.startswith(what), message)
            self.assertNotIn("secret", message)

    def test_not_used(self) -> None:
        """Another store takes precedence over ZooKeeper's servers, with a warning."""
        config = BrokerConfig.load(None, {"zookeeper.connect": "h:1", "kafkatx.metadata.store": "embedded"})
        self.assertEqual(config[b.KAFKATX_METADATA_STORE], "embedded")
        self.assertEqual(
            config.warnings, ("zookeeper.connect=h:1: not used, since kafkatx.metadata.store=embedded",)
        )

    def test_described(self) -> None:
        """Clients are shown the store, and no passwords."""
        values = {
            "zookeeper.connect": "h",
            "kafkatx.zookeeper.username": "u",
            "kafkatx.zookeeper.password": "s",
        }
        entries = {entry.name: entry for entry in describe_broker(BrokerConfig.load(None, values))}
        self.assertEqual(entries["kafkatx.metadata.store"].value, "zookeeper")
        password = entries["kafkatx.zookeeper.password"]
        self.assertEqual((password.value, password.sensitive, password.synonyms[0].value), (None, True, None))


class QuorumTests(SynchronousTestCase):
    def test_several_controllers(self) -> None:
        """A node of a KRaft cluster is not made a cluster of its own; one controller or ZooKeeper is fine."""
        several = {"controller.quorum.voters": "1@a:9093,2@b:9093,3@c:9093"}
        with self.assertRaisesRegex(SettingError, "3 controllers, and kafkatx has no KRaft quorum"):
            BrokerConfig.load(None, several)
        with self.assertRaisesRegex(SettingError, "controller.quorum.bootstrap.servers=a:1,b:1"):
            BrokerConfig.load(None, {"controller.quorum.bootstrap.servers": "a:1,b:1"})
        BrokerConfig.load(None, {"controller.quorum.voters": "1@localhost:9093"})
        BrokerConfig.load(None, {**several, "zookeeper.connect": "h:1"})


class CopiesTests(SynchronousTestCase):
    def test_alone(self) -> None:
        """A default replication factor above 1 is a warning for a broker that is alone, and for no other."""
        cluster = {"zookeeper.connect": "zk:2181", "broker.id": "1"}
        for factor, others, count in (("3", {}, 1), ("1", {}, 0), ("3", cluster, 0)):
            config = BrokerConfig.load(None, {"default.replication.factor": factor, **others})
            self.assertEqual(len(config.warnings), count, config.warnings)
            for warning in config.warnings:
                self.assertIn("default.replication.factor=3: a cluster of one broker", warning)
