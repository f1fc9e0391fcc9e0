"""The settings of a broker that change while it runs."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial

from twisted.internet.defer import Deferred
from twisted.logger import LogLevel, capturedLogs

from kafkatx.broker.broker import Broker
from kafkatx.config import BrokerConfig
from kafkatx.config.table import cleanup
from kafkatx.config.table import log as log_table
from kafkatx.errors import ErrorCode
from kafkatx.log.memory import MemoryLogStore
from kafkatx.log.retention import TimeAndSizeRetention
from kafkatx.metadata.embedded.store import EmbeddedMetadataStore
from kafkatx.records.builder import build_values
from tests.broker.running import NODE, NOW_MS, BrokerTestCase, at_once


def _instead(new: Mapping[str, str], old: Mapping[str, str]) -> Mapping[str, str]:
    """Return a change that replaces all configs by these."""
    return new


class DynamicConfigTests(BrokerTestCase):
    """Settings that change while the broker runs."""

    def alter(self, name: str, **configs: str) -> None:
        """Set the settings of one broker or of all, replacing all others; ``_`` in names stands for ``.``."""
        new = {config.replace("_", "."): value for config, value in configs.items()}
        self.successResultOf(self.broker.metadata.alter_broker_configs(name, lambda _: new))

    def test_listeners(self) -> None:
        """Listeners are told of every change, after which the broker has the new settings."""
        heard: list[int | None] = []

        def listener(config: BrokerConfig) -> None:
            self.assertIs(self.broker.config, config)
            heard.append(config[log_table.LOG_ROLL_MS])

        self.broker.config_listeners.append(listener)
        self.alter("", log_roll_ms="5")
        self.alter("0", log_roll_ms="6")
        self.alter("0")
        self.alter("")
        self.assertEqual(heard, [5, 6, 5, None])

    def test_of_others(self) -> None:
        """Settings of another broker, and other changes of the cluster, do not affect this one."""
        config = self.broker.config
        self.make_topic()
        self.assertIs(self.broker.config, config)
        self.alter("1", log_roll_ms="5")
        self.assertIsNone(self.broker.config[log_table.LOG_ROLL_MS])

    def test_read_again(self) -> None:
        """Settings that are read again apply at once; the log names those that need a restart."""
        (partition,) = self.make_topic()
        read = BrokerConfig.load(None, {"log.retention.ms": "5", "broker.rack": "b"})
        with capturedLogs() as events:
            self.broker.reload(read)
        self.assertEqual(partition.log.config.retention_ms, 5)
        said = {event["log_level"]: event for event in events}
        self.assertIn("broker.rack", said[LogLevel.warn]["names"])
        self.assertEqual(said[LogLevel.info]["changes"], "log.retention.ms changed")
        self.alter("0", log_retention_ms="6")
        self.alter("0")
        self.assertEqual(self.broker.config[cleanup.LOG_RETENTION_MS], 5)

    def test_handlers_see_them(self) -> None:
        """The limits of a topic without its own are the broker's, at once."""
        self.make_topic()
        self.alter("0", message_max_bytes="100")
        records = build_values([b"x" * 200], NOW_MS)
        self.assertEqual(self.produce(records).error_code, ErrorCode.MESSAGE_TOO_LARGE)

    def test_restart(self) -> None:
        """Dynamic settings apply from the start of a restarted broker, before any log is opened."""
        settings = {"log.dirs": self.mktemp()}
        before = EmbeddedMetadataStore(BrokerConfig.load(None, settings), at_once)
        self.successResultOf(before.start(NODE))
        self.successResultOf(before.create_topic("t", [[0]], {}))
        for name, value in (("", "5"), ("0", "6")):
            changed = {"log.retention.ms": value, "of.the.future": "1"}
            self.successResultOf(before.alter_broker_configs(name, partial(_instead, changed)))
        self.successResultOf(before.stop())
        metadata = EmbeddedMetadataStore(BrokerConfig.load(None, settings), at_once)
        config = BrokerConfig.load(None, {"log.retention.ms": "4"})
        store = MemoryLogStore(config, at_once, self.clock, lambda name: TimeAndSizeRetention())
        broker = Broker(config, metadata, store, self.clock, at_once)
        self.addCleanup(metadata.stop)
        with capturedLogs() as events:
            self.successResultOf(metadata.start(NODE))
        self.successResultOf(Deferred.fromCoroutine(broker.open()))
        self.assertEqual(broker.config[cleanup.LOG_RETENTION_MS], 6)
        found = broker.topics.find("t", 0)
        assert found is not None
        self.assertEqual(found.log.config.retention_ms, 6)
        warned = [e["complaint"] for e in events if e["log_level"] == LogLevel.warn]
        self.assertEqual(
            [complaint.split(";")[0] for complaint in warned], ["'of.the.future: unknown setting"] * 2
        )
