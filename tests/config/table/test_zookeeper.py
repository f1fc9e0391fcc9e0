"""The settings of ZooKeeper: servers and chroot, old names, and texts with a form of their own."""

from __future__ import annotations

from twisted.trial.unittest import SynchronousTestCase

from kafkatx.config import BrokerConfig
from kafkatx.config.table import zookeeper as z
from kafkatx.config.table.row import Setting
from kafkatx.errors import SettingError


class ConnectTests(SynchronousTestCase):
    def test_taken(self) -> None:
        """Servers with and without ports, IPv6 addresses, and a chroot; blanks and a last slash go."""
        for text, value in (
            ("h", "h"),
            ("zk1:2181,zk-2.example:2182", "zk1:2181,zk-2.example:2182"),
            (" a:1 , b:2/kafka/ ", "a:1,b:2/kafka"),
            ("h:1/", "h:1"),
            ("h:1/a/b c", "h:1/a/b c"),
            ("[::1]:2181,10.0.0.1", "[::1]:2181,10.0.0.1"),
        ):
            self.assertEqual(z.ZOOKEEPER_CONNECT.parse(text), value)

    def test_refused(self) -> None:
        """Text that names no server or no path of a node is refused, with the right form."""
        for text in ("", "/kafka", "h:x", "h:1,", "h:1//a", "h:1/a//b", "h:1/..", "h:1/a/.", "http://h:1"):
            error = self.assertRaises(SettingError, z.ZOOKEEPER_CONNECT.parse, text)
            self.assertEqual(
                str(error),
                f"zookeeper.connect={text}: the value must be HOST:PORT,HOST:PORT/PATH, where the path is "
                "optional",
            )


class OthersTests(SynchronousTestCase):
    def test_old_names(self) -> None:
        """The names of Kafka 0.7 set the same."""
        config = BrokerConfig.load(
            None, {"zk.connect": "h:1", "zk.sessiontimeout.ms": "5", "zk.connectiontimeout.ms": "6"}
        )
        self.assertEqual(config[z.ZOOKEEPER_CONNECT], "h:1")
        self.assertEqual(config[z.ZOOKEEPER_SESSION_TIMEOUT_MS], 5)
        self.assertEqual(config[z.ZOOKEEPER_CONNECTION_TIMEOUT_MS], 6)

    def test_forms(self) -> None:
        """The broker's version is 5, 4 or 2; the identification of hosts is HTTPS or nothing."""
        version: Setting[int] = z.KAFKATX_ZOOKEEPER_BROKER_VERSION
        self.assertEqual([version.parse(text) for text in ("5", " 4 ", "2")], [5, 4, 2])
        self.assertRaises(SettingError, version.parse, "3")
        identification = z.ZOOKEEPER_SSL_ENDPOINT_IDENTIFICATION_ALGORITHM
        self.assertEqual([identification.parse(text) for text in ("https", "")], ["HTTPS", ""])
        self.assertRaises(SettingError, identification.parse, "none")
