"""The settings of limits: what they refuse, so that no limit shuts every client out."""

from __future__ import annotations

from twisted.trial.unittest import SynchronousTestCase

from kafkatx.config.table import limits
from kafkatx.errors import SettingError


class LimitsTests(SynchronousTestCase):
    def test_lows(self) -> None:
        """Values that would refuse ordinary requests are not allowed; no minimum rate is."""
        self.assertEqual(limits.REQUEST_MIN_BYTES_PER_SECOND.parse("0"), 0)
        for setting in (
            limits.REQUEST_TURN_MAX_MS,
            limits.REQUEST_MAX_ITEMS,
            limits.DOWNCONVERSION_MAX_BYTES,
        ):
            self.assertRaises(SettingError, setting.parse, "999")

    def test_samples(self) -> None:
        """A rate is measured over at least one sample of at least one second."""
        for setting in (limits.QUOTA_WINDOW_NUM, limits.QUOTA_WINDOW_SIZE_SECONDS):
            self.assertEqual(setting.parse("1"), 1)
            self.assertRaises(SettingError, setting.parse, "0")
