"""Limits on the number of series. Pure."""

from __future__ import annotations

import attrs

from kafkatx.config import BrokerConfig
from kafkatx.config.table import network as m

OTHERS = "(others)"
"""The label of the sums of what has no series of its own. No topic can have this name."""


@attrs.frozen
class MetricsLimits:
    """The settings of metrics.

    :ivar families: the names of the families that are served.
    :ivar topics: topics with series of their own; of the others there are sums.
    :ivar partitions: partitions with series of their own.
    :ivar groups: groups with series of their own.
    :ivar group_partitions: committed offsets with series of their own.
    :ivar clients: client instances with series of their own of what they push.
    :ivar internal_topics: True to show the broker's own topics.
    """

    families: frozenset[str]
    topics: int
    partitions: int
    groups: int
    group_partitions: int
    clients: int
    internal_topics: bool

    @classmethod
    def of(cls, config: BrokerConfig) -> MetricsLimits:
        """Return the limits by the settings."""
        return cls(
            frozenset(config[m.METRICS_FAMILIES]),
            config[m.METRICS_MAX_TOPICS],
            config[m.METRICS_MAX_PARTITIONS],
            config[m.METRICS_MAX_GROUPS],
            config[m.METRICS_MAX_GROUP_PARTITIONS],
            config[m.METRICS_MAX_CLIENTS],
            config[m.METRICS_INTERNAL_TOPICS],
        )
