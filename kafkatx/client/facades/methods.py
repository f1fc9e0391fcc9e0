"""What the facades for asyncio and for threads have in common: the methods that both hand on."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any, Generic, TypeVar

from kafkatx.client.admin import admin, configs, groups, quotas
from kafkatx.client.consumer import consumer
from kafkatx.client.facades.forwarder import Listener, Same, Side, Waits
from kafkatx.client.legacy import consumer_connector, simple_consumer
from kafkatx.client.legacy.message_streams import MessageStream
from kafkatx.clientcore.legacy.topic_filter import TopicFilter

S = TypeVar("S")


class ConsumerMethods(Side):
    """Of :class:`kafkatx.client.consumer.consumer.Consumer`, but for those that give records."""

    assign = Same(consumer.Consumer.assign)
    unsubscribe = Waits(consumer.Consumer.unsubscribe)
    assignment = Same(consumer.Consumer.assignment)
    seek = Same(consumer.Consumer.seek)
    seek_to_beginning = Same(consumer.Consumer.seek_to_beginning)
    seek_to_end = Same(consumer.Consumer.seek_to_end)
    pause = Same(consumer.Consumer.pause)
    resume = Same(consumer.Consumer.resume)
    paused = Same(consumer.Consumer.paused)
    position = Waits(consumer.Consumer.position)
    highwater = Same(consumer.Consumer.highwater)
    commit = Waits(consumer.Consumer.commit)
    committed = Waits(consumer.Consumer.committed)
    beginning_offsets = Waits(consumer.Consumer.beginning_offsets)
    end_offsets = Waits(consumer.Consumer.end_offsets)
    offsets_for_times = Waits(consumer.Consumer.offsets_for_times)

    def subscribe(
        self,
        topics: Iterable[str] | None = None,
        pattern: str | re.Pattern[str] | None = None,
        listener: Any = None,
    ) -> None:
        """Share topics with the members of the group, instead of those before."""
        told = None if listener is None else Listener(listener, self._bridged)
        self._do(lambda: self.client.subscribe(topics, pattern, told))


class SimpleConsumerMethods(Side):
    """Of :class:`kafkatx.client.legacy.simple_consumer.SimpleConsumer`."""

    fetch = Waits(simple_consumer.SimpleConsumer.fetch)
    multifetch = Waits(simple_consumer.SimpleConsumer.multifetch)
    offsets_before = Waits(simple_consumer.SimpleConsumer.offsets_before)


class ConnectorMethods(Side, Generic[S]):
    """Methods of :class:`~kafkatx.client.ConsumerConnector`; each facade makes its own streams."""

    commit_offsets = Waits(consumer_connector.ConsumerConnector.commit_offsets)

    def _stream(self, stream: MessageStream) -> S:
        """A stream, as this side iterates over it."""
        raise NotImplementedError

    def create_message_streams(self, topics: Mapping[str, int]) -> dict[str, list[S]]:
        """Read topics: for each so many streams as are asked for, which share its partitions.

        Once per connector, for all that is to be read.

        :raises KafkaTXError: there are streams already, no ``group.id``, or less than one stream for a topic.
        """
        made = self._do(lambda: self.client.create_message_streams(topics))
        return {topic: [self._stream(stream) for stream in streams] for topic, streams in made.items()}

    def create_message_streams_by_filter(self, filter: TopicFilter, streams: int = 1) -> list[S]:
        """Read all topics that a filter wants, now and when they come to be; each stream may have several.

        :param filter: a :class:`~kafkatx.clientcore.legacy.topic_filter.Whitelist` or ``Blacklist``.
        :raises KafkaTXError: as :meth:`create_message_streams`.
        """
        made = self._do(lambda: self.client.create_message_streams_by_filter(filter, streams))
        return [self._stream(stream) for stream in made]


class GroupsMethods(Side):
    """Of :class:`kafkatx.client.admin.groups.Groups`."""

    listings = Waits(groups.Groups.listings)
    describe = Waits(groups.Groups.describe)
    delete = Waits(groups.Groups.delete)
    offsets = Waits(groups.Groups.offsets)
    commit = Waits(groups.Groups.commit)
    delete_offsets = Waits(groups.Groups.delete_offsets)
    progress = Waits(groups.Groups.progress)


class ConfigsMethods(Side):
    """Of :class:`kafkatx.client.admin.configs.Configs`."""

    describe = Waits(configs.Configs.describe)
    alter = Waits(configs.Configs.alter)


class QuotasMethods(Side):
    """Of :class:`kafkatx.client.admin.quotas.Quotas`."""

    describe = Waits(quotas.Quotas.describe)
    alter = Waits(quotas.Quotas.alter)


class AdminMethods(Side):
    """Of :class:`kafkatx.client.admin.admin.Admin`; its parts each side makes of the three above."""

    create_topic = Waits(admin.Admin.create_topic)
    delete_topic = Waits(admin.Admin.delete_topic)
    create_partitions = Waits(admin.Admin.create_partitions)
    metadata = Waits(admin.Admin.metadata)
    list_topics = Waits(admin.Admin.list_topics)
    describe_topic = Waits(admin.Admin.describe_topic)
    list_offsets = Waits(admin.Admin.list_offsets)
    delete_records = Waits(admin.Admin.delete_records)
    describe_log_dirs = Waits(admin.Admin.describe_log_dirs)
