"""The names and labels of kminion for offsets and lag."""

from __future__ import annotations

from twisted.trial.unittest import SynchronousTestCase

from kafkatx.broker.metrics.table.kminion import KMINION

NAMES = {
    "kminion_kafka_topic_partition_high_water_mark": ("topic_name", "partition_id"),
    "kminion_kafka_topic_partition_low_water_mark": ("topic_name", "partition_id"),
    "kminion_kafka_consumer_group_members": ("group_id",),
    "kminion_kafka_consumer_group_topic_offset_sum": ("group_id", "topic_name"),
    "kminion_kafka_consumer_group_topic_partition_lag": ("group_id", "topic_name", "partition_id"),
    "kminion_kafka_consumer_group_topic_lag": ("group_id", "topic_name"),
}
"""As kminion's page of metrics has them."""


class KminionTests(SynchronousTestCase):
    def test_names(self) -> None:
        """The family has kminion's names, with its labels."""
        self.assertEqual({metric.name: metric.labels for metric in KMINION.metrics}, NAMES)
