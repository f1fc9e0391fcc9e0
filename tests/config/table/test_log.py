"""Settings of logs: choices, bounds, and the topic configs whose defaults they are."""

from __future__ import annotations

from twisted.trial.unittest import SynchronousTestCase

from kafkatx.config import BrokerConfig, log_config
from kafkatx.config.table import log
from kafkatx.errors import SettingError


class LogTests(SynchronousTestCase):
    def test_choices(self) -> None:
        """Words other than those of the choices are refused, and the message has the choices."""
        for setting in (
            log.RECORDS_VALIDATION,
            log.COMPRESSION_TYPE,
            log.LOG_EXPOSE,
            log.LOG_MESSAGE_TIMESTAMP_TYPE,
        ):
            error = self.assertRaises(SettingError, setting.parse, "other")
            self.assertIn(setting.default, str(error))
            self.assertEqual(setting.parse(f" {setting.default} "), setting.default)

    def test_smallest(self) -> None:
        """A segment holds at least a header, and an index an entry."""
        self.assertRaises(SettingError, log.LOG_SEGMENT_BYTES.parse, "13")
        self.assertRaises(SettingError, log.LOG_INDEX_SIZE_MAX_BYTES.parse, "11")

    def test_log_dirs(self) -> None:
        """Log dirs are a list that is not empty."""
        self.assertEqual(log.LOG_DIRS.parse("/a, /b"), ("/a", "/b"))
        self.assertRaises(SettingError, log.LOG_DIRS.parse, "")

    def test_defaults_of_topics(self) -> None:
        """A setting of the broker is the default of its topic config."""
        config = BrokerConfig.load(None, {"log.flush.interval.messages": "5", "log.roll.hours": "2"})
        found = log_config(config, {})
        self.assertEqual((found.flush_messages, found.segment_ms), (5, 7_200_000))

    def test_difference(self) -> None:
        """The old name for both limits of timestamps counts where neither is set."""
        name = "log.message.timestamp.difference.max.ms"
        found = log_config(BrokerConfig.load(None, {name: "9"}), {})
        limits = (found.message_timestamp_before_max_ms, found.message_timestamp_after_max_ms)
        self.assertEqual(limits, (9, 9))
        found = log_config(
            BrokerConfig.load(None, {name: "9", "log.message.timestamp.after.max.ms": "4"}), {}
        )
        self.assertEqual(found.message_timestamp_after_max_ms, 4)
