"""The table of topic configs: those that count, and those that are only stored."""

from __future__ import annotations

from twisted.trial.unittest import SynchronousTestCase

from kafkatx.config.table import topic
from kafkatx.config.table.row import format_value
from kafkatx.errors import SettingError


class TopicTableTests(SynchronousTestCase):
    def test_apart(self) -> None:
        """A config is honoured or kept, not both."""
        kept = {setting.name for setting in topic.KEPT.settings}
        self.assertEqual(kept & topic.SETTINGS.keys(), set())
        self.assertEqual(kept | topic.SETTINGS.keys(), set(topic.ALL_SETTINGS))

    def test_kept_are_checked(self) -> None:
        """Configs that are only stored must have valid values, too."""
        for name, text in (
            ("compression.gzip.level", "10"),
            ("preallocate", "maybe"),
            ("local.retention.ms", "-3"),
        ):
            self.assertRaises(SettingError, topic.ALL_SETTINGS[name].parse, text)

    def test_defaults_are_valid(self) -> None:
        """The text of every default is parsed as that default."""
        for setting in topic.ALL_SETTINGS.values():
            self.assertEqual(
                setting.parse(format_value(setting.default) or ""), setting.default, setting.name
            )

    def test_policies(self) -> None:
        """The cleanup policy may be empty: then nothing is deleted but by DeleteRecords."""
        self.assertEqual(topic.CLEANUP_POLICY.parse(""), ())
