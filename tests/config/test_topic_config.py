"""Topic configs over the broker's settings."""

from __future__ import annotations

import re
from typing import Any

import attrs
from twisted.trial.unittest import SynchronousTestCase

from kafkatx.config import BrokerConfig, LogConfig, log_config, topic_value, validate_topic_configs
from kafkatx.config.table import broker as b
from kafkatx.config.table import topic
from kafkatx.config.table.row import format_value
from kafkatx.config.topic_config import DEFAULT_FROM
from kafkatx.errors import ErrorCode, RequestError, SettingError

HOUR = 3_600_000
MAX = 2**63 - 1

# the broker's settings, the topic's configs, a field of LogConfig and its value
RESOLVED: tuple[tuple[dict[str, str], dict[str, str], str, Any], ...] = (
    ({}, {"confluent.value.schema.validation": "true"}, "value_schemas", True),
    ({}, {"confluent.key.schema.validation": "true"}, "key_schemas", True),
    ({}, {}, "retention_ms", 168 * HOUR),
    ({"log.retention.hours": "2"}, {}, "retention_ms", 2 * HOUR),
    ({"log.retention.hours": "2", "log.retention.minutes": "3"}, {}, "retention_ms", 180_000),
    ({"log.retention.minutes": "3", "log.retention.ms": "4"}, {}, "retention_ms", 4),
    ({"log.retention.ms": "4"}, {"retention.ms": "5"}, "retention_ms", 5),
    ({"log.retention.hours": "-1"}, {}, "retention_ms", -1),
    ({"log.retention.hours": "2", "log.retention.ms": "-1"}, {}, "retention_ms", -1),
    ({"log.retention.hours": "2"}, {"retention.ms": "-1"}, "retention_ms", -1),
    ({"log.retention.bytes": "7"}, {}, "retention_bytes", 7),
    ({"log.roll.hours": "2"}, {}, "segment_ms", 2 * HOUR),
    ({"log.roll.hours": "2", "log.roll.ms": "9"}, {}, "segment_ms", 9),
    ({"log.roll.ms": "9"}, {"segment.ms": "8"}, "segment_ms", 8),
    ({"log.flush.interval.messages": "1"}, {}, "flush_messages", 1),
    ({"log.flush.interval.messages": "1"}, {"flush.messages": "2"}, "flush_messages", 2),
    ({"log.flush.interval.ms": "50"}, {}, "flush_ms", 50),
    ({"log.expose": "flushed"}, {}, "expose", "flushed"),
    ({"log.expose": "flushed"}, {"kafkatx.expose": "written"}, "expose", "written"),
    ({"log.segment.bytes": "100"}, {}, "segment_bytes", 100),
    ({"log.index.size.max.bytes": "24"}, {}, "segment_index_bytes", 24),
    ({"log.index.interval.bytes": "24"}, {}, "index_interval_bytes", 24),
    ({"message.max.bytes": "24"}, {}, "max_message_bytes", 24),
    ({"message.max.bytes": "24"}, {"max.message.bytes": "25"}, "max_message_bytes", 25),
    ({"log.cleanup.policy": "compact"}, {}, "cleanup_policy", frozenset({"compact"})),
    ({}, {"cleanup.policy": ""}, "cleanup_policy", frozenset()),
    ({"log.cleanup.policy": ""}, {}, "cleanup_policy", frozenset()),
    ({}, {"cleanup.policy": "compact, delete"}, "cleanup_policy", frozenset({"compact", "delete"})),
    ({"log.segment.delete.delay.ms": "1"}, {}, "file_delete_delay_ms", 1),
    ({"log.cleaner.min.cleanable.ratio": "0.25"}, {}, "min_cleanable_dirty_ratio", 0.25),
    ({"log.cleaner.delete.retention.ms": "7"}, {}, "delete_retention_ms", 7),
    ({"log.cleaner.delete.retention.ms": "7"}, {"delete.retention.ms": "8"}, "delete_retention_ms", 8),
    ({"log.cleaner.min.compaction.lag.ms": "7"}, {}, "min_compaction_lag_ms", 7),
    ({"log.cleaner.max.compaction.lag.ms": "7"}, {}, "max_compaction_lag_ms", 7),
    # The active segment is never compacted, so it must be closed in time; other topics' are not.
    ({"log.cleaner.max.compaction.lag.ms": "7"}, {"cleanup.policy": "compact"}, "segment_ms", 7),
    ({"log.cleaner.max.compaction.lag.ms": "7"}, {}, "segment_ms", 168 * HOUR),
    ({"compression.type": "zstd"}, {}, "compression_type", "zstd"),
    ({"kafkatx.records.validation": "full"}, {}, "records_validation", "full"),
    ({}, {"kafkatx.records.validation": "headers"}, "records_validation", "headers"),
    ({"kafkatx.records.max.inflated.bytes": "9"}, {}, "max_inflated_bytes", 9),
    ({}, {"kafkatx.records.max.inflated.bytes": "8"}, "max_inflated_bytes", 8),
    ({"log.message.timestamp.type": "LogAppendTime"}, {}, "message_timestamp_type", "LogAppendTime"),
    ({"kafkatx.retention": "keep"}, {}, "retention_policy", "keep"),
    ({"kafkatx.retention": "keep"}, {"kafkatx.retention": "size"}, "retention_policy", "size"),
    ({"producer.id.expiration.ms": "5"}, {}, "producer_id_expiration_ms", 5),
    ({"kafkatx.producer.ids.max": "5"}, {}, "producer_ids_max", 5),
    ({}, {}, "message_timestamp_after_max_ms", HOUR),
    ({}, {}, "message_timestamp_before_max_ms", MAX),
    ({"log.message.timestamp.difference.max.ms": "5"}, {}, "message_timestamp_after_max_ms", 5),
    ({"log.message.timestamp.difference.max.ms": "5"}, {}, "message_timestamp_before_max_ms", 5),
    (
        {"log.message.timestamp.difference.max.ms": "5", "log.message.timestamp.after.max.ms": "6"},
        {},
        "message_timestamp_after_max_ms",
        6,
    ),
    (
        {"log.message.timestamp.before.max.ms": "6"},
        {"message.timestamp.difference.max.ms": "7"},
        "message_timestamp_before_max_ms",
        7,
    ),
    (
        {},
        {"message.timestamp.difference.max.ms": "7", "message.timestamp.before.max.ms": "8"},
        "message_timestamp_before_max_ms",
        8,
    ),
)

