"""The built-in balancer of a ConsumerConnector: Kafka's group protocol."""

from __future__ import annotations

from collections.abc import Mapping

from twisted.internet.defer import Deferred, succeed
from zope.interface import implementer

from kafkatx.client.consumer.consumer import Consumer
from kafkatx.clientcore.group.offsets import OffsetAndMetadata
from kafkatx.clientcore.legacy.topic_filter import Subscription
from kafkatx.interfaces import IBalancer
from kafkatx.types import TopicPartition


@implementer(IBalancer)
class GroupBalancer:
    """A balancer that leaves membership, assignment and offsets to the consumer and its group coordinator."""

    def __init__(self) -> None:
        self._consumer: Consumer | None = None

    def join(self, consumer: Consumer, subscription: Subscription, listener: object) -> Deferred[None]:
        """Subscribe the consumer, which joins the group when it is started.

        :raises KafkaTXError: there is no ``group.id``.
        """
        self._consumer = consumer
        pattern = subscription.filter.pattern if subscription.filter is not None else None
        consumer.subscribe(list(subscription.topics) or None, pattern, listener)
        return succeed(None)

    def commit(self, offsets: Mapping[TopicPartition, OffsetAndMetadata]) -> Deferred[None]:
        """Commit to the coordinator."""
        assert self._consumer is not None  # join() is called first
        return self._consumer.commit(offsets)

    def leave(self) -> Deferred[None]:
        """Do nothing: the consumer sends LeaveGroup when it is closed."""
        return succeed(None)
