"""The facade of this package: requests to a cluster's brokers by node id, retries, metadata, coordinators.

Connections are :mod:`kafkatx.networkclient.nodes`', metadata is :mod:`kafkatx.networkclient.metadata`'s.
Every client stands on one :class:`Cluster`.
"""

from __future__ import annotations

import os
from collections.abc import Awaitable, Callable, Iterable
from functools import partial
from typing import Any, TypeVar

from twisted.internet.defer import Deferred, fail, gatherResults, succeed
from twisted.internet.defer import TimeoutError as TimedOut
from twisted.internet.interfaces import IReactorTime
from twisted.internet.task import deferLater
from twisted.logger import Logger

from kafkatx.clientcore.bootstrap import Address, Addresses, static_addresses
from kafkatx.clientcore.coordinators import GROUP, find_request, found_coordinator
from kafkatx.clientcore.errors import (
    ClientClosed,
    ConnectionFailed,
    NotStarted,
    RequestTimedOut,
    retriable,
)
from kafkatx.clientcore.leader_hints import LeaderHints, follow
from kafkatx.clientcore.metadata import ClusterMetadata, TopicMetadata, from_response
from kafkatx.clientcore.metadata_request import metadata_request
from kafkatx.clientcore.settings import ClientSettings
from kafkatx.clientcore.tables import common, consumer, producer
from kafkatx.errors import KafkaTXError
from kafkatx.networkclient.connection import BrokerConnection, endpoint_maker
from kafkatx.networkclient.forks import check_process
from kafkatx.networkclient.metadata import Listener, Metadata
from kafkatx.networkclient.nodes import Lane, Nodes
from kafkatx.networkclient.protocol import BrokerProtocol, ConnectionLimits
from kafkatx.networkclient.shared_call import SharedCall
from kafkatx.networkclient.wait_warning import FIRST_WARNING_S
from kafkatx.networkclient.waiters import Waiters
from kafkatx.types import BrokerNode
from kafkatx.wire.messages.metadata import MetadataRequest, MetadataResponse
from kafkatx.wire.schema import Message

T = TypeVar("T")