TAKEN: tuple[dict[str, str], ...] = (
    {},
    {"retention.ms": "-1", "cleanup.policy": "compact,delete"},
    {"cleanup.policy": ""},
    {"min.cleanable.dirty.ratio": "0.1", "delete.retention.ms": "0", "compression.zstd.level": "-7"},
)

REFUSED: tuple[tuple[dict[str, str | None], str], ...] = (
    ({"retention.hours": "1"}, "Unknown topic config name: retention.hours"),
    ({"retention.m": "1"}, "Unknown topic config name: retention.m; did you mean retention.ms?"),
    ({"log.retention.ms": "1"}, "Unknown topic config name: log.retention.ms"),
    ({"retention.ms": "x"}, "retention.ms=x: the value must be a whole number of 64 bits, -1 or more"),
    ({"retention.ms": "-2"}, "retention.ms=-2: the value must be"),
    ({"retention.ms": None}, "Null value not supported for topic configs: retention.ms"),
    ({"cleanup.policy": "shred"}, "cleanup.policy=shred: the value must be any of delete, compact, or empty"),
    ({"cleanup.policy": "delete,"}, "cleanup.policy=delete,: the value must be"),
    ({"segment.bytes": "13"}, "segment.bytes=13: the value must be"),
    ({"compression.type": "brotli"}, "compression.type=brotli: the value must be one of producer, "),
    ({"min.cleanable.dirty.ratio": "2"}, "min.cleanable.dirty.ratio=2: the value must be"),
    ({"retention.ms": "1", "flush.ms": "-1"}, "flush.ms=-1: the value must be"),
)


