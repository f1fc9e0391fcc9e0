"""Metrics with the names of kafka_exporter."""

from __future__ import annotations

from kafkatx.broker.metrics.table.row import Family

EXPORTER = Family(
    "exporter",
    "Names of kafka_exporter, without its polls: each broker tells of the partitions that it leads and of "
    "the groups that it coordinates.",
)

BROKERS = EXPORTER.gauge("kafka_brokers", "Live brokers of the cluster.")
BROKER_INFO = EXPORTER.gauge("kafka_broker_info", "1 for each live broker.", "id", "address")
PARTITIONS = EXPORTER.gauge(
    "kafka_topic_partitions", "Partitions of a topic, told by the leader of partition 0.", "topic"
)
CURRENT_OFFSET = EXPORTER.gauge(
    "kafka_topic_partition_current_offset", "High watermark of a partition.", "topic", "partition"
)
OLDEST_OFFSET = EXPORTER.gauge(
    "kafka_topic_partition_oldest_offset", "Log start offset of a partition.", "topic", "partition"
)
IN_SYNC_REPLICAS = EXPORTER.gauge(
    "kafka_topic_partition_in_sync_replica", "In-sync replicas of a partition.", "topic", "partition"
)
LEADER = EXPORTER.gauge("kafka_topic_partition_leader", "Broker id of the leader.", "topic", "partition")
LEADER_IS_PREFERRED = EXPORTER.gauge(
    "kafka_topic_partition_leader_is_preferred",
    "1 if the leader is the first of the replicas.",
    "topic",
    "partition",
)
REPLICAS = EXPORTER.gauge("kafka_topic_partition_replicas", "Replicas of a partition.", "topic", "partition")
UNDER_REPLICATED_PARTITION = EXPORTER.gauge(
    "kafka_topic_partition_under_replicated_partition",
    "1 if a replica of the partition is not in sync.",
    "topic",
    "partition",
)
GROUP_OFFSET = EXPORTER.gauge(
    "kafka_consumergroup_current_offset",
    "Committed offset of a group.",
    "consumergroup",
    "topic",
    "partition",
)
GROUP_OFFSET_SUM = EXPORTER.gauge(
    "kafka_consumergroup_current_offset_sum",
    "Sum of a group's committed offsets in a topic.",
    "consumergroup",
    "topic",
)
GROUP_LAG = EXPORTER.gauge(
    "kafka_consumergroup_lag",
    "Offsets between a group's committed offset and the high watermark; absent if this broker has no "
    "replica of the partition.",
    "consumergroup",
    "topic",
    "partition",
)
GROUP_LAG_SUM = EXPORTER.gauge(
    "kafka_consumergroup_lag_sum", "Sum of a group's lag in a topic.", "consumergroup", "topic"
)
GROUP_MEMBERS = EXPORTER.gauge("kafka_consumergroup_members", "Members of a group.", "consumergroup")
