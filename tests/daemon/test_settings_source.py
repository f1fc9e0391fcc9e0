"""The settings file and its overrides."""

from __future__ import annotations

import os

from twisted.trial.unittest import SynchronousTestCase

from kafkatx.daemon.settings_source import SettingsSource


class SettingsSourceTests(SynchronousTestCase):
    def test_loads_again(self) -> None:
        """The file is read each time, also from another working directory; overrides go before it."""
        path = self.mktemp()
        source = SettingsSource.of(path, [("broker.id", "5")])
        before = os.getcwd()
        for partitions in (3, 4):
            with open(source.path or "", "w") as file:
                file.write(f"num.partitions={partitions}\nbroker.id=1\n")
            config = source.load()
            self.assertEqual((config.get("num.partitions"), config.get("broker.id")), (partitions, 5))
            os.chdir("/")
            self.addCleanup(os.chdir, before)

    def test_groups_do_not_wait(self) -> None:
        """Without a file and a cluster a group does not wait for members, unless a setting says so."""
        name, path = "group.initial.rebalance.delay.ms", self.mktemp()
        with open(path, "w") as file:
            file.write("num.partitions=2\n")
        for source, expected in (
            (SettingsSource.of(None, []), 0),
            (SettingsSource.of(None, [(name, "5")]), 5),
            (SettingsSource.of(None, [("zookeeper.connect", "h:1")]), 3000),
            (SettingsSource.of(path, []), 3000),
        ):
            self.assertEqual(source.without_file().load().get(name), expected)
