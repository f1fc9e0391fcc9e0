"""Tests of kafkatx.clientcore.tables.zookeeper."""

from __future__ import annotations

from twisted.trial.unittest import SynchronousTestCase

from kafkatx.clientcore.settings import KINDS, ClientSettings
from kafkatx.clientcore.tables import zookeeper
from kafkatx.config.table import zookeeper as broker
from kafkatx.errors import SettingError


class TableTests(SynchronousTestCase):
    def test_every_client(self) -> None:
        """Every client has the settings, by the names of Kafka 0.7, too."""
        for kind in KINDS:
            for name in ("zookeeper.connect", "zk.connect"):
                settings = ClientSettings.load(kind, {name: "a:1,b:2/x/"})
                self.assertEqual(settings[zookeeper.ZOOKEEPER_CONNECT], "a:1,b:2/x")
            self.assertIsNone(ClientSettings.load(kind)[zookeeper.ZOOKEEPER_CONNECT])
        self.assertRaises(SettingError, ClientSettings.load, "consumer", {"zk.connect": "a:1//x"})

    def test_as_a_broker(self) -> None:
        """A row has a broker's name, default and form; a broker's own texts are not a client's."""
        rows = {row.name: row for section in broker.SECTIONS for row in section.settings}
        for row in zookeeper.ZOOKEEPER.settings:
            self.assertNotIn("this broker", row.doc)
            if row is not zookeeper.LISTENER:
                same = rows[row.name]
                self.assertEqual(
                    (row.type, row.default, row.aliases), (same.type, same.default, same.aliases)
                )
