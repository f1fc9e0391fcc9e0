"""The figures of the cluster that the routes share. Values only."""

from __future__ import annotations

import attrs

from kafkatx.broker.broker import Broker
from kafkatx.broker.console.cluster.counts import ClusterCounts
from kafkatx.broker.console.cluster.disks import Disks
from kafkatx.broker.console.cluster.groups import ClusterGroups
from kafkatx.broker.console.cluster.log_ends import LogEnds
from kafkatx.broker.console.cluster.samples import ClusterSamples
from kafkatx.broker.console.cluster.topics import ClusterTopics
from kafkatx.broker.peers import Peers


@attrs.frozen(eq=False)
class Cluster:
    """The figures."""

    counts: ClusterCounts
    ends: LogEnds
    topics: ClusterTopics
    groups: ClusterGroups
    disks: Disks
    samples: ClusterSamples

    @classmethod
    def of(cls, broker: Broker, peers: Peers) -> Cluster:
        """Return the figures of a broker's cluster.

        :param peers: connections to the other brokers.
        """
        ends = LogEnds(broker, peers)
        topics, groups = ClusterTopics(broker, ends), ClusterGroups(broker, peers, ends)
        return cls(ClusterCounts(broker), ends, topics, groups, Disks(broker), ClusterSamples(broker, peers))
