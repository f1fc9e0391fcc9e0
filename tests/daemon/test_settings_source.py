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
