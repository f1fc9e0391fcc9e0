"""The fetches from one broker of a source: all mirrored partitions that it leads, over one connection.

It touches one connection (:class:`kafkatx.networkclient.cluster.Cluster`) and the clock. What an answer does
to a partition is :mod:`~kafkatx.broker.mirror.mirrored_partition`'s; :mod:`~kafkatx.broker.mirror.link` says
which partitions there are.

One fetch is under way at a time, as an ordinary consumer's: it gets committed records only. Partitions whose
logs were not compared with this leader's yet are compared first, also after the connection was lost. An
answer is worked off in turns of ``TURN_BYTES``, between which clients are served.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable
from typing import Any

import attrs
from twisted.internet.defer import CancelledError, Deferred
from twisted.internet.interfaces import IReactorTime
from twisted.internet.task import deferLater

from kafkatx.broker.mirror.leader_epochs import LeaderEpochs
from kafkatx.broker.mirror.mirrored_partition import MirroredPartition
from kafkatx.broker.mirror.rate_limit import RateLimit
from kafkatx.broker.mirror.resumption import Resumption
from kafkatx.broker.wakeup import Wakeup
from kafkatx.clientcore.backoff import Backoff
from kafkatx.clientcore.consumer.fetch_session import FetchSession
from kafkatx.clientcore.metadata import NO_TOPIC_ID
from kafkatx.errors import ErrorCode, KafkaTXError, RequestError
from kafkatx.net.limited_log import LimitedLog
from kafkatx.networkclient.cluster import Cluster
from kafkatx.networkclient.protocol import BrokerProtocol
from kafkatx.wire.messages.fetch import FetchRequest, FetchResponse, FetchTopic, PartitionData
from kafkatx.wire.schema import Message

LANE = "mirror"
"""The connections of fetches: other requests need not wait for them."""

OLDEST, BY_IDS = 4, 13
"""Fetch versions: older ones convert records; from the second on topics go by ids."""

TURN_BYTES = 1 << 20
"""Bytes that are appended before the other work of the broker gets its turn."""

MOST_WAIT_S = 1.0
"""The longest pause of a rate limit at a time: the limit may change meanwhile."""


@attrs.frozen
class FetchLimits:
    """The limits of a fetch (the client settings' names in brackets)."""

    max_wait_ms: int  #: fetch.max.wait.ms
    min_bytes: int  #: fetch.min.bytes
    partition_bytes: int  #: max.partition.fetch.bytes
    response_bytes: int  #: fetch.max.bytes
    timeout_s: float  #: request.timeout.ms


_Key = tuple[str, uuid.UUID, int]
Asked = dict[_Key, tuple[MirroredPartition, int]]
"""The partitions of a fetch by topic name or id and number, with their fetch offsets."""


class SourceFetcher:
    """Copies partitions from one broker of a source.

    :ivar mirrored: the partitions; those first that had no records in the last answer.
    :ivar error: why the broker is not reached, for a person; empty if it is.
    :param topic_ids: returns the id of a topic at the source.
    :param on_change: called when :attr:`error` has changed.
    """

    def __init__(
        self,
        node_id: int,
        cluster: Cluster,
        topic_ids: Callable[[str], uuid.UUID],
        epochs: LeaderEpochs,
        limits: FetchLimits,
        rate: RateLimit,
        clock: IReactorTime,
        backoff: Backoff,
        limited_log: LimitedLog,
        on_change: Callable[[], None],
    ) -> None:
        self.node_id = node_id
        self.mirrored: dict[MirroredPartition, None] = {}
        self.error = ""
        self._cluster = cluster
        self._topic_ids = topic_ids
        self._epochs = epochs
        self._limits = limits
        self._rate = rate
        self._clock = clock
        self._backoff = backoff
        self._limited_log = limited_log
        self._on_change = on_change
        self._session = FetchSession()
        self._protocol: BrokerProtocol | None = None
        self._failures = 0
        self._wakeup = Wakeup(clock, self.wake)
        self._running: Deferred[None] | None = None
        self._stopped = False

    def add(self, one: MirroredPartition) -> None:
        """Copy a partition from now on."""
        self.mirrored[one] = None
        one.compare_again()
        one.on_flushed = self.wake
        if self._running is None:
            self._running = Deferred()  # the coroutine may wake up within the next call
            self._running = Deferred.fromCoroutine(self._run())
        else:
            self.wake()

    def remove(self, one: MirroredPartition) -> None:
        """Copy a partition no more; what an answer under way has for it is dropped."""
        self.mirrored.pop(one, None)

    def wake(self) -> None:
        """Look again for partitions that are ready."""
        self._wakeup.wake()

    def stop(self) -> None:
        """End the fetches; the cluster's connections are closed by its owner."""
        self._stopped = True
        self.mirrored.clear()
        self._wakeup.stop_timer()
        if self._running is not None:
            self._running.addErrback(lambda failure: failure.trap(CancelledError) and None)
            self._running.cancel()

    # --- the loop

    async def _run(self) -> None:
        while not self._stopped:
            try:
                await self._round()
            except CancelledError:
                raise
            except KafkaTXError as error:
                self._session.failed()
                self._protocol = None
                self._tell(str(error))
                await self._pause()
            except Exception:
                self._session.failed()
                self._protocol = None
                self._limited_log.failure("a fetch from broker {id} of a source failed", id=self.node_id)
                await self._pause()

    async def _round(self) -> None:
        """Compare logs or fetch once, or wait until a partition is ready."""
        ready = [one for one in self.mirrored if one.is_ready()]
        if not ready:
            await self._wakeup.wait(one.not_before_s for one in self.mirrored)
            return
        pause_s = self._rate.pause_s(self._clock.seconds())
        if pause_s:
            await deferLater(self._clock, min(pause_s, MOST_WAIT_S))
            return
        protocol = await self._connected()
        unresumed = [one for one in ready if not one.is_resumed]
        if unresumed:
            ask, version_for = self._ask, protocol.version_for
            await Resumption(unresumed, self._epochs, ask, version_for, self._next_turn).run()
            self._well()
            return
        await self._fetch(protocol, ready)

    async def _connected(self) -> BrokerProtocol:
        """Return the connection; with a new one all logs are compared again."""
        protocol = await self._cluster.connected(self.node_id, lane=LANE)
        if protocol is not self._protocol:
            self._protocol = protocol
            self._session.failed()
            for one in self.mirrored:
                one.compare_again()
        return protocol

    def _next_turn(self) -> Deferred[None]:
        return deferLater(self._clock, 0)

    async def _ask(self, message: Message, version: int | None) -> Any:
        assert self._protocol is not None
        return await self._protocol.request(message, version=version, timeout_s=self._limits.timeout_s)

    async def _fetch(self, protocol: BrokerProtocol, ready: list[MirroredPartition]) -> None:
        version = protocol.version_for(FetchRequest)
        if version < OLDEST:
            raise RequestError(
                ErrorCode.UNSUPPORTED_VERSION,
                f"broker {self.node_id} of the source speaks Fetch up to version {version}; a mirror needs"
                f" {OLDEST} (Apache Kafka 0.11)",
            )
        ids = {one.partition.topic_partition.topic: NO_TOPIC_ID for one in ready}
        if version >= BY_IDS:
            ids = {name: self._topic_ids(name) for name in ids}
            if NO_TOPIC_ID in ids.values():  # the source has topics without ids
                version, ids = BY_IDS - 1, dict.fromkeys(ids, NO_TOPIC_ID)
        request, asked = self._request(ready, ids)
        response: FetchResponse = await self._ask(request, version)
        if not self._session.answered(response):
            return  # the next fetch names all partitions again
        if response.error_code:
            raise RequestError(
                ErrorCode.of(response.error_code),
                f"broker {self.node_id} of the source refuses a fetch:"
                f" {ErrorCode.of(response.error_code).name}",
            )
        self._well()
        await self._take(response, asked)

    def _request(
        self, ready: list[MirroredPartition], ids: dict[str, uuid.UUID]
    ) -> tuple[FetchRequest, Asked]:
        """Return a fetch, and the partitions that it asks for.

        :param ids: the topics' ids; without ids they go by their names.
        """
        topics: dict[str, FetchTopic] = {}
        asked: Asked = {}
        for one in ready:
            name, number = one.partition.topic_partition
            topic = topics.get(name)
            if topic is None:
                topic = topics[name] = FetchTopic("" if ids[name] != NO_TOPIC_ID else name, ids[name], [])
            part = one.ask(self._limits.partition_bytes)
            topic.partitions.append(part)
            asked[topic.topic, topic.topic_id, number] = (one, part.fetch_offset)
        request = FetchRequest(
            max_wait_ms=self._limits.max_wait_ms,
            min_bytes=self._limits.min_bytes,
            max_bytes=self._rate.most_bytes(self._limits.response_bytes),
            topics=list(topics.values()),
        )
        self._session.prepare(request)
        return request, asked

    async def _take(self, response: FetchResponse, asked: Asked) -> None:
        room = TURN_BYTES
        for topic in response.responses:
            for answer in topic.partitions:
                found = asked.pop((topic.topic, topic.topic_id, answer.partition_index), None)
                if found is None:
                    continue
                self._rate.count(len(answer.records or b""), self._clock.seconds())
                size = self._take_one(*found, answer, topic.topic, topic.topic_id)
                room -= size
                if room <= 0:
                    room = TURN_BYTES
                    await self._next_turn()

    def _take_one(
        self, one: MirroredPartition, offset: int, answer: PartitionData, topic: str, topic_id: uuid.UUID
    ) -> int:
        if one not in self.mirrored:  # it may come back, and ask for the same
            self._session.renew(topic, topic_id, answer.partition_index)
            return 0
        size = one.take(offset, answer)
        if size and one in self.mirrored:
            del self.mirrored[one]
            self.mirrored[one] = None  # the last one now
        elif not size and answer.records:
            self._session.renew(topic, topic_id, answer.partition_index)
        return size

    # --- what people are told

    def _well(self) -> None:
        self._failures = 0
        self._tell("")

    def _tell(self, error: str) -> None:
        if error != self.error:
            self.error = error
            self._on_change()

    # --- waiting

    async def _pause(self) -> None:
        pause_s = self._backoff.pause_s(self._failures)
        self._failures += 1
        await deferLater(self._clock, pause_s)
