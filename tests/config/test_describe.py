"""Tests of the entries of DescribeConfigs."""

from __future__ import annotations

from twisted.trial.unittest import SynchronousTestCase

from kafkatx.config import (
    BrokerConfig,
    ConfigEntry,
    ConfigSource,
    Synonym,
    describe_all_brokers,
    describe_broker,
    describe_topic,
)
from kafkatx.config.table import broker as b
from kafkatx.config.table import topic
from kafkatx.config.table.row import ConfigType

CONFIG = BrokerConfig.load(
    None,
    {
        "log.retention.hours": "2",
        "log.retention.minutes": "3",
        "node.id": "4",
        "log.dirs": "/a, /b",
        "message.max.bytes": " 5 ",
        "num.io.threads": "8",
    },
)


class DescribeTopicTests(SynchronousTestCase):
    """A topic's configs."""

    def entry(self, name: str, **configs: str) -> ConfigEntry:
        """One entry; configs have _ for a dot."""
        given = {key.replace("_", "."): value for key, value in configs.items()}
        (found,) = [entry for entry in describe_topic(CONFIG, given) if entry.name == name]
        return found

    def test_lists_every_config(self) -> None:
        """Every honoured config is listed, once, with its default; none is read-only, one is set for all."""
        entries = describe_topic(BrokerConfig.load(), {})
        self.assertEqual([entry.name for entry in entries], list(topic.SETTINGS))
        for entry in entries:
            is_set = entry.name == "min.insync.replicas"
            self.assertEqual(entry.is_default, not is_set)
            self.assertFalse(entry.read_only)
            source = ConfigSource.DYNAMIC_DEFAULT_BROKER if is_set else ConfigSource.DEFAULT
            self.assertEqual(entry.source, source)
            self.assertEqual(
                topic.SETTINGS[entry.name].parse(entry.value or ""), topic.SETTINGS[entry.name].default
            )

    def test_min_insync_replicas(self) -> None:
        """min.insync.replicas is set for all brokers, to the value that it has, as by Apache Kafka."""
        name, every = "min.insync.replicas", ConfigSource.DYNAMIC_DEFAULT_BROKER
        default = Synonym(name, "1", ConfigSource.DEFAULT)
        given = BrokerConfig.load(None, {name: "2"})
        static = Synonym(name, "2", ConfigSource.STATIC_BROKER)
        for config, expected in (
            (BrokerConfig.load(), (Synonym(name, "1", every), default)),
            (given, (Synonym(name, "2", every), static, default)),
            (given.with_dynamic({name: "3"}, {}), (Synonym(name, "3", every), static, default)),
            (
                given.with_dynamic({}, {name: "4"}),
                (Synonym(name, "4", ConfigSource.DYNAMIC_BROKER), Synonym(name, "2", every), static, default),
            ),
        ):
            entries = describe_topic(config, {}), describe_broker(config)
            for entry in (one for listed in entries for one in listed if one.name == name):
                self.assertEqual((entry.value, entry.synonyms), (expected[0].value, expected))

    def test_from_the_topic(self) -> None:
        """A topic's own value goes first, then the broker's, then the default, each in its own unit."""
        self.assertEqual(
            self.entry("retention.ms", retention_ms="7"),
            ConfigEntry(
                name="retention.ms",
                value="7",
                read_only=False,
                is_default=False,
                source=ConfigSource.DYNAMIC_TOPIC,
                sensitive=False,
                type=ConfigType.LONG,
                documentation=topic.RETENTION_MS.doc,
                synonyms=(
                    Synonym("retention.ms", "7", ConfigSource.DYNAMIC_TOPIC),
                    Synonym("log.retention.minutes", "3", ConfigSource.STATIC_BROKER),
                    Synonym("log.retention.hours", "2", ConfigSource.STATIC_BROKER),
                    Synonym("log.retention.hours", "168", ConfigSource.DEFAULT),
                ),
            ),
        )

    def test_from_the_broker(self) -> None:
        """A value that the broker sets is not a default; it is in the topic config's unit."""
        entry = self.entry("retention.ms")
        self.assertEqual((entry.value, entry.source, entry.is_default), ("180000", 4, False))
        self.assertEqual(self.entry("max.message.bytes").value, "5")

    def test_kept_configs(self) -> None:
        """A config that is only kept is listed where the topic has it."""
        entry = self.entry("min.cleanable.dirty.ratio", min_cleanable_dirty_ratio="0.25")
        self.assertEqual((entry.value, entry.source, entry.type), ("0.25", 1, ConfigType.DOUBLE))

    def test_unknown_stored_config(self) -> None:
        """A config that no table has, of a newer version perhaps, does no harm."""
        self.assertEqual(len(describe_topic(CONFIG, {"of.the.future": "1"})), len(topic.SETTINGS))


