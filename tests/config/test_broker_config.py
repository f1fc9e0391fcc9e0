"""BrokerConfig: files, overrides, other names, warnings, and the stock files of Apache Kafka."""

from __future__ import annotations

import os
import subprocess
import sys

from twisted.trial.unittest import SynchronousTestCase

import kafkatx
from kafkatx.config import BrokerConfig, Listener
from kafkatx.config.broker_config import Reloaded
from kafkatx.config.table import broker as b
from kafkatx.config.table import cleanup, kafka_only, log, network, zookeeper
from kafkatx.config.table.row import format_value
from kafkatx.errors import SettingError

STOCK = os.path.join(os.path.dirname(os.path.abspath(__file__)), "stock")

# what is set, and what its refusal says
REFUSED: tuple[tuple[dict[str, str], str], ...] = (
    ({"num.partition": "1"}, "num.partition: unknown setting; did you mean num.partitions?"),
    ({"log.retention.hour": "1"}, "log.retention.hour: unknown setting; did you mean log.retention.hours?"),
    ({"zookeeper.conect": "x"}, "zookeeper.conect: unknown setting; did you mean zookeeper.connect?"),
    ({"kafkatx.storag": "file"}, "kafkatx.storag: unknown setting; did you mean kafkatx.storage?"),
    ({"kafkatx.zzzzzzzz": "file"}, "kafkatx.zzzzzzzz: unknown setting"),
    ({"": "x"}, ": unknown setting; see `kafkatx docs settings`"),
    ({"num.partitions": "0"}, "num.partitions=0: the value must be a whole number of 32 bits, 1 or more"),
    ({"log.dirs": " "}, "log.dirs= : the value must be a list"),
    ({"node.id": "-3"}, "node.id=-3: the value must be"),
    ({"broker.id": "1", "node.id": "2"}, "node.id=2: broker.id=1; remove one of them"),
    ({"broker.id": "1", "node.id": "x"}, "node.id=x: the value must be"),
    (
        {"super.users": "User:a;bob"},
        "super.users=User:a;bob: the value must be principals of the form User:NAME",
    ),
)