class Cluster:
    """Connections to all brokers of a cluster, its metadata, and the coordinators of groups.

    Each client makes one of its own unless it is given one; several clients may share one.
    """

    _log = Logger()

    def __init__(
        self, settings: ClientSettings, reactor: IReactorTime, addresses: Addresses | None = None
    ) -> None:
        """Open no connection yet; :meth:`start` does.

        :param addresses: bootstrap servers, closed by :meth:`close`; None: those that the settings name.
        :raises SettingError: ``bootstrap.servers`` is missing or malformed.
        """
        self.settings = settings
        self.reactor = reactor
        self._make_endpoint = endpoint_maker(settings)
        self._addresses = addresses or static_addresses(settings)
        self._addresses.listen(self._addresses_changed)
        self._backoff = settings.pauses(common.RETRY_BACKOFF_MS, common.RETRY_BACKOFF_MAX_MS)
        self._nodes = Nodes(self._addresses.known, self._connection)
        self._metadata = Metadata(
            reactor,
            self._fetch_for_cache,
            self.retrying,
            self._backoff,
            max_age_s=settings[common.METADATA_MAX_AGE_MS] / 1000,
            max_idle_s=settings[common.METADATA_MAX_IDLE_MS] / 1000,
            servers=self._addresses.where,
        )
        self._coordinators: dict[tuple[str, int], int] = {}
        self._coordinator_lookups: SharedCall[int] = SharedCall()
        self._started = False
        self._closing: Deferred[Any] | None = None
        self._pid = os.getpid()
        self._closed: Waiters[None] = Waiters()

    @property
    def api_timeout_s(self) -> float:
        """The time in seconds for which a call is retried before it fails."""
        timeout_ms = self.settings[common.DEFAULT_API_TIMEOUT_MS]
        if self.settings.kind == "producer":
            # max.block.ms=0 means "do not wait for buffer memory"; metadata still has to be waited for.
            timeout_ms = self.settings[producer.MAX_BLOCK_MS] or timeout_ms
        return timeout_ms / 1000

    # -- start and close

    def start(self) -> Deferred[Cluster]:
        """Request metadata for the first time; try each bootstrap server once.

        Calls before this one fail with NotStarted.

        :return: fires with this cluster; fails with ConnectionFailed if no bootstrap server answers.
        """
        self._started = True
        return Deferred.fromCoroutine(self._start())

    async def _start(self) -> Cluster:
        await self._metadata.start()
        return self

    def close(self) -> Deferred[None]:
        """Close all connections; waiting calls fail with ClientClosed. Fires when they are closed."""
        if self._closing is None:
            self._closing = succeed(None)
            error = ClientClosed("the client was closed")
            self._metadata.close(error)
            self._coordinator_lookups.close(error)
            ends: list[Deferred[Any]] = [self._nodes.close(), Deferred.fromCoroutine(self._addresses.close())]
            self._closing = closing = gatherResults(ends, consumeErrors=True)
            closing.addBoth(lambda _: self._closed.fire(None))
        return self._closed.wait() if not self._closing.called else succeed(None)

    # -- requests

    def request(self, node_id: int, message: Message, *, lane: Lane = "", **options: Any) -> Deferred[Any]:
        """Send a request to one broker, without retries.

        :param lane: requests of one lane share a connection and are answered in order.
        :param options: ``version``, ``at_most``, ``timeout_s``, ``expect_reply`` as in
            :meth:`BrokerProtocol.request`.
        :return: fires with the reply. Fails with ConnectionFailed, RequestTimedOut, ClientClosed, or
            RequestError (UNSUPPORTED_VERSION). Cancelling it drops the reply.
        """
        try:
            connection = self._connection_to(node_id, lane)
        except KafkaTXError as error:
            return fail(error)
        return connection.request(message, **options)

    def request_any(self, message: Message, *, lane: Lane = "", **options: Any) -> Deferred[Any]:
        """Send a request to any broker that answers; otherwise as :meth:`request`."""

        async def ask(connection: BrokerConnection) -> Any:
            return await connection.request(message, **options)

        return Deferred.fromCoroutine(self._request_any(ask, lane))

    def request_controller(self, message: Message, *, lane: Lane = "", **options: Any) -> Deferred[Any]:
        """Send a request to the controller, or to any broker if it is unknown; as :meth:`request`."""
        if self._nodes.known(self.metadata.controller_id):
            return self.request(self.metadata.controller_id, message, lane=lane, **options)
        return self.request_any(message, lane=lane, **options)

    def version_for(
        self, node_id: int, request_type: type[Message], at_most: int | None = None, *, lane: Lane = ""
    ) -> Deferred[int]:
        """Look up the highest version of an API that both sides speak; fails as :meth:`request`."""
        ready = self.connected(node_id, lane=lane)
        return ready.addCallback(lambda protocol: protocol.version_for(request_type, at_most))

    def connected(self, node_id: int, *, lane: Lane = "") -> Deferred[BrokerProtocol]:
        """Connect to a broker, if disconnected.

        Fires with the connection, another one after it was lost; fails as :meth:`request`.
        """
        try:
            return self._connection_to(node_id, lane).ready()
        except KafkaTXError as error:
            return fail(error)

    async def retrying(self, attempt: Callable[[], Awaitable[T]]) -> T:
        """Call *attempt* until it succeeds, fails with a final error, or ``api_timeout_s`` is over.

        Pauses between attempts, and refreshes metadata after each failure. Cancelling it cancels the attempt.

        :raises KafkaTXError: the error of the last attempt that ended; RequestTimedOut if none did.
        """
        began = self.reactor.seconds()
        deadline = began + self.api_timeout_s
        warn_after_s = FIRST_WARNING_S
        failures = 0
        last: KafkaTXError | None = None
        while True:
            try:
                return await self._within(deadline - self.reactor.seconds(), attempt)
            except KafkaTXError as error:
                if isinstance(error, RequestTimedOut) and last and self.reactor.seconds() >= deadline:
                    raise last from None  # more helpful than the time-out that cut off the attempt after it
                last = error
                pause_s = self._backoff.pause_s(failures)
                if not retriable(error) or self.reactor.seconds() + pause_s >= deadline:
                    raise
                waited_s = self.reactor.seconds() - began
                # While no broker answers, the refresh of metadata warns.
                if waited_s >= warn_after_s and not isinstance(error, ConnectionFailed):
                    warn_after_s = 2 * waited_s
                    self._log.warn(
                        "still trying after {seconds:.0f} s: {error}", seconds=waited_s, error=error
                    )
            failures += 1
            self.stale()
            await deferLater(self.reactor, pause_s)

    async def _within(self, seconds: float, attempt: Callable[[], Awaitable[T]]) -> T:
        async def run() -> T:
            return await attempt()

        try:
            return await Deferred.fromCoroutine(run()).addTimeout(max(0.0, seconds), self.reactor)
        except TimedOut:
            raise RequestTimedOut(f"not done within {self.api_timeout_s:g} s") from None

    def _connection_to(self, node_id: int, lane: Lane) -> BrokerConnection:
        self._check_open()
        if not self._nodes.known(node_id):
            self.stale()
        return self._nodes.at(node_id, lane)

    def _check_open(self) -> None:
        if self._closing is not None:
            raise ClientClosed("the client is closed")
        if not self._started:
            raise NotStarted
        check_process(self._pid)  # a fork must not write to its parent's connections

    async def _request_any(self, ask: Callable[[BrokerConnection], Awaitable[T]], lane: Lane = "") -> T:
        """Try one broker after the other until one answers; then those that have come meanwhile."""
        self._check_open()
        failure: ConnectionFailed | None = None
        tried: set[BrokerConnection] = set()
        for look_again in (True, False):
            for connection in self._nodes.candidates(lane):
                if connection not in tried:
                    tried.add(connection)
                    try:
                        return await ask(connection)
                    except ConnectionFailed as error:
                        failure = error
                    self._check_open()
            try:
                if look_again:
                    await self._addresses.find()
            except ConnectionFailed as error:
                failure = failure or error
            self._check_open()
        raise ConnectionFailed(
            f"no broker of the cluster at {self._addresses.where} answers; the last error: {failure}"
        )

    def _addresses_changed(self) -> None:
        if self._closing is None:
            self._nodes.set_bootstrap(self._addresses.known)
            if self.metadata.brokers:
                self.stale()

    def _connection(self, address: Address) -> BrokerConnection:
        settings = self.settings
        idle_ms = settings[common.CONNECTIONS_MAX_IDLE_MS]
        return BrokerConnection(
            self.reactor,
            address,
            client_id=settings[common.CLIENT_ID],
            limits=ConnectionLimits(
                response_bytes=settings[common.RESPONSE_MAX_BYTES],
                request_s=settings[common.REQUEST_TIMEOUT_MS] / 1000,
                idle_s=idle_ms / 1000 if idle_ms >= 0 else None,
                send_buffer_bytes=settings[common.SEND_BUFFER_BYTES],
                receive_buffer_bytes=settings[common.RECEIVE_BUFFER_BYTES],
            ),
            connect_s=settings[common.CONNECTION_SETUP_TIMEOUT_MS] / 1000,
            backoff=settings.pauses(common.RECONNECT_BACKOFF_MS, common.RECONNECT_BACKOFF_MAX_MS),
            make_endpoint=self._make_endpoint,
            on_failure=self._broker_failed,
        )

    def _broker_failed(self) -> None:
        if self.metadata.brokers:  # otherwise start() has not succeeded yet, and fails by itself
            self.stale()

    # -- metadata

    @property
    def metadata(self) -> ClusterMetadata:
        """The metadata of the last reply; replaced as a whole by the next one."""
        return self._metadata.metadata

    def stale(self) -> None:
        """Refresh metadata soon, because it is wrong; at most once per ``retry.backoff.ms``."""
        self._metadata.stale()

    def refreshed(self) -> Deferred[None]:
        """Refresh metadata soon; fires after the next reply, however long that takes.

        Fails with ClientClosed. Cancelling it does not affect other callers.
        """
        return self._metadata.refreshed()

    def track(self, topics: Iterable[str], owner: object = None) -> None:
        """Include these topics whenever metadata is refreshed.

        :param owner: a call replaces the topics of the same owner.
        """
        self._metadata.track(topics, owner)

    def track_all(self, age_s: float, owner: object = None) -> None:
        """Include all topics whenever metadata is refreshed, and refresh it at this age at the latest."""
        self._metadata.track_all(age_s, owner)

    def untrack(self, owner: object = None) -> None:
        """Undo :meth:`track` and :meth:`track_all` for *owner*."""
        self._metadata.untrack(owner)

    def on_metadata(self, listener: Listener) -> Callable[[], None]:
        """Call *listener* with old and new metadata after each change; return a function that removes it."""
        return self._metadata.listen(listener)

    def leader(self, topic: str, partition: int) -> int:
        """Return the node id of a partition's leader.

        -1: unknown, or there is none; then await :meth:`refreshed` and look again.
        """
        return self._metadata.leader(topic, partition)

    def take_leaders(self, hints: LeaderHints) -> None:
        """Take over the new leaders that a reply of Produce or Fetch names, and their addresses (KIP-951)."""
        metadata = follow(self.metadata, hints)
        if metadata is not self.metadata and self._closing is None:
            self._nodes.update(metadata.brokers)
            self._metadata.replace(metadata)

    async def topic(self, name: str) -> TopicMetadata:
        """Return a topic, from memory or requested, which creates it where client and broker allow that.

        :raises UnknownTopic: the topic does not exist and was not created.
        :raises RequestError: any other error of the topic, for example INVALID_TOPIC_EXCEPTION.
        """
        self._check_open()
        return await self._metadata.topic(name)

    async def describe(self, topics: list[str] | None) -> ClusterMetadata:
        """Request the metadata of these topics, or of all, without creating topics or remembering the reply.

        :raises ConnectionFailed: no broker answers.
        """
        return await self._fetch_metadata(topics, auto_create=False)

    async def _fetch_for_cache(self, topics: list[str] | None) -> ClusterMetadata:
        return await self._fetch_metadata(topics, self._auto_create)

    async def _fetch_metadata(self, topics: list[str] | None, auto_create: bool) -> ClusterMetadata:
        async def ask(connection: BrokerConnection) -> MetadataResponse:
            protocol = await connection.ready()
            version = protocol.version_for(MetadataRequest)
            request = metadata_request(topics, version, auto_create)
            response: MetadataResponse = await protocol.request(request, version=version)
            return response

        answer = from_response(await self._request_any(ask))
        if not answer.brokers:
            raise ConnectionFailed("the broker's metadata lists no brokers yet, not even itself")
        self._check_open()
        self._nodes.update(answer.brokers)
        return answer

    @property
    def _auto_create(self) -> bool:
        if self.settings.kind == "consumer":
            return self.settings[consumer.ALLOW_AUTO_CREATE_TOPICS]
        return self.settings.kind == "producer"

    # -- coordinators

    async def coordinator(self, key: str, key_type: int = GROUP) -> int:
        """Return the node id of a coordinator, from memory or looked up with retries.

        :param key: a group id, or with TRANSACTION a transactional id.
        :raises RequestError: GROUP_AUTHORIZATION_FAILED, INVALID_GROUP_ID, ...; the last error.
        """
        self._check_open()
        if (key, key_type) in self._coordinators:
            return self._coordinators[key, key_type]
        look_up = partial(self._find_coordinator, key, key_type)
        return await self._coordinator_lookups.wait(f"{key_type} {key}", look_up)

    def forget_coordinator(self, key: str, key_type: int = GROUP) -> None:
        """Forget a coordinator that has moved or gone."""
        self._coordinators.pop((key, key_type), None)

    async def _find_coordinator(self, key: str, key_type: int) -> int:
        async def ask() -> BrokerNode:
            return found_coordinator(await self.request_any(find_request(key, key_type)), key, key_type)

        node = await self.retrying(ask)
        self._nodes.add(node)
        self._coordinators[key, key_type] = node.id
        return node.id