class DescribeBrokerTests(SynchronousTestCase):
    """A broker's settings."""

    def test_lists_every_setting(self) -> None:
        """Every setting of the table is listed, once; Kafka's dynamic ones are not read-only."""
        entries = {entry.name: entry for entry in describe_broker(CONFIG)}
        self.assertEqual(list(entries), list(b.SETTINGS))
        self.assertTrue(entries["log.dirs"].read_only)
        self.assertFalse(entries["log.retention.ms"].read_only)

    def test_values(self) -> None:
        """Values are shown as they are read, with where they come from and under which name."""
        entries = {entry.name: entry for entry in describe_broker(CONFIG)}
        self.assertEqual(entries["log.dirs"].value, "/a,/b")
        self.assertEqual(entries["broker.id"].value, "4")
        self.assertEqual(
            entries["broker.id"].synonyms,
            (("node.id", "4", ConfigSource.STATIC_BROKER), ("broker.id", "0", ConfigSource.DEFAULT)),
        )
        self.assertFalse(entries["broker.id"].is_default)
        self.assertIs(entries["log.retention.ms"].value, None)
        self.assertEqual(entries["log.retention.ms"].synonyms, ())
        self.assertTrue(entries["num.partitions"].is_default)
        self.assertEqual(entries["auto.create.topics.enable"].value, "true")


class DynamicTests(SynchronousTestCase):
    """Settings that were changed while the broker runs (KIP-226)."""

    def setUp(self) -> None:
        """Change some, for all brokers and for this one."""
        self.config = CONFIG.with_dynamic(
            {"log.retention.ms": "7", "log.roll.ms": "8"}, {"log.retention.ms": "9"}
        )

    def broker(self, name: str) -> ConfigEntry:
        """One entry of the broker."""
        (found,) = [entry for entry in describe_broker(self.config) if entry.name == name]
        return found

    def test_broker(self) -> None:
        """The broker's own goes before that of all brokers; each has its source."""
        entry = self.broker("log.retention.ms")
        self.assertEqual(
            (entry.value, entry.source, entry.is_default), ("9", ConfigSource.DYNAMIC_BROKER, False)
        )
        self.assertEqual(
            entry.synonyms,
            (
                ("log.retention.ms", "9", ConfigSource.DYNAMIC_BROKER),
                ("log.retention.ms", "7", ConfigSource.DYNAMIC_DEFAULT_BROKER),
            ),
        )
        entry = self.broker("log.roll.ms")
        self.assertEqual((entry.value, entry.source), ("8", ConfigSource.DYNAMIC_DEFAULT_BROKER))

    def test_over_the_file(self) -> None:
        """Static values come after dynamic ones, and the default last."""
        config = CONFIG.with_dynamic({}, {"message.max.bytes": "6"})
        (entry,) = [entry for entry in describe_broker(config) if entry.name == "message.max.bytes"]
        self.assertEqual(
            [(synonym.value, synonym.source) for synonym in entry.synonyms],
            [
                ("6", ConfigSource.DYNAMIC_BROKER),
                ("5", ConfigSource.STATIC_BROKER),
                ("1048588", ConfigSource.DEFAULT),
            ],
        )

    def test_topic(self) -> None:
        """A topic's synonyms have them, too, before what the broker was started with."""
        (entry,) = [entry for entry in describe_topic(self.config, {}) if entry.name == "retention.ms"]
        self.assertEqual((entry.value, entry.source), ("9", ConfigSource.DYNAMIC_BROKER))
        self.assertEqual(
            entry.synonyms,
            (
                Synonym("log.retention.ms", "9", ConfigSource.DYNAMIC_BROKER),
                Synonym("log.retention.ms", "7", ConfigSource.DYNAMIC_DEFAULT_BROKER),
                Synonym("log.retention.minutes", "3", ConfigSource.STATIC_BROKER),
                Synonym("log.retention.hours", "2", ConfigSource.STATIC_BROKER),
                Synonym("log.retention.hours", "168", ConfigSource.DEFAULT),
            ),
        )

    def test_all_brokers(self) -> None:
        """The entry of all brokers has their dynamic settings only; they are not read-only."""
        entries = {entry.name: entry for entry in describe_all_brokers(self.config)}
        self.assertEqual(set(entries), {"log.retention.ms", "log.roll.ms", "min.insync.replicas"})
        self.assertEqual(
            (entries["log.retention.ms"].value, entries["log.retention.ms"].source),
            ("7", ConfigSource.DYNAMIC_DEFAULT_BROKER),
        )
        self.assertEqual(
            entries["log.retention.ms"].synonyms,
            (("log.retention.ms", "7", ConfigSource.DYNAMIC_DEFAULT_BROKER),),
        )
        self.assertFalse(entries["log.roll.ms"].read_only)
