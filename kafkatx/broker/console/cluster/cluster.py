"""The figures of the cluster that the routes share. Values only."""

from __future__ import annotations

import attrs

from kafkatx.broker.broker import Broker
from kafkatx.broker.console.cluster.counts import ClusterCounts
from kafkatx.broker.console.cluster.groups import ClusterGroups
from kafkatx.broker.console.cluster.log_ends import LogEnds
from kafkatx.broker.console.cluster.topics import ClusterTopics


@attrs.frozen(eq=False)
class Cluster:
    """The figures."""

    counts: ClusterCounts
    ends: LogEnds
    topics: ClusterTopics
    groups: ClusterGroups

    @classmethod
    def of(cls, broker: Broker) -> Cluster:
        """Return the figures of a broker's cluster."""
        ends = LogEnds(broker)
        return cls(ClusterCounts(broker), ends, ClusterTopics(broker, ends), ClusterGroups(broker, ends))
