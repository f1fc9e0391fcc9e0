"""Leaders and replicas of partitions: elect, reassign, throttle."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

from kafkatx.blocking.admin.configs import Configs
from kafkatx.clientcore.admin import replicas as messages
from kafkatx.clientcore.admin.configs import Resource, ResourceType
from kafkatx.clientcore.admin.replicas import Outcome, Reassignment
from kafkatx.types import TopicPartition

if TYPE_CHECKING:
    from kafkatx.blocking.cluster import Cluster

RATES = ("leader.replication.throttled.rate", "follower.replication.throttled.rate")
LEADERS, FOLLOWERS = "leader.replication.throttled.replicas", "follower.replication.throttled.replicas"


class Replicas:
    """Moves leaders and replicas through a :class:`Cluster`, which the caller closes."""

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster
        self._configs = Configs(cluster)
        self._timeout_ms = max(1, round(cluster.timeout_s * 1000))

    def elect(
        self, kind: int, partitions: Collection[TopicPartition] | None
    ) -> dict[TopicPartition, Outcome]:
        """Elect leaders.

        :param kind: ``clientcore.admin.replicas.PREFERRED`` or ``UNCLEAN``.
        :param partitions: None for all that need it.
        :raises RequestError: the request as a whole was refused.
        """
        request = messages.elect_request(kind, partitions, self._timeout_ms)
        found = self._cluster.retrying(
            lambda: messages.elected(self._cluster.controller_connection().request(request))
        )
        self._cluster.forget_metadata()
        return found

    def reassign(
        self, wanted: Mapping[TopicPartition, Sequence[int] | None]
    ) -> dict[TopicPartition, Outcome]:
        """Begin to move partitions to brokers; None cancels what is in progress.

        :raises RequestError: the request as a whole was refused.
        """
        request = messages.reassign_request(wanted, self._timeout_ms)
        found = self._cluster.retrying(
            lambda: messages.reassigned(self._cluster.controller_connection().request(request))
        )
        self._cluster.forget_metadata()
        return found

    def in_progress(self) -> dict[TopicPartition, Reassignment]:
        """Return the reassignments in progress."""
        request = messages.list_request(self._timeout_ms)
        return self._cluster.retrying(
            lambda: messages.in_progress(self._cluster.controller_connection().request(request))
        )

    def throttle(
        self,
        brokers: Iterable[int],
        leaders: Mapping[str, Sequence[str]],
        followers: Mapping[str, Sequence[str]],
        bytes_per_s: int,
    ) -> None:
        """Limit the traffic of copies, as ``kafka-reassign-partitions.sh --throttle`` does (KIP-73).

        :param brokers: the brokers that get the rate.
        :param leaders: by topic, the replicas ``partition:broker`` that copies are made of.
        :param followers: those that are copied to.
        """
        for broker in brokers:
            self._configs.alter(_broker(broker), dict.fromkeys(RATES, str(bytes_per_s)))
        for topic in {*leaders, *followers}:
            values = {LEADERS: leaders.get(topic, ()), FOLLOWERS: followers.get(topic, ())}
            self._configs.alter(_topic(topic), {name: ",".join(each) for name, each in values.items()})

    def remove_throttles(self, brokers: Iterable[int], topics: Iterable[str]) -> None:
        """Remove the limits of :meth:`throttle`."""
        for topic in topics:
            self._configs.alter(_topic(topic), deleted=(LEADERS, FOLLOWERS))
        for broker in brokers:
            self._configs.alter(_broker(broker), deleted=RATES)


def _broker(broker: int) -> Resource:
    return Resource(ResourceType.BROKER, str(broker))


def _topic(topic: str) -> Resource:
    return Resource(ResourceType.TOPIC, topic)