class BrokerConfigTests(SynchronousTestCase):
    """Settings as a broker gets them."""

    def test_defaults(self) -> None:
        """Without a file every setting of the table has its default, and nothing is warned of."""
        config = BrokerConfig.load()
        for setting in b.SETTINGS.values():
            self.assertEqual(config[setting], setting.default, setting.name)
            self.assertEqual(config.get(setting.name), setting.default)
        self.assertEqual((dict(config.explicit), config.warnings), ({}, ()))

    def test_defaults_are_allowed(self) -> None:
        """Every default could have been set: its setting reads it back."""
        for setting in b.SETTINGS.values():
            if setting.default is not None and setting is not network.ADVERTISED_LISTENERS:
                self.assertEqual(
                    setting.parse(format_value(setting.default) or ""), setting.default, setting.name
                )

    def test_file_and_overrides(self) -> None:
        """Overrides go before the file, the last of them first; explicit keeps the texts."""
        path = self.mktemp()
        with open(path, "w") as file:
            file.write("num.partitions=2\nlog.dirs=/a, /b\nmessage.max.bytes=5\n")
        config = BrokerConfig.load(path, [("num.partitions", "3"), ("num.partitions", "4")])
        self.assertEqual(config[b.NUM_PARTITIONS], 4)
        self.assertEqual(config[log.LOG_DIRS], ("/a", "/b"))
        self.assertEqual(config[log.MESSAGE_MAX_BYTES], 5)
        explicit = {"num.partitions": "4", "log.dirs": "/a, /b", "message.max.bytes": "5"}
        self.assertEqual(dict(config.explicit), explicit)

    def test_refused(self) -> None:
        """Unknown names get the nearest name; bad and contradicting values are named."""
        for values, what in REFUSED:
            message = str(self.assertRaises(SettingError, BrokerConfig.load, None, values))
            self.assertTrue(message.startswith(what), message)

    def test_other_names(self) -> None:
        """A setting may be set by another name; its own name goes before."""
        self.assertEqual(BrokerConfig.load(None, {"node.id": "5"})[b.BROKER_ID], 5)
        self.assertEqual(BrokerConfig.load(None, {"node.id": "5"}).get("node.id"), 5)
        self.assertEqual(BrokerConfig.load(None, {"node.id": "5", "broker.id": "5"})[b.BROKER_ID], 5)
        self.assertEqual(BrokerConfig.load(None, {"log.dir": "/a"})[log.LOG_DIRS], ("/a",))
        config = BrokerConfig.load(None, {"log.dir": "/a", "log.dirs": "/b"})
        self.assertEqual(config[log.LOG_DIRS], ("/b",))
        self.assertEqual(config.used_name(log.LOG_DIRS), "log.dirs")
        self.assertIs(config.used_name(b.NUM_PARTITIONS), None)

    def test_generated_id(self) -> None:
        """broker.id=-1, Kafka's "choose one", is taken as not set, with a warning except on ZooKeeper."""
        config = BrokerConfig.load(None, {"broker.id": "-1"})
        self.assertEqual((config[b.BROKER_ID], config.warnings), (0, ("broker.id=-1: taken as not set",)))
        self.assertEqual(BrokerConfig.load(None, {"broker.id": "-1", "node.id": "4"})[b.BROKER_ID], 4)
        config = BrokerConfig.load(None, {"broker.id": "-1", "zookeeper.connect": "h"})
        self.assertEqual((config.used_name(b.BROKER_ID), config.warnings), (None, ()))

    def test_foreign_names(self) -> None:
        """A name that only Apache Kafka has is warned of once, and its text can be had."""
        config = BrokerConfig.load(None, {"num.io.threads": "8", "listener.name.x.y": "z"})
        self.assertEqual(
            config.warnings,
            (
                "num.io.threads: accepted and not used by kafkatx",
                "listener.name.x.y: accepted and not used by kafkatx",
            ),
        )
        self.assertEqual(config.get("num.io.threads"), "8")
        self.assertIs(config.get("num.network.threads"), None)
        self.assertRaises(KeyError, config.get, "no.such.name")

    def test_foreign_names_are_not_ours(self) -> None:
        """No name is both used and warned of as not used."""
        ours = {name for setting in b.SETTINGS.values() for name in (setting.name, *setting.aliases)}
        self.assertEqual(ours & kafka_only.NAMES, set())
        self.assertEqual([name for name in ours if name.startswith(kafka_only.PREFIXES)], [])

    def test_with_values(self) -> None:
        """with_values() makes other settings and leaves these as they are."""
        config = BrokerConfig.load(None, {"num.partitions": "2", "log.dirs": "/a"})
        other = config.with_values({"num.partitions": "3"})
        self.assertEqual((config[b.NUM_PARTITIONS], other[b.NUM_PARTITIONS]), (2, 3))
        self.assertEqual(other[log.LOG_DIRS], ("/a",))
        self.assertRaises(SettingError, config.with_values, {"num.partitions": "none"})

    def test_with_dynamic(self) -> None:
        """The broker's own go before those of all brokers, these before the file, it before the defaults."""
        static = BrokerConfig.load(None, {"log.roll.ms": "1", "message.max.bytes": "2", "node.id": "4"})
        config = static.with_dynamic({"log.roll.ms": "5", "log.retention.ms": "6"}, {"log.roll.ms": "7"})
        self.assertEqual((config[log.LOG_ROLL_MS], config[cleanup.LOG_RETENTION_MS]), (7, 6))
        self.assertEqual((config[log.MESSAGE_MAX_BYTES], config[b.BROKER_ID]), (2, 4))
        self.assertEqual((config.explicit["log.roll.ms"], static[log.LOG_ROLL_MS]), ("7", 1))
        self.assertEqual(
            config.values_set(log.LOG_ROLL_MS),
            [(0, "log.roll.ms", 7), (1, "log.roll.ms", 5), (2, "log.roll.ms", 1)],
        )
        self.assertEqual(config.values_set(b.BROKER_ID), [(2, "node.id", 4)])
        self.assertEqual(config.warnings, static.warnings)

    def test_with_other_dynamic(self) -> None:
        """Other dynamic settings take the place of the earlier ones; what else is changed keeps them."""
        static = BrokerConfig.load(None, {"log.roll.ms": "1"})
        config = static.with_dynamic({"log.roll.ms": "5"}, {"log.retention.ms": "6"})
        other = config.with_values({"num.partitions": "3"})
        self.assertEqual(
            (other[log.LOG_ROLL_MS], other[cleanup.LOG_RETENTION_MS], other[b.NUM_PARTITIONS]), (5, 6, 3)
        )
        again = other.with_dynamic({}, {})
        self.assertEqual((again[log.LOG_ROLL_MS], again[cleanup.LOG_RETENTION_MS]), (1, None))
        self.assertEqual(again[b.NUM_PARTITIONS], 3)

    def test_immutable(self) -> None:
        """Settings do not change."""
        config = BrokerConfig.load()
        with self.assertRaises(AttributeError):
            config.warnings = ("x",)  # type: ignore[misc]  # what the test is about
        with self.assertRaises(TypeError):
            config.explicit["a"] = "b"  # type: ignore[index]  # what the test is about

    def test_import_is_light(self) -> None:
        """Settings are read without Twisted, sockets or SQLite: they stand at the head of every start."""
        script = (
            "import sys, kafkatx.config; kafkatx.config.BrokerConfig.load();"
            "print([name for name in ('twisted', 'socket', 'sqlite3', 'difflib') if name in sys.modules])"
        )
        root = os.path.dirname(os.path.dirname(os.path.abspath(kafkatx.__file__)))
        out = subprocess.run(
            [sys.executable, "-S", "-c", f"import sys; sys.path[:] = {sys.path!r}; {script}"],
            cwd=root,
            capture_output=True,
            text=True,
            check=True,
        )
        self.assertEqual(out.stdout, "[]\n")


