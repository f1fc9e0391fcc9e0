"""The names of kafka_exporter, and of the dashboards and alerts that are made for it."""

from __future__ import annotations

from twisted.trial.unittest import SynchronousTestCase

from kafkatx.broker.metrics.table import METRICS
from kafkatx.broker.metrics.table.exporter import EXPORTER

OFFSETS = ("topic", "partition")
GROUPS = ("consumergroup", "topic", "partition")
NAMES: dict[str, tuple[str, ...]] = {
    "kafka_brokers": (),
    "kafka_broker_info": ("id", "address"),
    "kafka_topic_partitions": ("topic",),
    "kafka_topic_partition_current_offset": OFFSETS,
    "kafka_topic_partition_oldest_offset": OFFSETS,
    "kafka_topic_partition_in_sync_replica": OFFSETS,
    "kafka_topic_partition_leader": OFFSETS,
    "kafka_topic_partition_leader_is_preferred": OFFSETS,
    "kafka_topic_partition_replicas": OFFSETS,
    "kafka_topic_partition_under_replicated_partition": OFFSETS,
    "kafka_consumergroup_current_offset": GROUPS,
    "kafka_consumergroup_current_offset_sum": GROUPS[:2],
    "kafka_consumergroup_lag": GROUPS,
    "kafka_consumergroup_lag_sum": GROUPS[:2],
    "kafka_consumergroup_members": GROUPS[:1],
}
"""The metrics and labels of kafka_exporter's README, without those of ZooKeeper's lag."""

DASHBOARD = [
    "kafka_cluster_partition_atminisr",
    "kafka_cluster_partition_underminisr",
    "kafka_consumergroup_current_offset",
    "kafka_consumergroup_lag",
    "kafka_topic_partition_current_offset",
    "kafka_topic_partition_in_sync_replica",
    "kafka_topic_partition_leader_is_preferred",
    "kafka_topic_partition_oldest_offset",
    "kafka_topic_partition_replicas",
    "kafka_topic_partition_under_replicated_partition",
    "kafka_topic_partitions",
]
"""The series of Strimzi's strimzi-kafka-exporter.json."""

ALERTS = [
    "kafka_consumergroup_lag",
    "kafka_topic_partition_current_offset",
    "kafka_topic_partition_under_replicated_partition",
]
"""Those of Strimzi's alerts for the exporter."""


class ExporterTests(SynchronousTestCase):
    def test_names(self) -> None:
        """The family has all of kafka_exporter's names, with its labels."""
        self.assertEqual({metric.name: metric.labels for metric in EXPORTER.metrics}, NAMES)

    def test_dashboard(self) -> None:
        """Strimzi's dashboard and alerts for the exporter find all their series."""
        self.assertLessEqual(set(DASHBOARD + ALERTS), {metric.name for metric in METRICS})