class LogConfigTests(SynchronousTestCase):
    """Tests of the settings of logs."""

    def test_defaults_agree(self) -> None:
        """With nothing set, a log has LogConfig's own defaults."""
        self.assertEqual(log_config(BrokerConfig.load(), {}), LogConfig())

    def test_precedence(self) -> None:
        """Topic over broker, and ms over minutes over hours, as in Kafka; nothing else changes by it."""
        for broker_values, topic_configs, field, value in RESOLVED:
            found = log_config(BrokerConfig.load(None, broker_values), topic_configs)
            self.assertEqual(getattr(found, field), value, (broker_values, topic_configs))

    def test_each_field_can_be_set(self) -> None:
        """Every field of LogConfig is in the table of this test, with a value that is not its default."""
        changed = {field for _, _, field, value in RESOLVED if value != getattr(LogConfig(), field)}
        self.assertEqual(changed, {field.name for field in attrs.fields(LogConfig)})

    def test_bad_stored_value(self) -> None:
        """A topic's value that is not allowed is an error, not a default."""
        self.assertRaises(SettingError, log_config, BrokerConfig.load(), {"retention.ms": "x"})

    def test_topic_value(self) -> None:
        """Configs that are not the log's are had one by one."""
        config = BrokerConfig.load(None, {"min.insync.replicas": "2"})
        self.assertEqual(topic_value(config, {}, topic.MIN_INSYNC_REPLICAS), 2)
        self.assertEqual(topic_value(config, {"min.insync.replicas": "3"}, topic.MIN_INSYNC_REPLICAS), 3)


class TableTests(SynchronousTestCase):
    """The two tables fit each other."""

    def test_gives_known_configs(self) -> None:
        """A topic config that is given by a broker setting has its default."""
        for name, sources in DEFAULT_FROM.items():
            defaults = [source.scaled(source.default) for source in sources if source.default is not None]
            setting = topic.SETTINGS[name]
            # Kafka gives flush.ms by log.flush.scheduler.interval.ms; the others are set by topic only
            if name == "flush.ms" or name.endswith(".throttled.replicas") or name.startswith("confluent."):
                self.assertEqual(defaults, [])
            else:
                self.assertIn(setting.default, defaults, name)

    def test_ranges_agree(self) -> None:
        """A topic config allows all values of the broker setting with the same unit."""
        for name, sources in DEFAULT_FROM.items():
            for source in sources:
                low = re.search(r"(-?\d+) or more", source.allowed)
                if source.scale == 1 and low:
                    topic.SETTINGS[name].parse(low.group(1))

    def test_defaults_are_allowed(self) -> None:
        """Every default could have been set."""
        for setting in topic.ALL_SETTINGS.values():
            self.assertEqual(
                setting.parse(format_value(setting.default) or ""), setting.default, setting.name
            )

    def test_words_agree(self) -> None:
        """A topic config and the broker setting that gives it say the same, if it is the only one."""
        for name, sources in DEFAULT_FROM.items():
            if len(sources) == 1 and name != "flush.ms":
                self.assertEqual(topic.SETTINGS[name].doc, sources[0].doc)

    def test_every_setting_has_words(self) -> None:
        """Every row of both tables says what it is for, in sentences."""
        for setting in (*b.SETTINGS.values(), *topic.ALL_SETTINGS.values()):
            self.assertTrue(setting.doc.endswith("."), setting.name)
            self.assertNotIn("  ", setting.doc, setting.name)

    def test_units_in_names(self) -> None:
        """A setting that has a unit in its name has it in the table."""
        for setting in (*b.SETTINGS.values(), *topic.ALL_SETTINGS.values()):
            for unit in ("ms", "bytes", "hours", "minutes"):
                if setting.name.endswith(f".{unit}"):
                    self.assertEqual(setting.unit, unit, setting.name)


class ValidateTests(SynchronousTestCase):
    """Configs that clients send."""

    def test_taken(self) -> None:
        """Configs that Kafka allows are accepted, including those that kafkatx only stores."""
        for configs in TAKEN:
            validate_topic_configs(configs)

    def test_refused(self) -> None:
        """Unknown names and bad values are INVALID_CONFIG, with a message that names them."""
        for configs, what in REFUSED:
            error = self.assertRaises(RequestError, validate_topic_configs, configs)
            self.assertEqual(error.code, ErrorCode.INVALID_CONFIG)
            self.assertTrue(str(error).startswith(what), str(error))
