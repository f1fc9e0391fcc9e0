"""Balancing the load of a ConsumerConnector's group by Kafka's group protocol."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from twisted.internet.defer import Deferred, succeed
from zope.interface import implementer

from kafkatx.client.consumer.consumer import Consumer
from kafkatx.clientcore.group.offsets import OffsetAndMetadata
from kafkatx.clientcore.legacy.topic_filter import Subscription
from kafkatx.interfaces import IBalancer
from kafkatx.types import TopicPartition


@implementer(IBalancer)
class GroupBalancer:
    """The coordinator of the group knows its members, a leader among these shares the partitions out, and
    offsets are committed to the coordinator: all that is the consumer's own.
    """

    def __init__(self) -> None:
        self._consumer: Consumer | None = None

    def join(self, consumer: Consumer, subscription: Subscription, listener: Any) -> Deferred[None]:
        """Subscribe; it joins by itself once it is started.

        :raises KafkaTXError: there is no ``group.id``.
        """
        self._consumer = consumer
        pattern = subscription.filter.pattern if subscription.filter is not None else None
        consumer.subscribe(list(subscription.topics) or None, pattern, listener)
        return succeed(None)

    def commit(self, offsets: Mapping[TopicPartition, OffsetAndMetadata]) -> Deferred[None]:
        """Commit to the coordinator."""
        assert self._consumer is not None  # join() comes first
        return self._consumer.commit(offsets)

    def leave(self) -> Deferred[None]:
        """Leave it to the consumer, which says good-bye when it is closed."""
        return succeed(None)
