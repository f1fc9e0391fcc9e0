"""Tests of kafkatx.clientcore.tables.consumer: defaults, old names and limits."""

from __future__ import annotations

from typing import Any

from twisted.trial.unittest import SynchronousTestCase

from kafkatx.clientcore.settings import ClientSettings
from kafkatx.clientcore.tables import consumer
from kafkatx.errors import SettingError


class ConsumerTests(SynchronousTestCase):
    def load(self, **values: Any) -> ClientSettings:
        """Return a consumer's settings."""
        return ClientSettings.load("consumer", values)

    def test_java_defaults(self) -> None:
        """Defaults are those of the Java consumer 4.0 with the classic group protocol."""
        settings = self.load()
        found = [
            settings[row]
            for row in (
                consumer.AUTO_OFFSET_RESET,
                consumer.FETCH_MIN_BYTES,
                consumer.FETCH_MAX_WAIT_MS,
                consumer.FETCH_MAX_BYTES,
                consumer.MAX_PARTITION_FETCH_BYTES,
                consumer.MAX_POLL_RECORDS,
                consumer.CHECK_CRCS,
                consumer.ISOLATION_LEVEL,
                consumer.GROUP_ID,
                consumer.ENABLE_AUTO_COMMIT,
                consumer.AUTO_COMMIT_INTERVAL_MS,
                consumer.SESSION_TIMEOUT_MS,
                consumer.HEARTBEAT_INTERVAL_MS,
                consumer.MAX_POLL_INTERVAL_MS,
                consumer.PARTITION_ASSIGNMENT_STRATEGY,
            )
        ]
        expected = [
            *("latest", 1, 500, 52_428_800, 1_048_576, 500, True, "read_uncommitted", None, True),
            *(5000, 45_000, 3000, 300_000, ("range", "cooperative-sticky")),
        ]
        self.assertEqual(found, expected)

    def test_old_names(self) -> None:
        """Names and values of Kafka 0.7 and 0.8 are accepted for the same settings."""
        settings = self.load(groupid="g", autooffset_reset="smallest", fetch_size=7, autocommit_interval_ms=8)
        self.assertEqual(settings[consumer.GROUP_ID], "g")
        self.assertEqual(settings[consumer.AUTO_OFFSET_RESET], "earliest")
        self.assertEqual(settings[consumer.MAX_PARTITION_FETCH_BYTES], 7)
        self.assertEqual(settings[consumer.AUTO_COMMIT_INTERVAL_MS], 8)

    def test_limits(self) -> None:
        """Values out of range, and an empty list of assignors, are refused."""
        for values in (
            {"max_poll_records": 0},
            {"session_timeout_ms": 0},
            {"kafkatx_pattern_refresh_ms": 99},
            {"partition_assignment_strategy": ""},
            {"auto_offset_reset": "first"},
        ):
            self.assertRaises(SettingError, self.load, **values)

    def test_several_assignors(self) -> None:
        """Assignors may be text with commas, or a list."""
        for value in ("range,sticky", ["range", "sticky"]):
            settings = self.load(partition_assignment_strategy=value)
            self.assertEqual(settings[consumer.PARTITION_ASSIGNMENT_STRATEGY], ("range", "sticky"))
