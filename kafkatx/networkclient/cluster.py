"""The cluster as a Twisted client sees it: connections to its brokers, metadata, coordinators."""

from __future__ import annotations

import os
from collections.abc import Awaitable, Callable, Iterable
from typing import Any, TypeVar

from twisted.internet.defer import Deferred, fail, succeed
from twisted.internet.defer import TimeoutError as TimedOut
from twisted.internet.task import deferLater

from kafkatx.clientcore.backoff import JITTER, Backoff
from kafkatx.clientcore.bootstrap import Address, format_address, parse_bootstrap
from kafkatx.clientcore.errors import (
    ClientClosed,
    ConnectionFailed,
    RequestTimedOut,
    check,
    retriable,
)
from kafkatx.clientcore.metadata import ClusterMetadata, TopicMetadata, from_response
from kafkatx.clientcore.metadata_request import metadata_request
from kafkatx.clientcore.settings import ClientSettings
from kafkatx.clientcore.tables import common, consumer, producer
from kafkatx.errors import KafkaTXError
from kafkatx.networkclient.connection import BrokerConnection
from kafkatx.networkclient.forks import check_process
from kafkatx.networkclient.metadata import Listener, Metadata
from kafkatx.networkclient.nodes import Lane, Nodes
from kafkatx.networkclient.protocol import ConnectionLimits
from kafkatx.networkclient.shared_call import SharedCall
from kafkatx.networkclient.waiters import Waiters
from kafkatx.types import BrokerNode
from kafkatx.wire.messages.find_coordinator import FindCoordinatorRequest
from kafkatx.wire.messages.metadata import MetadataRequest

T = TypeVar("T")

RETRIES_INFINITE = 1 << 30


