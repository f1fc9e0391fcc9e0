"""Names that only Apache Kafka has: none is ours, and what would be unsafe to ignore is refused."""

from __future__ import annotations

from twisted.trial.unittest import SynchronousTestCase

from kafkatx.config.table import broker
from kafkatx.config.table.kafka_only import NAMES, PREFIXES, is_kafka_only


class KafkaOnlyTests(SynchronousTestCase):
    def test_names(self) -> None:
        """Whole names and names with a known prefix are Kafka's."""
        for name in ("zookeeper.sync.time.ms", "process.roles", "listener.name.x.ssl.key", "confluent.any"):
            self.assertTrue(is_kafka_only(name), name)
        for name in ("zookeeper.connect", "listener.name", "num.partitions"):
            self.assertFalse(is_kafka_only(name), name)

    def test_none_is_ours(self) -> None:
        """A name that kafkatx honours is not in this table."""
        for setting in broker.SETTINGS.values():
            for name in (setting.name, *setting.aliases):
                self.assertFalse(name in NAMES or name.startswith(PREFIXES), name)
