"""Settings of retention and compaction: precedence, lists, and ratios."""

from __future__ import annotations

from twisted.trial.unittest import SynchronousTestCase

from kafkatx.config import BrokerConfig, log_config
from kafkatx.config.table import cleanup
from kafkatx.errors import SettingError

MINUTE_MS = 60_000


class CleanupTests(SynchronousTestCase):
    def retention_ms(self, **values: str) -> int:
        """Return the retention time of a topic without its own."""
        names = {f"log.retention.{unit}": value for unit, value in values.items()}
        return log_config(BrokerConfig.load(None, names), {}).retention_ms

    def test_precedence(self) -> None:
        """The finest unit that is set counts."""
        self.assertEqual(self.retention_ms(hours="1"), 60 * MINUTE_MS)
        self.assertEqual(self.retention_ms(hours="1", minutes="2"), 2 * MINUTE_MS)
        self.assertEqual(self.retention_ms(hours="1", minutes="2", ms="3"), 3)

    def test_no_limit(self) -> None:
        """-1 is no limit in each unit."""
        for unit in ("ms", "minutes", "hours"):
            self.assertEqual(self.retention_ms(**{unit: "-1"}), -1)

    def test_policies(self) -> None:
        """Both policies, one, or none."""
        parse = cleanup.LOG_CLEANUP_POLICY.parse
        self.assertEqual([parse(t) for t in ("compact,delete", "")], [("compact", "delete"), ()])
        self.assertRaises(SettingError, parse, "shrink")

    def test_ratios(self) -> None:
        """Ratios are from 0 to 1."""
        for setting in (cleanup.LOG_CLEANER_MIN_CLEANABLE_RATIO, cleanup.LOG_CLEANER_IO_BUFFER_LOAD_FACTOR):
            self.assertEqual([setting.parse(text) for text in ("0", "1", ".25")], [0.0, 1.0, 0.25])
            for text in ("1.1", "-0.1", "nan"):
                self.assertRaises(SettingError, setting.parse, text)
