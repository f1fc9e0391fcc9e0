"""The fetches from one broker: all partitions that this broker copies from it, over one connection.

It touches one connection (:mod:`kafkatx.networkclient.connection`) and the clock. What an answer does to a
partition is :mod:`~kafkatx.broker.replica.fetcher.follower`'s;
:mod:`~kafkatx.broker.replica.fetcher.manager` says which partitions there are.

One fetch is under way at a time. It asks for all partitions that are ready, those first that had no records
in the last answer, so that none is left out for long by the limit of an answer. An answer is worked off in
turns of ``TURN_BYTES``, between which clients are served. Partitions may come, go and change their leader
epoch meanwhile: a part of an answer counts only if the same :class:`Follower` is still here.

Many partitions are fetched in a session (:mod:`kafkatx.clientcore.consumer.fetch_session`): a fetch names
only those whose offsets have changed, and an answer has only those with news.

A leader answers one request of a connection after the other, and a fetch may wait there for half a second. A
partition that becomes ready meanwhile, as after a change of leaders, must not wait for that: a fetch of
nothing is sent after the other, which a leader of ours answers then at once (``Peer.hurry``).
"""

from __future__ import annotations

import uuid
from collections.abc import Callable

import attrs
from twisted.internet.defer import CancelledError, Deferred
from twisted.internet.interfaces import IReactorTime
from twisted.internet.task import deferLater
from twisted.logger import Logger

from kafkatx.broker.replica.fetcher.follower import Follower
from kafkatx.broker.wakeup import Wakeup
from kafkatx.clientcore.backoff import Backoff
from kafkatx.clientcore.consumer.fetch_session import FINAL_EPOCH, FetchSession
from kafkatx.errors import ErrorCode, KafkaTXError
from kafkatx.net.limited_log import LimitedLog
from kafkatx.networkclient.connection import BrokerConnection
from kafkatx.types import BrokerNode
from kafkatx.wire.messages.fetch import FetchRequest, FetchResponse, FetchTopic, PartitionData, ReplicaState

FETCH_VERSION = 15

TURN_BYTES = 1 << 20
"""Bytes that are appended before the other work of the broker gets its turn."""


@attrs.frozen
class FetchLimits:
    """The limits of a fetch (the settings' names in brackets)."""

    max_wait_ms: int  #: replica.fetch.wait.max.ms
    min_bytes: int  #: replica.fetch.min.bytes
    partition_bytes: int  #: replica.fetch.max.bytes
    response_bytes: int  #: replica.fetch.response.max.bytes
    timeout_s: float  #: replica.socket.timeout.ms


Asked = dict[tuple[uuid.UUID, int], tuple[Follower, int]]
"""The partitions of a fetch by topic id and number, with their fetch offsets."""


