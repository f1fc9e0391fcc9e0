"""The ConsumerConnector of Kafka 0.7 and of the 2011 paper: reads a group's share of topics as streams."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Coroutine, Mapping
from types import MappingProxyType
from typing import Any

from twisted.internet.defer import CancelledError, Deferred
from twisted.internet.defer import TimeoutError as TimedOut
from twisted.internet.interfaces import IReactorTime
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

    The offsets of finished records are committed at intervals (``enable.auto.commit``), before partitions are
    revoked, and at the shutdown. A *balancer* (``kafkatx.balancer``, an ``IBalancer``) assigns partitions and
    keeps offsets; the built-in one uses the group protocol.

    A final error of the connector is raised by each of its streams; call :meth:`shutdown` then.
    """

    _log = Logger()

    def __init__(
        self,
        settings: Mapping[str, object] = MappingProxyType({}),
        *,
        reactor: IReactorTime | None = None,
        cluster: Cluster | None = None,
        **more: object,
    ) -> None:
        """Make a connector; :meth:`start` connects.

        :param settings: a consumer's, by Kafka's names, with dots or underscores; *more* likewise.
        :param reactor: None: the cluster's, or the installed one.
        :param cluster: a cluster to share; it is not closed with the connector.
        :raises SettingError: a setting is unknown or has a bad value.
        """
        self.settings, self.cluster = client_cluster("consumer", settings, more, reactor, cluster)
        self._owned = cluster is None
        # Automatic commits go to the balancer, not to the consumer's coordinator.
        values = {name.replace("_", "."): value for name, value in {**settings, **more}.items()}
        values[table.ENABLE_AUTO_COMMIT.name] = False
        self._consumer = StreamConsumer(values, cluster=self.cluster)
        self._balancer = configured_instance(self.settings, table.BALANCER, IBalancer)
        self._auto_commit: AutoCommit | None = None
        if self.settings[table.ENABLE_AUTO_COMMIT]:
            self._auto_commit = self._consumer.auto_commit(self._balancer.commit)
        self._assignment: StreamAssignment[MessageStream] = StreamAssignment()
        self._owners: dict[TopicPartition, MessageStream] = {}
        self._distributing: Deferred[None] | None = None
        self._joined = False
        self._ending: SharedCall[None] = SharedCall()
        self._closed = False

    @deferred
    async def start(self) -> ConsumerConnector:
        """Connect; fires with this connector.

        Fails with ConnectionFailed if no broker answers; then call :meth:`shutdown`.
        """
        await self._consumer.start()
        return self

    # -- streams

    def create_message_streams(self, topics: Mapping[str, int]) -> dict[str, list[MessageStream]]:
        """Create streams: for each topic the given number, which share its partitions.

        To be called once per connector, because each call would make the whole group rebalance.

        :raises NotStarted: :meth:`start` was not called.
        :raises KafkaTXError: there are streams already, no ``group.id``, or less than one stream for a topic.
        """
        subscription = Subscription(topics=dict(topics))
        assignment = StreamAssignment({topic: self._made(count) for topic, count in topics.items()})
        self._join(subscription, assignment)
        return dict(assignment.by_topic)

    def create_message_streams_by_filter(self, filter: TopicFilter, streams: int = 1) -> list[MessageStream]:
        """Create streams of all topics that a filter accepts, also of topics created later.

        :param filter: a :class:`~kafkatx.clientcore.legacy.topic_filter.Whitelist` or ``Blacklist``.
        :raises KafkaTXError: as :meth:`create_message_streams`.
        """
        subscription = Subscription(filter=filter, streams=streams)
        assignment = StreamAssignment(all=self._made(streams))
        self._join(subscription, assignment)
        return list(assignment.all)

    def _made(self, count: int) -> list[MessageStream]:
        return [MessageStream(self.cluster.reactor, self._consumer.yield_to_reactor) for _ in range(count)]

    def _join(self, subscription: Subscription, assignment: StreamAssignment[MessageStream]) -> None:
        if self._closed:
            raise ClientClosed("the connector was shut down")
        self._consumer.check_started()
        if self._joined:
            raise KafkaTXError("this connector has its streams already: make another connector for more")
        self._assignment = assignment  # partitions may come at once
        listener = _Listener(self._partitions_assigned, self._partitions_leaving)
        joining = self._balancer.join(self._consumer, subscription, listener)
        self._joined = True
        self._distributing = self._consumer.distribute(self._deliver)
        self._distributing.addErrback(self._failed)
        joining.addErrback(self._failed)
        if self._auto_commit is not None:
            self._auto_commit.start()

    async def _deliver(self, delivery: Delivery, report_activity: Callable[[], None]) -> None:
        place = delivery.state.topic_partition
        if place not in self._owners:
            raise KafkaTXError(f"the balancer gave {place}, which no stream is for")
        await self._owners[place].deliver(delivery, report_activity)

    # -- balancing

    def _partitions_assigned(self, added: set[TopicPartition]) -> None:
        """Assign this connector's partitions to its streams; a delivery in progress stays where it is."""
        if self._auto_commit is not None:
            self._auto_commit.forget(added)
        self._owners = self._assignment.divide(self._consumer.assignment())

    async def _partitions_leaving(self, partitions: set[TopicPartition], lost: bool) -> None:
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
        """Commit the offsets of all records that streams have yielded so far, including the last ones.

        Fails with CommitFailed if partitions were reassigned meanwhile, with RequestError, or
        ConnectionFailed.
        """
        if self._closed:
            raise ClientClosed("the connector was shut down")
        await self._balancer.commit(self._consumer.consumed())

    def shutdown(self, timeout_s: float = CLOSE_S) -> Deferred[None]:
        """End the streams, commit if ``enable.auto.commit`` is set, leave the group, close the connections.

        The records that streams have yielded count as finished.

        :param timeout_s: seconds after which unfinished steps, for example a commit, are abandoned.
        :return: fires when it is shut down.
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
            self._log.warn("the connector could not leave its group within {seconds} s", seconds=timeout_s)
        finally:
            try:
                await self._consumer.close(max(0.0, deadline - reactor.seconds()))
            finally:
                if self._owned:
                    await self.cluster.close()

    async def _leave(self) -> None:
        """End the streams, commit, and leave the group."""
        # The reader of a stream may have called this: the coroutine that delivered its record cannot be
        # cancelled before it has returned.
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
    """The connector's rebalance listener, called by the consumer or the balancer."""

    def __init__(
        self,
        assigned: Callable[[set[TopicPartition]], None],
        leaving: Callable[[set[TopicPartition], bool], Coroutine[Any, Any, None]],
    ) -> None:
        self._assigned = assigned
        self._leaving = leaving

    def on_partitions_assigned(self, partitions: set[TopicPartition]) -> None:
        """Assign the partitions to streams."""
        self._assigned(partitions)

    def on_partitions_revoked(self, partitions: set[TopicPartition]) -> Awaitable[None]:
        """Commit before the partitions are revoked."""
        return self._leaving(partitions, False)

    def on_partitions_lost(self, partitions: set[TopicPartition]) -> Awaitable[None]:
        """Do not commit: the partitions belong to other members already."""
        return self._leaving(partitions, True)


async def _nothing() -> None:
    pass
