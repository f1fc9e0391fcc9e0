"""Plugins are found by name, given their settings and checked; each mistake is one line."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from twisted.internet.task import Clock
from twisted.trial.unittest import SynchronousTestCase
from zope.interface import implementer

from kafkatx import plugins
from kafkatx.client.deferreds import client_cluster
from kafkatx.client.plugins import encoder
from kafkatx.clientcore.settings import ClientSettings
from kafkatx.clientcore.tables import producer
from kafkatx.config import BrokerConfig
from kafkatx.errors import SettingError
from kafkatx.extension import find
from kafkatx.interfaces import IConfigurable, IEncoder, IRetentionPolicy
from kafkatx.tap import installed_parts

SETTING = "kafkatx.retention"

# A module of plugins as a distribution would bring one; the factories are those below.
_MODULE = """
from kafkatx.extension import Extension
from kafkatx.interfaces import IEncoder, ILogStore, IRetentionPolicy

days = Extension(IRetentionPolicy, "days", "tests.test_extension:Days", "")
impostor = Extension(IRetentionPolicy, "impostor", "tests.test_extension:Impostor", "")
wrong = Extension(IRetentionPolicy, "wrong", "tests.test_extension:Wrong", "")
gone = Extension(IRetentionPolicy, "gone", "tests.no_such_module:Gone", "")
shelf = Extension(ILogStore, "shelf", "tests.test_extension:Impostor", "")
shout = Extension(IEncoder, "shout", "tests.test_extension:Shout", "")
"""


@implementer(IRetentionPolicy, IConfigurable)
class Days:
    """A policy with settings of its own."""

    settings: Mapping[str, str] = {}

    def configure(self, settings: Mapping[str, str]) -> None:
        """Take the settings."""
        if set(settings) - {"most"}:
            raise SettingError(f"days knows most, not {', '.join(sorted(settings))}")
        self.settings = settings

    def expired(self, segments: Any, config: Any, now_ms: int) -> int:
        """None."""
        return 0


class Impostor:
    """It provides nothing."""

    def __init__(self, *arguments: Any) -> None:
        pass


class Wrong:
    """Its method takes too little."""

    def expired(self) -> int:
        """Nothing to judge."""
        return 0


@implementer(IEncoder, IConfigurable)
class Shout:
    """An encoder with settings."""

    mark = "!"

    def configure(self, settings: Mapping[str, str]) -> None:
        """Take the settings."""
        self.mark = settings.get("mark", "!")

    def encode(self, topic: str, value: Any) -> bytes | None:
        """The value and the mark."""
        return None if value is None else f"{value}{self.mark}".encode()


class PluginCase(SynchronousTestCase):
    def setUp(self) -> None:
        """Install the module of plugins."""
        folder = Path(self.mktemp()).resolve() / "kafkatx" / "plugins"
        folder.mkdir(parents=True)
        (folder / "extension_tests.py").write_text(_MODULE)
        plugins.__path__.append(os.fspath(folder))
        self.addCleanup(sys.modules.pop, "kafkatx.plugins.extension_tests", None)
        self.addCleanup(plugins.__path__.remove, os.fspath(folder))

    def mistake(self, name: str, interface: Any = IRetentionPolicy) -> str:
        """The message that choosing and making a plugin ends with, which is one line."""
        with self.assertRaises(SettingError) as caught:
            find(interface, name, SETTING)()
        message = str(caught.exception)
        self.assertNotIn("\n", message)
        self.assertTrue(message.startswith(f"{SETTING}={name}: "), message)
        return message


class FindTests(PluginCase):
    def test_unknown(self) -> None:
        """A name that no plugin has suggests the nearest."""
        self.assertIn("did you mean days", self.mistake("dayz"))

    def test_not_provided(self) -> None:
        """A class without the interface's methods is refused, and what it lacks is named."""
        self.assertIn("does not provide IRetentionPolicy", self.mistake("impostor"))
        self.assertIn("expired", self.mistake("impostor"))

    def test_wrong_arguments(self) -> None:
        """A method with other arguments than the interface's is refused."""
        self.assertIn("expired", self.mistake("wrong"))

    def test_cannot_be_imported(self) -> None:
        """A factory whose module is not there is one line as well."""
        self.assertIn("cannot be imported", self.mistake("gone"))

    def test_store_not_provided(self) -> None:
        """A store is checked when the broker makes it, before it has done anything."""
        parts = installed_parts(BrokerConfig.load(None, {"kafkatx.storage": "shelf"}))
        with self.assertRaisesRegex(SettingError, "kafkatx.storage=shelf: it does not provide ILogStore"):
            parts.log_store(None, None, None, None)

    def test_broker_refuses(self) -> None:
        """A broker with a policy that is none does not start."""
        config = BrokerConfig.load(None, {SETTING: "impostor"})
        self.assertRaises(SettingError, installed_parts, config)


class SettingsTests(PluginCase):
    def policy(self, **settings: str) -> Any:
        """The policy ``days`` as a broker with settings has it; ``_`` stands for a dot."""
        named = {f"kafkatx.plugin.{name.replace('_', '.')}": value for name, value in settings.items()}
        config = BrokerConfig.load(None, {SETTING: "days", **named})
        return installed_parts(config).find_retention("days")

    def test_given(self) -> None:
        """A plugin gets its own settings, by names without their common beginning."""
        self.assertEqual(dict(self.policy(days_most="3").settings), {"most": "3"})
        self.assertEqual(dict(self.policy().settings), {})

    def test_refused(self) -> None:
        """A plugin's complaint about a wrong setting ends the start."""
        with self.assertRaisesRegex(SettingError, "days knows most, not least"):
            self.policy(days_least="3")

    def test_no_such_plugin(self) -> None:
        """A setting of a plugin that is not installed suggests the nearest."""
        with self.assertRaisesRegex(SettingError, "no plugin is called 'dais'; did you mean days"):
            self.policy(dais_most="3")

    def test_plugin_without_settings(self) -> None:
        """A setting for a plugin that takes none is an error, not nothing."""
        with self.assertRaisesRegex(SettingError, "most: the plugin of kafkatx.retention=keep has no"):
            find(IRetentionPolicy, "keep", SETTING, {"most": "3"})()

    def test_client(self) -> None:
        """A client's plugins get theirs in the same way."""
        settings = ClientSettings.load(
            "producer", {"value.serializer": "shout", "kafkatx.plugin.shout.mark": "?"}
        )
        encode = encoder(settings, producer.VALUE_SERIALIZER)
        assert encode is not None
        self.assertEqual(encode("t", "what"), b"what?")

    def test_client_no_such_plugin(self) -> None:
        """A client refuses a setting of a plugin that is not installed."""
        values = {"bootstrap.servers": "127.0.0.1:1", "kafkatx.plugin.shut.mark": "?"}
        with self.assertRaisesRegex(SettingError, "did you mean shout"):
            client_cluster("producer", values, {}, Clock(), None)