class ReplicaFetcher:
    """Copies partitions from one life of one broker.

    :param source: the broker that leads them.
    :param own_node: returns this broker as it is registered, or None if it is not.
    """

    _log = Logger()

    def __init__(
        self,
        source: BrokerNode,
        connection: BrokerConnection,
        own_node: Callable[[], BrokerNode | None],
        limits: FetchLimits,
        clock: IReactorTime,
        backoff: Backoff,
        limited_log: LimitedLog,
    ) -> None:
        self.source = source
        self.followers: dict[Follower, None] = {}
        self._connection = connection
        self._own_node = own_node
        self._limits = limits
        self._clock = clock
        self._backoff = backoff
        self._limited_log = limited_log
        self._session = FetchSession()
        self._failures = 0
        self._stopped = False
        self._wakeup = Wakeup(clock, self.wake)
        self._running: Deferred[None] | None = None
        self._is_fetching = self._has_hurried = False

    def add(self, follower: Follower) -> None:
        """Copy a partition from now on."""
        self.followers[follower] = None
        if self._running is None:
            self._running = Deferred()  # the coroutine may wake up within the next call
            self._running = Deferred.fromCoroutine(self._run())
        else:
            self.wake()

    def remove(self, follower: Follower) -> None:
        """Copy a partition no more; what an answer under way has for it is dropped."""
        self.followers.pop(follower, None)

    def wake(self) -> None:
        """Look again for partitions that are ready."""
        if not self._wakeup.wake() and self._is_fetching and not self._has_hurried:
            self._has_hurried = True
            self._clock.callLater(0, self._hurry)  # more partitions may come in this turn

    def _hurry(self) -> None:
        """End the fetch under way early; the next one asks for all that is ready."""
        node = self._own_node()
        if self._is_fetching and node is not None:
            nothing = FetchRequest(replica_state=ReplicaState(node.id, node.epoch), session_epoch=FINAL_EPOCH)
            self._send(nothing).addErrback(
                lambda failure: failure.trap(KafkaTXError, CancelledError) and None
            )

    def stop(self) -> Deferred[None]:
        """End the fetches and close the connection; fires when it is closed."""
        self._stopped = True
        self.followers.clear()
        if self._running is not None:
            self._running.addErrback(lambda failure: failure.trap(CancelledError) and None)
            self._running.cancel()
        return self._connection.close()

    # --- the loop

    async def _run(self) -> None:
        while not self._stopped:
            try:
                await self._round()
            except CancelledError:
                raise
            except Exception:
                self._session.failed()
                self._limited_log.failure("a fetch from broker {id} failed", id=self.source.id)
                await self._pause()

    async def _round(self) -> None:
        """Fetch once, or wait until a partition is ready."""
        node = self._own_node()
        ready = [follower for follower in self.followers if follower.is_ready()]
        if not ready or node is None:
            await self._wait(node is None)
            return
        request, asked = self._request(ready, node)
        try:
            response = await self._ask(request)
        except KafkaTXError as error:
            self._session.failed()
            self._limited_log.warn(
                "fetching from broker {id} failed: {error}; it is asked again", id=self.source.id, error=error
            )
            await self._pause()
            return
        if not self._session.answered(response):
            return  # the next fetch names all partitions again
        if response.error_code:
            # STALE_BROKER_EPOCH: one of the two brokers does not know the other's registration yet
            if response.error_code != ErrorCode.STALE_BROKER_EPOCH or self._failures:
                self._limited_log.warn(
                    "broker {id} refuses to be copied: {error}; it is asked again",
                    id=self.source.id,
                    error=ErrorCode.of(response.error_code).name,
                )
            await self._pause()
            return
        self._failures = 0
        await self._take(response, asked)

    async def _ask(self, request: FetchRequest) -> FetchResponse:
        self._is_fetching, self._has_hurried = True, False
        self._wakeup.set_timer(self._pause_ends_s())
        try:
            response: FetchResponse = await self._send(request)
            return response
        finally:
            self._is_fetching = False
            self._wakeup.stop_timer()

    def _send(self, request: FetchRequest) -> Deferred[FetchResponse]:
        return self._connection.request(request, version=FETCH_VERSION, timeout_s=self._limits.timeout_s)

    def _request(self, ready: list[Follower], node: BrokerNode) -> tuple[FetchRequest, Asked]:
        topics: dict[uuid.UUID, FetchTopic] = {}
        asked: Asked = {}
        for follower in ready:
            topic_id = follower.topic_id
            part = follower.ask(self._limits.partition_bytes)
            topic = topics.get(topic_id)
            if topic is None:
                topic = topics[topic_id] = FetchTopic("", topic_id, [])
            topic.partitions.append(part)
            asked[topic_id, part.partition] = (follower, part.fetch_offset)
        request = FetchRequest(
            replica_state=ReplicaState(node.id, node.epoch),
            max_wait_ms=self._limits.max_wait_ms,
            min_bytes=self._limits.min_bytes,
            max_bytes=self._limits.response_bytes,
            topics=list(topics.values()),
        )
        self._session.prepare(request)
        return request, asked

    async def _take(self, response: FetchResponse, asked: Asked) -> None:
        room = TURN_BYTES
        for topic in response.responses:
            for answer in topic.partitions:
                found = asked.pop((topic.topic_id, answer.partition_index), None)
                if found is None:
                    continue
                size = self._take_one(*found, answer)
                room -= size
                if room <= 0:
                    room = TURN_BYTES
                    await deferLater(self._clock, 0)

    def _take_one(self, follower: Follower, asked_offset: int, answer: PartitionData) -> int:
        if follower not in self.followers:  # another one may ask for the same
            self._session.renew("", follower.topic_id, answer.partition_index)
            return 0
        size = follower.take(asked_offset, answer)
        if size and follower in self.followers:
            del self.followers[follower]
            self.followers[follower] = None  # the last one now
        return size

    # --- waiting

    async def _wait(self, is_unregistered: bool) -> None:
        """Wait until something is said to be ready, or the first pause of a partition ends."""
        if is_unregistered:
            await self._pause()
            return
        await self._wakeup.wait(self._pause_ends_s())

    def _pause_ends_s(self) -> list[float]:
        return [follower.not_before_s for follower in self.followers]

    async def _pause(self) -> None:
        pause_s = self._backoff.pause_s(self._failures)
        self._failures += 1
        await deferLater(self._clock, pause_s)
