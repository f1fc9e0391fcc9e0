"""Tests of kafkatx.mirror.table."""

from __future__ import annotations

from twisted.trial.unittest import SynchronousTestCase

from kafkatx.config.table.row import format_value
from kafkatx.mirror.table import PER_SOURCE, SECTIONS


class TableTests(SynchronousTestCase):
    def test_defaults(self) -> None:
        """Each default is a value that the setting allows, but for the sources, which have none."""
        for section in SECTIONS:
            for setting in section.settings:
                text = format_value(setting.default)
                if setting.name != "sources":
                    self.assertEqual(setting.parse(text or ""), setting.default, setting.name)

    def test_names(self) -> None:
        """No name is there twice, and those for one source are among all."""
        names = [setting.name for section in SECTIONS for setting in section.settings]
        self.assertEqual(len(set(names)), len(names))
        self.assertLessEqual({setting.name for setting in PER_SOURCE}, set(names))