class ReloadedTests(SynchronousTestCase):
    """Settings of a running broker that are read again."""

    def reloaded(self, before: dict[str, str], after: dict[str, str], **brokers: str) -> Reloaded:
        """Return the result of reading *after* in a broker that was started with *before*."""
        named = {name.replace("_", "."): value for name, value in brokers.items()}
        running = BrokerConfig.load(None, before).with_dynamic(named, {})
        return running.reloaded(BrokerConfig.load(None, after))

    def test_dynamic(self) -> None:
        """Dynamic settings change: set, set otherwise, set by another name, not set any more."""
        name = "log.retention.ms"
        for before, after, value in (
            ({}, {name: "5"}, 5),
            ({name: "5"}, {name: "6"}, 6),
            ({name: "5"}, {}, None),
        ):
            reloaded = self.reloaded(before, after)
            self.assertEqual((reloaded.changed, reloaded.fixed), ((name,), ()))
            self.assertEqual(reloaded.config[cleanup.LOG_RETENTION_MS], value)
            self.assertEqual(dict(reloaded.config.layers[-1]), after)

    def test_needs_restart(self) -> None:
        """Other settings stay as they are, and are named."""
        reloaded = self.reloaded({"broker.rack": "a"}, {"broker.rack": "b", "log.retention.ms": "5"})
        self.assertEqual((reloaded.changed, reloaded.fixed), (("log.retention.ms",), ("broker.rack",)))
        self.assertEqual(reloaded.config.get("broker.rack"), "a")

    def test_altered_while_running(self) -> None:
        """Settings that were altered while the broker ran take precedence over the file."""
        reloaded = self.reloaded({}, {"log.retention.ms": "5"}, log_retention_ms="9")
        self.assertEqual(reloaded.changed, ("log.retention.ms",))
        self.assertEqual(reloaded.config[cleanup.LOG_RETENTION_MS], 9)

    def test_nothing(self) -> None:
        """The same settings, also if they are written otherwise, change nothing."""
        reloaded = self.reloaded({"num.partitions": "1"}, {"num.partitions": " 1"})
        self.assertEqual((reloaded.changed, reloaded.fixed), ((), ()))


