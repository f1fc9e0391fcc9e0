"""Metrics with the names of kminion: series of kafka_exporter's once more, with other names and labels."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from kafkatx.broker.metrics.table import exporter as e
from kafkatx.broker.metrics.table.row import Family, Metric

KMINION = Family(
    "kminion",
    "Names of kminion for offsets and lag, if asked for: the same numbers as those of kafka_exporter.",
)

RENAMED = {"topic": "topic_name", "partition": "partition_id", "consumergroup": "group_id"}
"""The names of labels."""


def _same(name: str, metric: Metric) -> tuple[Metric, Metric]:
    labels = (RENAMED[label] for label in metric.labels)
    return metric, KMINION.gauge(f"kminion_kafka_{name}", metric.help, *labels)


ALIASES: Mapping[Metric, Metric] = MappingProxyType(
    dict(
        (
            _same("topic_partition_high_water_mark", e.CURRENT_OFFSET),
            _same("topic_partition_low_water_mark", e.OLDEST_OFFSET),
            _same("consumer_group_members", e.GROUP_MEMBERS),
            _same("consumer_group_topic_offset_sum", e.GROUP_OFFSET_SUM),
            _same("consumer_group_topic_partition_lag", e.GROUP_LAG),
            _same("consumer_group_topic_lag", e.GROUP_LAG_SUM),
        )
    )
)
"""The metric that each repeats, and its own row."""
