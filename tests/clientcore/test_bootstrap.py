"""Tests of kafkatx.clientcore.bootstrap."""

from __future__ import annotations

from twisted.trial.unittest import SynchronousTestCase

from kafkatx.clientcore.bootstrap import (
    Address,
    format_address,
    parse_bootstrap,
    parse_broker_list,
    static_addresses,
    uses_zookeeper,
)
from kafkatx.clientcore.settings import ClientSettings
from kafkatx.errors import SettingError


class BootstrapTests(SynchronousTestCase):
    def test_forms(self) -> None:
        """A port may be missing, IPv6 has brackets, spaces and empty entries do not matter."""
        self.assertEqual(
            parse_bootstrap("a:1, b,[::1]:3,[::2],::3,"),
            [("a", 1), ("b", 9092), ("::1", 3), ("::2", 9092), ("::3", 9092)],
        )
        self.assertEqual(parse_bootstrap(["a:1", "b:2"]), [("a", 1), ("b", 2)])

    def test_listeners(self) -> None:
        """The name of a listener before an address is taken, and means nothing."""
        self.assertEqual(
            parse_bootstrap("PLAINTEXT://a:1, sasl_ssl://b,EXTERNAL1://[::1]:3"),
            [("a", 1), ("b", 9092), ("::1", 3)],
        )
        self.assertEqual(parse_broker_list(["PLAINTEXT://a:1"]), [("a", 1)])

    def test_bad_forms(self) -> None:
        """An invalid HOST:PORT is refused with a message that quotes it."""
        for text in (
            "a:b",
            ":9092",
            "a:0",
            "a:65536",
            "[::1",
            "[::1]9092",
            "a:-1",
            "a:²",
            "http://a:1",
            "://a:1",
            "PLAINTEXT://",
            "A://b/c",
        ):
            error = self.assertRaises(SettingError, parse_bootstrap, text)
            self.assertIn(repr(text), str(error))
        self.assertRaises(SettingError, parse_bootstrap, " , ")

    def test_shown(self) -> None:
        """An address is formatted so that it can be parsed again."""
        for text in ("a:1", "[::1]:3"):
            self.assertEqual([format_address(address) for address in parse_bootstrap(text)], [text])


class BrokerListTests(SynchronousTestCase):
    def test_forms(self) -> None:
        """Kafka 0.7's form has an id, which does not matter; Kafka 0.8's has none."""
        for text, expected in (
            ("0:a:1", ("a", 1)),
            (" 17:b.c:2 ", ("b.c", 2)),
            ("a:1", ("a", 1)),
            ("a", ("a", 9092)),
            ("12:34", ("12", 34)),
            ("0:[::1]:3", ("::1", 3)),
            ("[::1]:3", ("::1", 3)),
        ):
            self.assertEqual(parse_broker_list([text]), [expected], text)

    def test_bad_forms(self) -> None:
        """Another form is refused."""
        for text in ("0:a:b", "0:a:0", ":9092", "0:[::1"):
            self.assertRaises(SettingError, parse_broker_list, [text])


class ChoiceTests(SynchronousTestCase):
    def static(self, **settings: str) -> list[Address]:
        """Return the static addresses of a consumer's settings."""
        return list(static_addresses(ClientSettings.load("consumer", settings)).known)

    def zookeeper(self, **settings: str) -> bool:
        """Return True if ZooKeeper is asked."""
        return uses_zookeeper(ClientSettings.load("consumer", settings))

    def test_static(self) -> None:
        """The addresses come from bootstrap.servers, or from broker.list by one of its names."""
        self.assertEqual(self.static(bootstrap_servers="a:1,b:2"), [("a", 1), ("b", 2)])
        self.assertEqual(self.static(broker_list="0:a:1,1:b:2"), [("a", 1), ("b", 2)])
        self.assertEqual(self.static(metadata_broker_list="a:1"), [("a", 1)])

    def test_refused(self) -> None:
        """Two lists are too many, and none is too few."""
        self.assertRaises(SettingError, self.static, bootstrap_servers="a:1", broker_list="0:a:1")
        self.assertRaises(SettingError, self.static)

    def test_zookeeper(self) -> None:
        """ZooKeeper takes precedence over broker.list, and bootstrap.servers over ZooKeeper."""
        self.assertTrue(self.zookeeper(zookeeper_connect="z:1/x"))
        self.assertTrue(self.zookeeper(zk_connect="z:1", broker_list="0:a:1"))
        self.assertFalse(self.zookeeper(zk_connect="z:1", bootstrap_servers="a:1"))
        self.assertFalse(self.zookeeper(broker_list="0:a:1"))
        self.assertRaises(SettingError, self.zookeeper, zookeeper_connect="z:1//x y/..")
