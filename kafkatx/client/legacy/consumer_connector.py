"""The ConsumerConnector of Kafka 0.7 and of the paper: a group's share of topics, as streams."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

from twisted.internet.defer import CancelledError, Deferred
from twisted.internet.defer import TimeoutError as TimedOut
from twisted.internet.task import deferLater
from twisted.logger import Logger
from twisted.python.failure import Failure

from kafkatx.client.consumer.consumer import CLOSE_S
from kafkatx.client.consumer.group.autocommit import AutoCommit
from kafkatx.client.deferreds import client_cluster, deferred
from kafkatx.client.legacy.message_streams import MessageStream
from kafkatx.client.legacy.stream_consumer import StreamConsumer
from kafkatx.client.plugins import configured_instance
from kafkatx.clientcore.consumer.partition_state import Delivery
from kafkatx.clientcore.errors import ClientClosed
from kafkatx.clientcore.legacy.topic_filter import StreamAssignment, Subscription, TopicFilter
from kafkatx.clientcore.tables import consumer as table
from kafkatx.errors import KafkaTXError
from kafkatx.interfaces import IBalancer
from kafkatx.networkclient.cluster import Cluster
from kafkatx.networkclient.shared_call import SharedCall
from kafkatx.types import TopicPartition


class ConsumerConnector:
    """Divides the partitions of topics among the streams of all connectors of a group::

        connector = ConsumerConnector(bootstrap_servers="127.0.0.1:9092", group_id="mine")
        await connector.start()
        streams = connector.create_message_streams({"events": 2})
        for stream in streams["events"]:
            handle(stream)  # async for record in stream: ...
        ...
        await connector.shutdown()

    Offsets are committed now and then (``enable.auto.commit``), before partitions go to others, and at the
    end: those of records that are done. What shares partitions out and keeps offsets is the *balancer*
    (``kafkatx.balancer``, an ``IBalancer``); the built-in one is the group protocol.

    An error that the connector cannot get past is raised by each of its streams: shut it down then.
    """

    _log = Logger()

    def __init__(
        self,
        settings: Mapping[str, Any] = MappingProxyType({}),
        *,
        reactor: Any = None,
        cluster: Cluster | None = None,
        **more: Any,
    ) -> None:
        """Make it; :meth:`start` connects.

        :param settings: a consumer's, by Kafka's names, with dots or underscores; *more* likewise.
        :param reactor: None: the cluster's, or the one that is installed.
        :param cluster: one to share; it is not closed with this.
        :raises SettingError: a setting is unknown or has a bad value.
        """
        values = {**settings, **more}
        self.settings, self.cluster = client_cluster("consumer", values, reactor, cluster)
        self._owned = cluster is None
        # Automatic commits go to the balancer, and are not the consumer's.
        values = {name.replace("_", "."): value for name, value in values.items()}
        values[table.ENABLE_AUTO_COMMIT.name] = False
        self._consumer = StreamConsumer(values, cluster=self.cluster)
        self._balancer = configured_instance(self.settings, table.BALANCER, IBalancer)
        self._auto_commit: AutoCommit | None = None
        if self.settings[table.ENABLE_AUTO_COMMIT]:
            self._auto_commit = self._consumer.auto_commit(self._balancer.commit)
        self._assignment: StreamAssignment[MessageStream] = StreamAssignment()
        self._owners: dict[TopicPartition, MessageStream] = {}
        self._distributing: Deferred[Any] | None = None
        self._joined = False
        self._ending: SharedCall[None] = SharedCall()
        self._closed = False

    @deferred
    async def start(self) -> ConsumerConnector:
        """Connect; fires with this.

        Fails with ConnectionFailed if no broker answers: then :meth:`shutdown` it.
        """
        await self._consumer.start()
        return self

    # -- streams

    def create_message_streams(self, topics: Mapping[str, int]) -> dict[str, list[MessageStream]]:
        """Read topics: for each so many streams as are asked for, which share its partitions.

        Once per connector, for all that is to be read: each call would have the whole group balance anew.

        :raises KafkaTXError: there are streams already, no ``group.id``, or less than one stream for a topic.
        """
        subscription = Subscription(topics=dict(topics))
        assignment = StreamAssignment({topic: self._made(count) for topic, count in topics.items()})
        self._join(subscription, assignment)
        return dict(assignment.by_topic)

    def create_message_streams_by_filter(self, filter: TopicFilter, streams: int = 1) -> list[MessageStream]:
        """Read all topics that a filter wants, now and when they come to be; each stream may have several.

        :param filter: a :class:`~kafkatx.clientcore.legacy.topic_filter.Whitelist` or ``Blacklist``.
        :raises KafkaTXError: as :meth:`create_message_streams`.
        """
        subscription = Subscription(filter=filter, streams=streams)
        assignment = StreamAssignment(all=self._made(streams))
        self._join(subscription, assignment)
        return list(assignment.all)

    def _made(self, count: int) -> list[MessageStream]:
        return [MessageStream(self.cluster.reactor, self._consumer.breathe) for _ in range(count)]

    def _join(self, subscription: Subscription, assignment: StreamAssignment[MessageStream]) -> None:
        if self._closed:
            raise ClientClosed("the connector was shut down")
        if self._joined:
            raise KafkaTXError("this connector has its streams already: make another connector for others")
        self._assignment = assignment  # partitions may come at once
        listener = _Listener(self._rebalanced, self._leaving)
        joining = self._balancer.join(self._consumer, subscription, listener)
        self._joined = True
        self._distributing = self._consumer.distribute(self._take)
        self._distributing.addErrback(self._failed)
        joining.addErrback(self._failed)
        if self._auto_commit is not None:
            self._auto_commit.start()

    async def _take(self, hand: Delivery, alive: Callable[[], None]) -> None:
        place = hand.state.topic_partition
        if place not in self._owners:
            raise KafkaTXError(f"the balancer gave {place}, which no stream is for")
        await self._owners[place].take(hand, alive)

    # -- balancing

    def _rebalanced(self, added: set[TopicPartition]) -> None:
        """Divide what this connector has now; who has a hand of a partition keeps that until it is done."""
        if self._auto_commit is not None:
            self._auto_commit.forget(added)
        self._owners = self._assignment.divide(self._consumer.assignment())

    async def _leaving(self, partitions: set[TopicPartition], lost: bool) -> None:
        if self._auto_commit is not None and not lost:
            await self._auto_commit.try_commit(partitions)

    def _failed(self, failure: Failure) -> None:
        if failure.check(CancelledError):
            return
        error = failure.value
        if not isinstance(error, KafkaTXError):
            error = KafkaTXError(f"{type(error).__name__}: {error}")
        self._end(error)

    def _end(self, error: KafkaTXError) -> None:
        for stream in self._assignment.streams():
            stream.end(error)

    # -- offsets, and the end

    @deferred
    async def commit_offsets(self) -> None:
        """Commit the offsets of all records that streams have given so far, those last given included.

        Fails with CommitFailed where others have the partitions now, with RequestError, or ConnectionFailed.
        """
        if self._closed:
            raise ClientClosed("the connector was shut down")
        await self._balancer.commit(self._consumer.consumed())

    def shutdown(self, timeout_s: float = CLOSE_S) -> Deferred[None]:
        """End the streams, commit if that is automatic, leave the group, and close the connections.

        The records that streams have given count as done.

        :param timeout_s: what is not done after this is given up: a commit that no coordinator takes, say.
        :return: fires when all that is done.
        """
        if self._closed:
            return self._ending.wait("shutdown", _nothing)
        self._closed = True
        return self._ending.wait("shutdown", lambda: self._shutdown(timeout_s))

    async def _shutdown(self, timeout_s: float) -> None:
        reactor = self.cluster.reactor
        deadline = reactor.seconds() + timeout_s
        try:
            await Deferred.fromCoroutine(self._leave()).addTimeout(timeout_s, reactor)
        except TimedOut:
            self._log.warn("the connector was not done within {seconds} s of its end", seconds=timeout_s)
        finally:
            try:
                await self._consumer.close(max(0.0, deadline - reactor.seconds()))
            finally:
                if self._owned:
                    await self.cluster.close()

    async def _leave(self) -> None:
        """End the streams, and keep where they have come."""
        # who reads a stream may be what asks for it: the dealing that gave it the record cannot be cancelled
        # before it has returned
        await deferLater(self.cluster.reactor, 0)
        if self._distributing is not None:
            self._distributing.cancel()
        self._end(ClientClosed("the connector was shut down"))
        if self._distributing is not None:
            await self._distributing
        if self._auto_commit is not None:
            self._auto_commit.stop()
            await self._auto_commit.try_commit()
        await self._balancer.leave()


class _Listener:
    """What the consumer, or the balancer, tells of partitions."""

    def __init__(self, rebalanced: Any, leaving: Any) -> None:
        self._rebalanced = rebalanced
        self._leaving = leaving

    def on_partitions_assigned(self, partitions: set[TopicPartition]) -> Any:
        """These have come."""
        return self._rebalanced(partitions)

    def on_partitions_revoked(self, partitions: set[TopicPartition]) -> Any:
        """These are about to go."""
        return self._leaving(partitions, lost=False)

    def on_partitions_lost(self, partitions: set[TopicPartition]) -> Any:
        """These have gone."""
        return self._leaving(partitions, lost=True)


async def _nothing() -> None:
    pass
