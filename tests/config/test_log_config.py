"""The settings of a log: what is derived from them, and that their defaults are the tables'."""

from __future__ import annotations

import attrs
from twisted.trial.unittest import SynchronousTestCase

from kafkatx.config import BrokerConfig, log_config
from kafkatx.config.log_config import BOUNDED, FULL, HEADERS, LogConfig


class LogConfigTests(SynchronousTestCase):
    def test_defaults(self) -> None:
        """The defaults of the class are those of the settings."""
        self.assertEqual(attrs.asdict(LogConfig()), attrs.asdict(log_config(BrokerConfig.load(), {})))

    def test_compacted(self) -> None:
        """A log is compacted if its policy says so, also beside delete."""
        policies = ({"delete"}, {"compact"}, {"compact", "delete"}, set[str]())
        found = [LogConfig(cleanup_policy=frozenset(one)).compacted for one in policies]
        self.assertEqual(found, [False, True, True, False])

    def test_exposes_flushed(self) -> None:
        """Consumers wait for the disk with ``flushed`` only."""
        self.assertEqual([LogConfig(expose=e).exposes_flushed for e in ("written", "flushed")], [False, True])

    def test_log_append_time(self) -> None:
        """The broker's clock counts with LogAppendTime only."""
        kinds = ("CreateTime", "LogAppendTime")
        self.assertEqual([LogConfig(message_timestamp_type=k).log_append_time for k in kinds], [False, True])

    def test_checks_records(self) -> None:
        """With ``headers`` no record is checked."""
        found = [LogConfig(records_validation=v).checks_records for v in (HEADERS, BOUNDED, FULL)]
        self.assertEqual(found, [False, True, True])

    def test_inflated_limit(self) -> None:
        """A batch that may be appended may also be decompressed."""
        self.assertEqual(LogConfig(max_inflated_bytes=10, max_message_bytes=20).inflated_limit_bytes, 20)
        self.assertEqual(LogConfig(max_inflated_bytes=30, max_message_bytes=20).inflated_limit_bytes, 30)
