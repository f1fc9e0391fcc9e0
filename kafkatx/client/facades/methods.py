"""The methods that the facades for asyncio and for threads forward alike.

:mod:`~kafkatx.client.facades.forwarder` says how a call reaches the Twisted client;
:mod:`kafkatx.client.aio` and :mod:`kafkatx.client.threads` add what differs. Nothing here does I/O.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Generic, TypeVar

from kafkatx.client.admin import acls, admin, configs, credentials, groups, quotas, transactions
from kafkatx.client.consumer import consumer
from kafkatx.client.facades.forwarder import Facade, ForwardCall, ForwardDeferred, Listener
from kafkatx.client.legacy import consumer_connector, simple_consumer
from kafkatx.client.legacy.message_streams import MessageStream
from kafkatx.clientcore.legacy.topic_filter import TopicFilter

S = TypeVar("S")


class ConsumerMethods(Facade):
    """Methods of :class:`kafkatx.client.consumer.consumer.Consumer`, except those that return records."""

    assign = ForwardCall(consumer.Consumer.assign)
    unsubscribe = ForwardDeferred(consumer.Consumer.unsubscribe)
    assignment = ForwardCall(consumer.Consumer.assignment)
    seek = ForwardCall(consumer.Consumer.seek)
    seek_to_beginning = ForwardCall(consumer.Consumer.seek_to_beginning)
    seek_to_end = ForwardCall(consumer.Consumer.seek_to_end)
    pause = ForwardCall(consumer.Consumer.pause)
    resume = ForwardCall(consumer.Consumer.resume)
    paused = ForwardCall(consumer.Consumer.paused)
    position = ForwardDeferred(consumer.Consumer.position)
    highwater = ForwardCall(consumer.Consumer.highwater)
    commit = ForwardDeferred(consumer.Consumer.commit)
    group_metadata = ForwardCall(consumer.Consumer.group_metadata)
    committed = ForwardDeferred(consumer.Consumer.committed)
    beginning_offsets = ForwardDeferred(consumer.Consumer.beginning_offsets)
    end_offsets = ForwardDeferred(consumer.Consumer.end_offsets)
    offsets_for_times = ForwardDeferred(consumer.Consumer.offsets_for_times)

    def subscribe(
        self,
        topics: Iterable[str] | None = None,
        pattern: str | re.Pattern[str] | None = None,
        listener: object = None,
    ) -> None:
        """Subscribe to topics, in place of those before; the members of the group share their partitions."""
        bridged = None if listener is None else Listener(listener, self._bridge)
        self._do(lambda: self.client.subscribe(topics, pattern, bridged))


class SimpleConsumerMethods(Facade):
    """Methods of :class:`kafkatx.client.legacy.simple_consumer.SimpleConsumer`."""

    fetch = ForwardDeferred(simple_consumer.SimpleConsumer.fetch)
    multifetch = ForwardDeferred(simple_consumer.SimpleConsumer.multifetch)
    offsets_before = ForwardDeferred(simple_consumer.SimpleConsumer.offsets_before)


class ConnectorMethods(Facade, Generic[S]):
    """Methods of :class:`~kafkatx.client.ConsumerConnector`; each facade has streams of its own type."""

    commit_offsets = ForwardDeferred(consumer_connector.ConsumerConnector.commit_offsets)

    def _stream(self, stream: MessageStream) -> S:
        """Wrap a Twisted stream."""
        raise NotImplementedError

    def create_message_streams(self, topics: Mapping[str, int]) -> dict[str, list[S]]:
        """Create streams: for each topic the given number, which share its partitions.

        To be called once per connector.

        :raises KafkaTXError: there are streams already, no ``group.id``, or less than one stream for a topic.
        """
        made = self._do(lambda: self.client.create_message_streams(topics))
        return {topic: [self._stream(stream) for stream in streams] for topic, streams in made.items()}

    def create_message_streams_by_filter(self, filter: TopicFilter, streams: int = 1) -> list[S]:
        """Create streams of all topics that a filter accepts, also of topics created later.

        :param filter: a :class:`~kafkatx.clientcore.legacy.topic_filter.Whitelist` or ``Blacklist``.
        :raises KafkaTXError: as :meth:`create_message_streams`.
        """
        made = self._do(lambda: self.client.create_message_streams_by_filter(filter, streams))
        return [self._stream(stream) for stream in made]


class GroupsMethods(Facade):
    """Methods of :class:`kafkatx.client.admin.groups.Groups`."""

    listings = ForwardDeferred(groups.Groups.listings)
    describe = ForwardDeferred(groups.Groups.describe)
    delete = ForwardDeferred(groups.Groups.delete)
    offsets = ForwardDeferred(groups.Groups.offsets)
    commit = ForwardDeferred(groups.Groups.commit)
    delete_offsets = ForwardDeferred(groups.Groups.delete_offsets)
    progress = ForwardDeferred(groups.Groups.progress)


class ConfigsMethods(Facade):
    """Methods of :class:`kafkatx.client.admin.configs.Configs`."""

    describe = ForwardDeferred(configs.Configs.describe)
    alter = ForwardDeferred(configs.Configs.alter)


class QuotasMethods(Facade):
    """Methods of :class:`kafkatx.client.admin.quotas.Quotas`."""

    describe = ForwardDeferred(quotas.Quotas.describe)
    alter = ForwardDeferred(quotas.Quotas.alter)


class TransactionsMethods(Facade):
    """Methods of :class:`kafkatx.client.admin.transactions.Transactions`."""

    listings = ForwardDeferred(transactions.Transactions.listings)
    describe = ForwardDeferred(transactions.Transactions.describe)
    producers = ForwardDeferred(transactions.Transactions.producers)
    open = ForwardDeferred(transactions.Transactions.open)
    abort = ForwardDeferred(transactions.Transactions.abort)
    fence = ForwardDeferred(transactions.Transactions.fence)


class AclsMethods(Facade):
    """Methods of :class:`kafkatx.client.admin.acls.Acls`."""

    describe = ForwardDeferred(acls.Acls.describe)
    create = ForwardDeferred(acls.Acls.create)
    delete = ForwardDeferred(acls.Acls.delete)


class CredentialsMethods(Facade):
    """Methods of :class:`kafkatx.client.admin.credentials.Credentials`."""

    describe = ForwardDeferred(credentials.Credentials.describe)
    set_password = ForwardDeferred(credentials.Credentials.set_password)
    delete = ForwardDeferred(credentials.Credentials.delete)


class AdminMethods(Facade):
    """Methods of :class:`kafkatx.client.admin.admin.Admin`; its parts are made from the classes above."""

    create_topic = ForwardDeferred(admin.Admin.create_topic)
    delete_topic = ForwardDeferred(admin.Admin.delete_topic)
    create_partitions = ForwardDeferred(admin.Admin.create_partitions)
    metadata = ForwardDeferred(admin.Admin.metadata)
    list_topics = ForwardDeferred(admin.Admin.list_topics)
    describe_topic = ForwardDeferred(admin.Admin.describe_topic)
    list_offsets = ForwardDeferred(admin.Admin.list_offsets)
    delete_records = ForwardDeferred(admin.Admin.delete_records)
    describe_log_dirs = ForwardDeferred(admin.Admin.describe_log_dirs)
    describe_mirrors = ForwardDeferred(admin.Admin.describe_mirrors)
