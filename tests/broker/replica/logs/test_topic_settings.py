"""The settings of topics' logs."""

from __future__ import annotations

import uuid
from types import MappingProxyType

from twisted.logger import LogLevel, capturedLogs
from twisted.trial.unittest import SynchronousTestCase

from kafkatx.broker.replica.logs import topic_settings
from kafkatx.broker.replica.logs.topic_settings import TopicSettings
from kafkatx.config import BrokerConfig
from kafkatx.types import Topic


def topic(name: str = "t", **configs: str) -> Topic:
    """Return a topic; ``_`` in names of configs stands for ``.``."""
    named = {config.replace("_", "."): value for config, value in configs.items()}
    return Topic(name, uuid.UUID(int=1), (), MappingProxyType(named))


class TopicSettingsTests(SynchronousTestCase):
    def setUp(self) -> None:
        """Make the settings of a broker without any of its own."""
        self.settings = TopicSettings(BrokerConfig.load(None, {}))

    def test_of(self) -> None:
        """A topic's own configs come before those of the broker."""
        self.settings.use(BrokerConfig.load(None, {"log.retention.ms": "7", "min.insync.replicas": "2"}))
        log, min_insync = self.settings.of(topic(retention_ms="5"))
        self.assertEqual((log.retention_ms, min_insync), (5, 2))
        self.assertEqual(self.settings.of(topic())[0].retention_ms, 7)
        self.assertEqual(self.settings.default().retention_ms, 7)

    def test_same(self) -> None:
        """Topics with the same configs share one value, until the broker's settings change."""
        first = self.settings.of(topic("a", retention_ms="5"))
        self.assertIs(self.settings.of(topic("b", retention_ms="5")), first)
        self.settings.use(BrokerConfig.load(None, {"log.segment.bytes": "1000000"}))
        self.assertEqual(self.settings.of(topic("a", retention_ms="5"))[0].segment_bytes, 1_000_000)

    def test_bounded(self) -> None:
        """A limited number of values is remembered."""
        self.patch(topic_settings, "MOST_KNOWN", 2)
        for number in range(5):
            self.assertEqual(self.settings.of(topic(retention_ms=str(number)))[0].retention_ms, number)
        self.assertLessEqual(len(self.settings._known), 2)

    def test_unusable(self) -> None:
        """A config that this broker cannot use is left out, with a warning; unknown ones do no harm."""
        with capturedLogs() as events:
            log, _ = self.settings.of(topic(retention_ms="5", segment_bytes="x", of_another_tool="y"))
            self.settings.use(BrokerConfig.load(None, {}))
            self.settings.of(topic(retention_ms="5", segment_bytes="x", of_another_tool="y"))
        self.assertEqual((log.retention_ms, log.segment_bytes), (5, 1 << 30))
        (event,) = [event for event in events if event["log_level"] == LogLevel.warn]
        self.assertIn("segment.bytes=x", event["complaint"])