class StockFilesTests(SynchronousTestCase):
    """The server.properties that come with Apache Kafka."""

    def load(self, name: str) -> BrokerConfig:
        """A stock file's settings."""
        return BrokerConfig.load(os.path.join(STOCK, name + ".properties"))

    def test_each_file_loads(self) -> None:
        """Every stock file is accepted; each warning is of what only Apache Kafka has."""
        names = sorted(os.listdir(STOCK))
        self.assertEqual(len(names), 6)
        for name in names:
            config = BrokerConfig.load(os.path.join(STOCK, name))
            self.assertEqual(config[cleanup.LOG_RETENTION_HOURS], 168)
            self.assertEqual(config.advertised([9092] * len(config.listeners()))[1], 9092)
            for warning in config.warnings:
                setting = warning.split(":")[0].split("=")[0]
                self.assertTrue(kafka_only.is_kafka_only(setting) or setting == "listeners", warning)

    def test_zookeeper(self) -> None:
        """Kafka 3.9 with ZooKeeper: the default listener, its buffers and its directory."""
        config = self.load("kafka-3.9-zookeeper")
        self.assertEqual(config.listeners(), (Listener("PLAINTEXT", "127.0.0.1", 9092),))
        self.assertEqual(config[log.LOG_DIRS], ("/tmp/kafka-logs",))
        self.assertEqual(config[network.SOCKET_RECEIVE_BUFFER_BYTES], 102_400)
        self.assertEqual(config[zookeeper.ZOOKEEPER_CONNECT], "localhost:2181")
        self.assertEqual(config[zookeeper.ZOOKEEPER_CONNECTION_TIMEOUT_MS], 18_000)
        self.assertEqual(config[b.KAFKATX_METADATA_STORE], "zookeeper")

    def test_kraft(self) -> None:
        """Kafka 3.9 and 4.x with KRaft: the clients' listener stays, the controller's is left out."""
        for name in ("kafka-3.9-kraft", "kafka-4-kraft"):
            config = self.load(name)
            self.assertEqual(config.listeners(), (Listener("PLAINTEXT", "", 9092),))
            self.assertEqual(config.advertised([9092]), ("localhost", 9092))
            self.assertEqual(config[b.BROKER_ID], 1)
            self.assertEqual(len([text for text in config.warnings if text.startswith("listeners=")]), 1)

    def test_kafka_0_8(self) -> None:
        """Kafka 0.8: port alone says where to listen."""
        self.assertEqual(self.load("kafka-0.8").listeners()[0].port, 9092)

    def test_kafka_0_7(self) -> None:
        """Kafka 0.7: its names of settings that there still are hold."""
        config = self.load("kafka-0.7")
        self.assertEqual(config.get("broker.id"), 0)
        self.assertEqual(config.listeners()[0].port, 9092)
        self.assertEqual(config[log.LOG_SEGMENT_BYTES], 536_870_912)
        self.assertEqual(config[log.LOG_DIRS], ("/tmp/kafka-logs",))
        self.assertEqual(config[log.LOG_FLUSH_INTERVAL_MESSAGES], 10_000)
        self.assertEqual(config[log.LOG_FLUSH_INTERVAL_MS], 1000)
        self.assertEqual(config[network.SOCKET_SEND_BUFFER_BYTES], 1 << 20)
        self.assertEqual(config[zookeeper.ZOOKEEPER_CONNECT], "localhost:2181")
        self.assertEqual(config[zookeeper.ZOOKEEPER_CONNECTION_TIMEOUT_MS], 1_000_000)
