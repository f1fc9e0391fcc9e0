"""Secrets among the settings: no text for people has them."""

from __future__ import annotations

from collections.abc import Iterator

from twisted.trial.unittest import SynchronousTestCase

from kafkatx.config import BrokerConfig, describe_all_brokers, describe_broker
from kafkatx.config.alter import (
    Alteration,
    Operation,
    altered,
    broker_row,
    check_broker_configs,
    usable_broker_configs,
)
from kafkatx.config.links import link_settings
from kafkatx.config.listeners import OVERRIDE
from kafkatx.config.table import broker
from kafkatx.config.table.mirror.rows import PREFIX, ROWS
from kafkatx.config.table.row import HIDDEN, ConfigType, Section, Setting
from kafkatx.config.table.security import tls
from kafkatx.errors import RequestError, SettingError
from kafkatx.metadata.tree.zookeeper.settings import ZooKeeperSettings

CANARY = "canary-7f3a91"


def secrets() -> Iterator[tuple[str, Setting[object]]]:
    """Yield name and row of each secret setting of a broker: its own, of a listener, and of a link."""
    for name, row in broker.SETTINGS.items():
        if row.type is ConfigType.PASSWORD:
            yield name, row
            if name in tls.BY_LISTENER:
                yield f"{OVERRIDE}out.{name}", row
    for name, row in ROWS.items():
        if row.type is ConfigType.PASSWORD:
            yield f"{PREFIX}dc1.{name}", row


def accepts_any_text(row: Setting[object]) -> bool:
    """Return True for a secret without a form of its own."""
    return row.read is str


class SecretsTests(SynchronousTestCase):
    def setUp(self) -> None:
        """Set every secret that may have any text."""
        self.named = {name: CANARY for name, row in secrets() if accepts_any_text(row)}
        self.config = BrokerConfig.load(None, {"mirror.links": "dc1", **self.named})

    def test_known(self) -> None:
        """A setting whose name says that it is a secret has the type of secrets."""
        rows = {**broker.SETTINGS, **ROWS}
        wrong = [
            name
            for name, row in rows.items()
            if name.endswith(("password", ".secret", "keystore.key", "jaas.config"))
            and row.type is not ConfigType.PASSWORD
        ]
        self.assertEqual(wrong, [])
        self.assertGreaterEqual(len(self.named), 15)

    def test_described(self) -> None:
        """DescribeConfigs shows no value, also not as that of a synonym or of all brokers."""
        dynamic = self.config.with_dynamic(self.named, self.named)
        for config in (self.config, dynamic):
            shown = repr([describe_broker(config), describe_all_brokers(config)])
            self.assertNotIn(CANARY, shown)
        self.assertIn("ssl.keystore.password", repr(describe_broker(self.config)))

    def test_values(self) -> None:
        """The values that parts of the broker are given do not show it when they are logged."""
        zookeeper = ZooKeeperSettings("zk:2181", credentials=("me", CANARY))
        for value in (self.config, link_settings(self.config)["dc1"], zookeeper, self.config.rows()):
            self.assertNotIn(CANARY, repr(value))
        self.assertNotIn(CANARY, " ".join(self.config.warnings))

    def test_errors(self) -> None:
        """A client that sets a secret which is not dynamic is told so, without it."""
        for name in self.named:
            error = self.assertRaises(RequestError, check_broker_configs, {name: CANARY})
            self.assertNotIn(CANARY, str(error))
            self.assertIn(name.removeprefix(f"{OVERRIDE}out."), str(error))
        _, complaints = usable_broker_configs(self.named)
        self.assertEqual(len(complaints), len(self.named))
        self.assertNotIn(CANARY, repr(complaints))

    def test_append(self) -> None:
        """A secret is no list to which something can be added."""
        for name in ("ssl.keystore.password", "mirror.dc1.ssl.keystore.password"):
            change = Alteration(name, Operation.APPEND, CANARY)
            error = self.assertRaises(RequestError, altered, {}, [change], broker_row, lambda row: None)
            self.assertNotIn(CANARY, str(error))

    def test_wrong_form(self) -> None:
        """The error about a secret that has a form, and another text, does not show the text."""

        def read(text: str) -> str:
            raise ValueError(text)

        row = Section("", "").parsed("s", ConfigType.PASSWORD, "", "", read, "a token")
        error = self.assertRaises(SettingError, row.parse, CANARY)
        self.assertEqual(str(error), f"s={HIDDEN}: the value must be a token")