class Cluster:
    """Connections to all brokers of a cluster, what is known of its topics, and who coordinates which group.

    One for each client unless it is handed one; several clients may share it.
    """

    def __init__(self, settings: ClientSettings, reactor: Any) -> None:
        """Make it; :meth:`start` makes the first contact.

        :raises SettingError: ``bootstrap.servers`` is missing or malformed.
        """
        self.settings = settings
        self.reactor = reactor
        self._bootstrap = parse_bootstrap(settings[common.BOOTSTRAP_SERVERS])
        self._backoff = _backoff(settings, common.RETRY_BACKOFF_MS, common.RETRY_BACKOFF_MAX_MS)
        self._nodes = Nodes(self._bootstrap, self._connection)
        self._metadata = Metadata(
            reactor,
            self._fetch_metadata_creating,
            self.retrying,
            self._backoff,
            age_s=settings[common.METADATA_MAX_AGE_MS] / 1000,
            idle_s=settings[common.METADATA_MAX_IDLE_MS] / 1000,
        )
        self._coordinators: dict[str, int] = {}
        self._finding: SharedCall[int] = SharedCall()
        self._closing: Deferred[Any] | None = None
        self._pid = os.getpid()
        self._ended: Waiters[Any] = Waiters()

    @property
    def api_timeout_s(self) -> float:
        """How long a call is tried again before it fails."""
        timeout_ms = self.settings[common.DEFAULT_API_TIMEOUT_MS]
        if self.settings.kind == "producer":
            # 0 is for who does not want to wait for room; the cluster has to be asked nevertheless
            timeout_ms = self.settings[producer.MAX_BLOCK_MS] or timeout_ms
        return timeout_ms / 1000

    # -- beginning and end

    def start(self) -> Deferred[Cluster]:
        """Ask for metadata the first time.

        Fires with it; fails with ConnectionFailed if no bootstrap server answers: each is tried once.
        """
        return Deferred.fromCoroutine(self._start())

    async def _start(self) -> Cluster:
        await self._metadata.start()
        return self

    def close(self) -> Deferred[None]:
        """Close all connections; fires when they are closed. Whatever waits fails with ClientClosed."""
        if self._closing is None:
            self._closing = succeed(None)
            error = ClientClosed("the client was closed")
            self._metadata.close(error)
            self._finding.close(error)
            self._closing = self._nodes.close()
            self._closing.addBoth(self._ended.fire)
        return self._ended.wait() if not self._closing.called else succeed(None)

    # -- requests

    def request(self, node_id: int, message: Any, *, lane: Lane = "", **options: Any) -> Deferred[Any]:
        """Ask one broker. Nothing is tried again here.

        :param lane: requests of one lane are answered in order; another lane is another connection.
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

    def request_any(self, message: Any, *, lane: Lane = "", **options: Any) -> Deferred[Any]:
        """Ask whichever broker answers; as :meth:`request`."""

        async def ask(connection: BrokerConnection) -> Any:
            return await connection.request(message, **options)

        return Deferred.fromCoroutine(self._request_any(ask, lane))

    def request_controller(self, message: Any, *, lane: Lane = "", **options: Any) -> Deferred[Any]:
        """Ask the broker that creates and deletes topics, or any if it is unknown; as :meth:`request`."""
        if self._nodes.known(self.metadata.controller_id):
            return self.request(self.metadata.controller_id, message, lane=lane, **options)
        return self.request_any(message, lane=lane, **options)

    def version_for(
        self, node_id: int, request_type: type[Any], at_most: int | None = None, *, lane: Lane = ""
    ) -> Deferred[int]:
        """Fires with the highest version of an API that a broker and we speak; fails as :meth:`request`."""
        try:
            ready = self._connection_to(node_id, lane).ready()
        except KafkaTXError as error:
            return fail(error)
        return ready.addCallback(lambda protocol: protocol.version_for(request_type, at_most))

    async def retrying(self, attempt: Callable[[], Awaitable[T]]) -> T:
        """Call until it succeeds or fails for good, with pauses, for as long as a call may take.

        After each failure metadata is refreshed. Cancelling it cancels the attempt.

        :raises KafkaTXError: what the last attempt raised that ended; RequestTimedOut if none did.
        """
        deadline = self.reactor.seconds() + self.api_timeout_s
        failures = 0
        last: KafkaTXError | None = None
        while True:
            try:
                return await self._within(deadline - self.reactor.seconds(), attempt)
            except KafkaTXError as error:
                if isinstance(error, RequestTimedOut) and last and self.reactor.seconds() >= deadline:
                    raise last from None  # it says more than that the attempt after it was cut off
                last = error
                pause_s = self._backoff.pause_s(failures)
                if not retriable(error) or self.reactor.seconds() + pause_s >= deadline:
                    raise
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
        check_process(self._pid)  # else it would write to the connections of the other process

    async def _request_any(self, ask: Callable[[BrokerConnection], Awaitable[T]], lane: Lane = "") -> T:
        """Ask one broker after the other until one answers."""
        self._check_open()
        failure: ConnectionFailed | None = None
        for connection in self._nodes.candidates(lane):
            try:
                return await ask(connection)
            except ConnectionFailed as error:
                failure = error
            self._check_open()
        names = ", ".join(map(format_address, self._bootstrap))
        raise ConnectionFailed(f"no broker of the cluster at {names} can be asked; the last: {failure}")

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
            backoff=_backoff(settings, common.RECONNECT_BACKOFF_MS, common.RECONNECT_BACKOFF_MAX_MS),
            make_endpoint=settings.objects.get(common.ENDPOINT.name),
            failed=self._broker_failed,
        )

    def _broker_failed(self) -> None:
        if self.metadata.brokers:  # else nobody was reached yet, and start() tells of it
            self.stale()

    # -- metadata

    @property
    def metadata(self) -> ClusterMetadata:
        """As the last reply has it; replaced as a whole."""
        return self._metadata.metadata

    def stale(self) -> None:
        """Metadata is wrong: ask again soon, but not more often than ``retry.backoff.ms`` says."""
        self._metadata.stale()

    def refreshed(self) -> Deferred[None]:
        """Fires after the next reply with metadata, however long that takes; fails with ClientClosed.

        Asked for at once if nobody has; cancelling it lets the others wait.
        """
        return self._metadata.refreshed()

    def track(self, topics: Iterable[str], owner: object = None) -> None:
        """Ask for these topics, too, whenever metadata is refreshed.

        :param owner: whose topics they are: a call replaces what was tracked for the same owner.
        """
        self._metadata.track(topics, owner)

    def track_all(self, age_s: float, owner: object = None) -> None:
        """Ask for all topics whenever metadata is refreshed, and refresh it at this age at the latest."""
        self._metadata.track_all(age_s, owner)

    def untrack(self, owner: object = None) -> None:
        """Forget what :meth:`track` or :meth:`track_all` was told."""
        self._metadata.untrack(owner)

    def on_metadata(self, listener: Listener) -> Callable[[], None]:
        """Call *listener* with the old and the new metadata after each change; returns what ends that."""
        return self._metadata.listen(listener)

    def leader(self, topic: str, partition: int) -> int:
        """The node id of a partition's leader.

        -1: unknown, or there is none. Call :meth:`stale` then and await :meth:`refreshed`.
        """
        return self._metadata.leader(topic, partition)

    async def topic(self, name: str) -> TopicMetadata:
        """A topic, from memory if it is known; created by the asking where settings and broker allow that.

        :raises UnknownTopic: there is none of this name, and none came to be.
        :raises RequestError: something else is wrong with it, INVALID_TOPIC_EXCEPTION say.
        """
        self._check_open()
        return await self._metadata.topic(name)

    async def describe(self, topics: list[str] | None) -> ClusterMetadata:
        """What a broker says now of these topics, or of all; it creates none, and is not remembered.

        :raises ConnectionFailed: no broker answers.
        """
        return await self._fetch_metadata(topics, auto_create=False)

    async def _fetch_metadata_creating(self, topics: list[str] | None) -> ClusterMetadata:
        return await self._fetch_metadata(topics, self._auto_create)

    async def _fetch_metadata(self, topics: list[str] | None, auto_create: bool) -> ClusterMetadata:
        async def ask(connection: BrokerConnection) -> Any:
            protocol = await connection.ready()
            version = protocol.version_for(MetadataRequest)
            request = metadata_request(topics, version, auto_create)
            return await protocol.request(request, version=version)

        answer = from_response(await self._request_any(ask))
        if not answer.brokers:
            raise ConnectionFailed("the broker that was asked knows of no brokers yet, itself included")
        self._check_open()
        self._nodes.update(answer.brokers)
        return answer

    @property
    def _auto_create(self) -> bool:
        if self.settings.kind == "consumer":
            return self.settings[consumer.ALLOW_AUTO_CREATE_TOPICS]
        return self.settings.kind == "producer"

    # -- coordinators

    async def coordinator(self, group_id: str) -> int:
        """The node id of a group's coordinator, from memory if it is known, else asked for until it is.

        :raises RequestError: GROUP_AUTHORIZATION_FAILED, INVALID_GROUP_ID, ...; what came last.
        """
        self._check_open()
        if group_id in self._coordinators:
            return self._coordinators[group_id]
        return await self._finding.wait(group_id, lambda: self._find(group_id))

    def forget_coordinator(self, group_id: str) -> None:
        """The group's coordinator is another, or gone: ask again when it is needed."""
        self._coordinators.pop(group_id, None)

    async def _find(self, group_id: str) -> int:
        async def ask() -> int:
            request = FindCoordinatorRequest(key=group_id, key_type=0, coordinator_keys=[group_id])
            response = await self.request_any(request)
            told = response.coordinators[0] if response.coordinators else response
            check(told.error_code, f"the coordinator of group {group_id!r}", told.error_message)
            self._nodes.told(BrokerNode(told.node_id, told.host, told.port))
            return int(told.node_id)

        node_id = await self.retrying(ask)
        self._coordinators[group_id] = node_id
        return node_id


def _backoff(settings: ClientSettings, first: Any, longest: Any) -> Backoff:
    return Backoff(RETRIES_INFINITE, settings[first], settings[longest], JITTER)
