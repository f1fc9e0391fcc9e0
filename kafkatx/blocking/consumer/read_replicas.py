"""The brokers to read partitions from: followers that leaders have named, otherwise leaders (KIP-392).

It asks the :class:`~kafkatx.blocking.cluster.Cluster` for addresses and the time, and opens no connection.
:mod:`kafkatx.blocking.consumer.fetcher` sends the requests and tells it the answers.
"""

from __future__ import annotations

from collections.abc import Iterable

from kafkatx.blocking.cluster import Cluster
from kafkatx.types import BrokerNode

AVOID_S = 10.0
"""The time for which a partition is read from its leader after its follower has failed."""

MIN_AGE_S = 1.0
"""A follower is read for this long at least, so that asking the leader does not take all the time."""

MAX_AGE_S = 300.0
"""The default of ``metadata.max.age.ms``."""


class ReadReplicas:
    """The broker of each partition of a topic.

    A leader that names a follower returns no records, so a request for a leader's own records has no rack:
    see :meth:`rack_for`.

    :param rack: ``client.rack``; empty: leaders name no follower.
    :param max_age_s: time after which the leader is asked again; at least :data:`MIN_AGE_S` counts.
    """

    def __init__(self, cluster: Cluster, topic: str, rack: str, max_age_s: float) -> None:
        self._cluster = cluster
        self._topic = topic
        self._rack = rack
        self._max_age_s = max(max_age_s, MIN_AGE_S)
        self._named: dict[int, tuple[int, float]] = {}
        self._avoided: dict[int, float] = {}

    def follower(self, partition: int) -> BrokerNode | None:
        """Return the follower to read a partition from; None: its leader."""
        if partition not in self._named:
            return None
        broker_id, until_s = self._named[partition]
        node = self._cluster.brokers().get(broker_id)
        if node is None or self._cluster.clock() >= until_s:
            del self._named[partition]
            return None
        return node

    def rack_for(self, partitions: Iterable[int]) -> str:
        """Return the rack to send with a fetch; none while a partition's follower is avoided."""
        now_s = self._cluster.clock()
        avoided = any(self._avoided.get(partition, now_s) > now_s for partition in partitions)
        return "" if avoided else self._rack

    def name(self, partition: int, broker_id: int) -> None:
        """Read a partition from the broker that its leader has named; avoid one that is not registered."""
        if broker_id not in self._cluster.brokers():
            self.avoid(partition)
            return
        self._named[partition] = broker_id, self._cluster.clock() + self._max_age_s

    def avoid(self, partition: int) -> None:
        """Read a partition from its leader for :data:`AVOID_S`: its follower has failed or lags behind."""
        self._named.pop(partition, None)
        self._avoided[partition] = self._cluster.clock() + AVOID_S

    def avoid_all(self) -> None:
        """Read all partitions from their leaders that are read from followers now."""
        for partition in list(self._named):
            self.avoid(partition)
