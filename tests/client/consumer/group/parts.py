"""The parts of a consumer that a rebalance concerns, without a cluster."""

from __future__ import annotations

from collections.abc import Coroutine
from typing import Any

from twisted.internet.defer import Deferred
from twisted.internet.task import Clock

from kafkatx.client.consumer.group.autocommit import AutoCommit
from kafkatx.client.consumer.group.rebalance import RebalanceCallbacks
from kafkatx.client.consumer.poll import Poller
from kafkatx.types import TopicPartition
from tests.clientcore.consumer.partitions import SubscriptionTestCase


class RebalanceTestCase(SubscriptionTestCase):
    """The parts of a consumer, without a cluster."""

    def setUp(self) -> None:
        """Make the parts; no call for records is in progress."""
        super().setUp()
        self.clock = Clock()
        self.told: list[Any] = []
        self.polls: list[bool] = []
        self.committed: list[dict[TopicPartition, int]] = []
        self.refuse: Exception | None = None
        self.poller = Poller(self.clock, self.subscriptions, self.polls.append)
        self.poller.start()
        self.auto_commit = AutoCommit(self.clock, 1000, self.subscriptions, self.commit)
        self.callbacks = RebalanceCallbacks(self.subscriptions, self.poller, self.auto_commit, self.changed)
        self.callbacks.listener = self

    def changed(self) -> None:
        """Partitions have come or gone."""
        self.told.append("changed")

    async def commit(self, offsets: Any) -> None:
        """Record the committed offsets."""
        if self.refuse is not None:
            raise self.refuse
        self.committed.append({topic_partition: at.offset for topic_partition, at in offsets.items()})

    def run_(self, work: Coroutine[Any, Any, Any]) -> Deferred[Any]:
        """Start a coroutine."""
        return Deferred.fromCoroutine(work)

    def take(self, limit: int = 100) -> Any:
        """Return the buffered records."""
        waiting = self.run_(self.poller.poll(limit, 0))
        self.clock.advance(0)
        return self.successResultOf(waiting)
