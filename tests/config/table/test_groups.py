"""Settings of groups: what groups get of them, and their choices."""

from __future__ import annotations

from twisted.trial.unittest import SynchronousTestCase

from kafkatx.config import BrokerConfig
from kafkatx.config.table import groups
from kafkatx.errors import SettingError
from kafkatx.group.settings import GroupSettings


class GroupsTests(SynchronousTestCase):
    def test_defaults(self) -> None:
        """A group machine without settings behaves as a broker without settings."""
        self.assertEqual(GroupSettings(), GroupSettings.of(BrokerConfig.load()))

    def test_sample(self) -> None:
        """The sample file lets a group begin at once, as Apache Kafka's does."""
        self.assertEqual(groups.GROUP_INITIAL_REBALANCE_DELAY_MS.sample, "0")

    def test_choices(self) -> None:
        """Protocols and assignors are lists of known names that are not empty."""
        for setting in (groups.GROUP_COORDINATOR_REBALANCE_PROTOCOLS, groups.GROUP_CONSUMER_ASSIGNORS):
            self.assertEqual(setting.parse(setting.default[1]), (setting.default[1],))
            for text in ("", "other"):
                self.assertRaises(SettingError, setting.parse, text)

    def test_dynamic(self) -> None:
        """Memory limits may change while the broker runs; the number of partitions of the topic may not."""
        self.assertTrue(groups.GROUPS_MAX_BYTES.dynamic)
        self.assertFalse(groups.OFFSETS_TOPIC_NUM_PARTITIONS.dynamic)
