"""The options of ``kafkatx up`` that stand for settings."""

from __future__ import annotations

import os
from typing import Any

from click import UsageError
from twisted.trial.unittest import SynchronousTestCase

from kafkatx.cli.broker.settings import data_directory, log_dirs, overrides
from kafkatx.config import BrokerConfig
from kafkatx.errors import SettingError


def made(*sets: tuple[str, str], **options: Any) -> list[tuple[str, str]]:
    """Return the overrides for these options."""
    return overrides(sets, **{"config": None, "port": None, "data": None, "memory": False, **options})


class OverridesTests(SynchronousTestCase):
    def file(self, text: str) -> str:
        """Write a settings file."""
        path: str = self.mktemp()
        with open(path, "w") as file:
            file.write(text)
        return path

    def test_none(self) -> None:
        """Without options nothing is overridden."""
        self.assertEqual(made(), [])

    def test_sugar(self) -> None:
        """Each option stands for a setting, behind those of --set."""
        self.assertEqual(
            made(("broker.id", "1"), port=9, data="d"),
            [("broker.id", "1"), ("listeners", "PLAINTEXT://127.0.0.1:9"), ("log.dirs", "d")],
        )
        self.assertEqual(made(memory=True), [("kafkatx.storage", "memory")])
        self.assertEqual(made(zookeeper="zk:1/x"), [("zookeeper.connect", "zk:1/x")])

    def test_several(self) -> None:
        """A settings file may name the store that --brokers has in any case."""
        found = made(("kafkatx.metadata.store", "local"), brokers=2)
        self.assertEqual(BrokerConfig.load(None, found).get("kafkatx.metadata.store"), "local")

    def test_port_keeps_host(self) -> None:
        """--port changes only the port of the listener in the settings file."""
        config = self.file(
            "listeners=CLIENTS://0.0.0.0:9092\nlistener.security.protocol.map=CLIENTS:PLAINTEXT\n"
        )
        self.assertEqual(made(config=config, port=9), [("listeners", "CLIENTS://0.0.0.0:9")])

    def test_port_of_several_listeners(self) -> None:
        """--port cannot mean one of several listeners."""
        config = self.file(
            "listeners=A://127.0.0.1:1,B://127.0.0.1:2\nlistener.security.protocol.map=A:PLAINTEXT,B:PLAINTEXT\n"
        )
        with self.assertRaisesRegex(UsageError, "--port is for one listener"):
            made(config=config, port=9)

    def test_conflicts(self) -> None:
        """Two options that contradict each other are told in one sentence."""
        for setting, options in (
            ("listeners", {"port": 1}),
            ("port", {"port": 1}),
            ("log.dirs", {"data": "d"}),
            ("log.dir", {"data": "d"}),
            ("kafkatx.storage", {"memory": True}),
        ):
            with self.assertRaisesRegex(UsageError, f"^--[a-z]+ and --set {setting} mean the same"):
                made((setting, "x"), **options)
        with self.assertRaisesRegex(UsageError, "leave out --data"):
            made(memory=True, data="d")


class DataDirectoryTests(SynchronousTestCase):
    def test_default(self) -> None:
        """Without options it is ./data."""
        self.assertEqual(data_directory(None, None), os.path.abspath("data"))

    def test_named(self) -> None:
        """It is the one that --data names, or the first that the settings file names."""
        config = self.mktemp()
        with open(config, "w") as file:
            file.write("log.dirs=/a,/b\n")
        self.assertEqual(data_directory("d", None), os.path.abspath("d"))
        self.assertEqual(data_directory(None, config), "/a")
        with self.assertRaisesRegex(UsageError, "give one of them"):
            data_directory("d", config)

    def test_memory(self) -> None:
        """A broker in memory has none."""
        config = self.mktemp()
        with open(config, "w") as file:
            file.write("kafkatx.storage=memory\n")
        self.assertEqual(log_dirs(BrokerConfig.load(config)), [])
        with self.assertRaisesRegex(UsageError, "has no data directory"):
            data_directory(None, config)

    def test_wrong_file(self) -> None:
        """A settings file that cannot be read is told."""
        self.assertRaises(SettingError, data_directory, None, "/nowhere")
