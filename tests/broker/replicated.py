"""A broker that is one of three, and the followers of its partitions, which fetch as a test says."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from twisted.internet.defer import Deferred

from kafkatx.broker.replica.partition import Partition
from tests.broker.cluster import ClusterTestCase


class ReplicatedTestCase(ClusterTestCase):
    """A test case whose broker, number 1 of three, leads partitions that others follow."""

    def make_replicated(
        self,
        name: str = "t",
        assignment: Sequence[Sequence[int]] = ((1, 2, 3),),
        configs: Mapping[str, str] | None = None,
    ) -> list[Partition]:
        """Create a topic; all replicas are in sync. Return the partitions that are here."""
        self.metadata.put(self.metadata.make_topic(name, assignment, configs))
        return self.broker.topics.of(name)

    def replicate(self, partition: Partition, end_offset: int, *followers: int) -> None:
        """Note fetches of followers, by default all others, that have everything below an offset."""
        for follower in followers or [one for one in partition.replicas if one != 1]:
            epoch = self.metadata.state.brokers[follower].epoch
            partition.fetched_by(follower, epoch, end_offset, 0, self.clock.seconds())

    def begin(self, key: int, version: int, request: Any) -> Deferred[Any]:
        """Send a request whose reply has to wait; return what fires with its response."""
        waiting = self.answer(key, version, request)
        assert isinstance(waiting, Deferred), self.response(key, version, waiting)
        return waiting.addCallback(lambda reply: self.response(key, version, reply))
