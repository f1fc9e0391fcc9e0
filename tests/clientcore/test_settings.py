"""Tests of kafkatx.clientcore.settings and its tables."""

from __future__ import annotations

import re
from typing import Any

from twisted.trial.unittest import SynchronousTestCase

from kafkatx.clientcore.settings import KINDS, ClientSettings
from kafkatx.clientcore.tables import common, consumer, producer, zookeeper
from kafkatx.config.table.row import format_value
from kafkatx.errors import SettingError


def load(kind: str = "producer", **values: Any) -> ClientSettings:
    """Return settings by names with underscores."""
    return ClientSettings.load(kind, values)


class SettingsTests(SynchronousTestCase):
    def refused(self, kind: str, values: dict[str, Any], *words: str) -> str:
        """Assert that the values are refused with these words; return the message."""
        message = str(self.assertRaises(SettingError, ClientSettings.load, kind, values))
        for word in words:
            self.assertIn(word, message)
        return message

    def test_names(self) -> None:
        """A name may be written with dots or underscores, but not in both ways at once."""
        for name in ("linger.ms", "linger_ms"):
            self.assertEqual(ClientSettings.load("producer", {name: 7})[producer.LINGER_MS], 7)
        self.refused("producer", {"linger.ms": 7, "linger_ms": 7}, "linger.ms is set twice")

    def test_values(self) -> None:
        """A value is text, or of Python's own types."""
        for value in (7, 7.0, "7", " 7 "):
            self.assertEqual(load(linger_ms=value)[producer.LINGER_MS], 7)
        for value, expected in ((True, True), ("true", True), ("FALSE", False)):
            self.assertIs(load(enable_idempotence=value)[producer.ENABLE_IDEMPOTENCE], expected)
        for servers in ("a:1,b", "a:1, b", ["a:1", "b"], ("a:1", "b")):
            self.assertEqual(load(bootstrap_servers=servers)[common.BOOTSTRAP_SERVERS], ("a:1", "b"))
        self.assertEqual(load(acks=1)[producer.ACKS], "1")
        self.assertEqual(load("consumer", group_id="g")[consumer.GROUP_ID], "g")

    def test_names_of_earlier_versions(self) -> None:
        """Names and values of Kafka 0.7 and 0.8 with the same meaning are accepted."""
        for value, expected in (("smallest", "earliest"), ("largest", "latest"), ("none", "none")):
            self.assertEqual(load("consumer", auto_offset_reset=value)[consumer.AUTO_OFFSET_RESET], expected)
        old = {"groupid": "g", "autocommit.enable": "false", "autooffset.reset": "smallest", "fetch.size": 5}
        settings = ClientSettings.load("consumer", old)
        self.assertEqual(settings[consumer.GROUP_ID], "g")
        self.assertIs(settings[consumer.ENABLE_AUTO_COMMIT], False)
        self.assertEqual(settings[consumer.AUTO_OFFSET_RESET], "earliest")
        self.assertEqual(settings[consumer.MAX_PARTITION_FETCH_BYTES], 5)
        self.refused("consumer", {"auto.offset.reset": "small"}, "one of earliest, latest, none")

    def test_secrets_are_not_shown(self) -> None:
        """No password gets into a log with the settings."""
        settings = load(kafkatx_zookeeper_password="secret")
        self.assertEqual(settings[zookeeper.KAFKATX_ZOOKEEPER_PASSWORD], "secret")
        self.assertNotIn("secret", repr(settings))

    def test_defaults(self) -> None:
        """A setting that is missing or None has its default, which depends on the kind of client."""
        settings = load("consumer", group_id=None, client_id=None)
        self.assertIsNone(settings[consumer.GROUP_ID])
        self.assertEqual(settings[common.CLIENT_ID], "kafkatx")
        self.assertEqual(settings.explicit, {})
        idle = {kind: load(kind)[common.CONNECTIONS_MAX_IDLE_MS] for kind in KINDS}
        self.assertEqual(idle, {"producer": 540_000, "consumer": 540_000, "admin": 300_000})
        self.assertEqual(load("admin", connections_max_idle_ms=1)[common.CONNECTIONS_MAX_IDLE_MS], 1)

    def test_bad_values(self) -> None:
        """A value out of range is refused, and the message says what is allowed."""
        for name, value in (
            ("linger.ms", -1),
            ("linger.ms", 0.5),
            ("linger.ms", "soon"),
            ("linger.ms", 1 << 63),
            ("linger.ms", float("nan")),
            ("linger.ms", True),
            ("acks", 2),
            ("acks", object()),
            ("client.id", b"bytes"),
            ("enable.idempotence", 1),
            ("bootstrap.servers", []),
            ("security.protocol", "SASL"),
        ):
            self.refused("producer", {name: value}, name, "must be")

    def test_unknown(self) -> None:
        """An unknown name is refused, and the nearest is suggested."""
        self.refused("producer", {"linger_sm": 1}, "linger.sm", "did you mean linger.ms?")
        self.refused(
            "consumer", {"qqqqqqq": 1}, "not a setting of a consumer", "kafkatx docs client-settings"
        )

    def test_of_another_kind(self) -> None:
        """A setting of another kind of client is refused with that kind."""
        self.refused(
            "producer", {"group.id": "g"}, "group.id is a setting of the consumer, not of the producer"
        )

    def test_refused(self) -> None:
        """Settings that cannot be supported and must not be ignored are refused with the reason."""
        self.refused(
            "admin", {"sasl.kerberos.service.name": "x"}, "sasl.kerberos.service.name", "no Kerberos"
        )
        for value in ("consumer", "classic"):
            self.refused("consumer", {"group_protocol": value}, "group.protocol", "the classic protocol is")
        self.refused("consumer", {"group.remote.assignor": "uniform"}, "partition.assignment.strategy")

    def test_kept(self) -> None:
        """Names of the Java client without an effect here are accepted, if their values are valid."""
        load("consumer", client_dns_lookup="use_all_dns_ips", metrics_num_samples=3)
        load("producer", partitioner_adaptive_partitioning_enable=False)
        self.refused("consumer", {"metrics.num.samples": "many"})

    def test_aliases(self) -> None:
        """An old name is used if the new one is not set."""
        self.assertEqual(load(queue_time=9)[producer.LINGER_MS], 9)
        self.assertEqual(load(queue_time=9, linger_ms=1)[producer.LINGER_MS], 1)
        self.refused("producer", {"queue.time": -1}, "queue.time=-1")
        for number, codec in ((0, "none"), (1, "gzip"), (2, "snappy"), ("gzip", "gzip")):
            self.assertEqual(load(compression_codec=number)[producer.COMPRESSION_TYPE], codec)
        self.refused("producer", {"compression.codec": 3}, "compression.codec=3")
        load(queue_size=5000)

    def test_objects(self) -> None:
        """An object may be given in place of a class name, alone or in a list."""
        part = object()
        settings = load(partitioner_class=part, serializer_class=part)
        self.assertEqual(settings.objects, {"partitioner.class": part, "value.serializer": part})
        self.assertEqual(settings[producer.PARTITIONER_CLASS], "default")
        self.assertIs(settings.part(producer.PARTITIONER_CLASS), part)
        self.assertEqual(load(partitioner_class="random").part(producer.PARTITIONER_CLASS), "random")
        mixed = load("consumer", partition_assignment_strategy=["range", part])
        self.assertEqual(mixed.objects["partition.assignment.strategy"], ["range", part])

    def test_is_set(self) -> None:
        """is_set tells whether a value was given."""
        settings = load(queue_time=5, partitioner_class=object())
        self.assertTrue(settings.is_set(producer.LINGER_MS))
        self.assertTrue(settings.is_set(producer.PARTITIONER_CLASS))
        self.assertFalse(settings.is_set(producer.ACKS))


class TableTests(SynchronousTestCase):
    def test_rows(self) -> None:
        """Every default can be set as it is shown, every row has a text, and no name occurs twice."""
        for kind, table in KINDS.items():
            sections = (*common.SECTIONS, *zookeeper.SECTIONS, common.KEPT, *table.SECTIONS, table.KEPT)
            rows = [row for section in sections for row in section.settings]
            names = [name for row in rows for name in (row.name, *row.aliases)]
            self.assertEqual(len(names), len(set(names)))
            self.assertLessEqual(set(table.DEFAULTS), set(names))
            for row in rows:
                self.assertTrue(re.fullmatch(r"[a-z0-9]+([.-][a-z0-9]+)*", row.name), row.name)
                self.assertTrue(row.doc, row.name)
                shown = format_value(row.default)
                if shown:
                    loaded = ClientSettings.load(kind, {row.name: shown})
                    self.assertEqual(loaded[row], row.default, row.name)

    def test_apache_kafkas(self) -> None:
        """A settings file of the Java client's usual names is accepted unchanged."""
        ClientSettings.load(
            "consumer",
            {
                "bootstrap.servers": "localhost:9092",
                "group.id": "test",
                "enable.auto.commit": "true",
                "auto.commit.interval.ms": "1000",
                "fetch.min.bytes": "1",
                "session.timeout.ms": "45000",
                "max.poll.records": "500",
                "isolation.level": "read_committed",
            },
        )
