"""The cluster's metadata in memory: brokers, topics, leaders; how it is requested, merged and looked up.

When it is requested again is :mod:`kafkatx.networkclient.metadata_refresh`'s.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Coroutine, Iterable
from typing import Any

from twisted.internet.defer import Deferred
from twisted.internet.interfaces import IReactorTime
from twisted.internet.task import deferLater
from twisted.logger import Logger

from kafkatx.clientcore.backoff import Backoff
from kafkatx.clientcore.errors import UnknownTopic
from kafkatx.clientcore.metadata import ClusterMetadata, TopicMetadata
from kafkatx.clientcore.metadata_request import require_topic
from kafkatx.networkclient.metadata_refresh import MetadataRefresh
from kafkatx.networkclient.shared_call import SharedCall
from kafkatx.networkclient.wait_warning import WaitWarning

Listener = Callable[[ClusterMetadata, ClusterMetadata], None]
Fetch = Callable[["list[str] | None"], Awaitable[ClusterMetadata]]
"""Requests the metadata of these topics, or of all, from any broker."""

Retry = Callable[[Callable[[], Awaitable[TopicMetadata]]], Coroutine[Any, Any, TopicMetadata]]

UNKNOWN_TOPIC_ATTEMPTS = 6
"""Requests for a topic that the broker does not know: it may not have heard of a new topic yet."""


class Metadata:
    """The last known metadata; each reply replaces it as a whole. It is refreshed when old or wrong.

    :ivar metadata: the merged result of the last reply.
    :param fetch: requests metadata from a broker.
    :param retry: calls a function until it succeeds, within the client's time-out.
    :param max_age_s: seconds after which metadata is refreshed.
    :param max_idle_s: seconds after which a topic that was not used is forgotten.
    :param servers: the addresses of the brokers, for warnings.
    """

    _log = Logger()

    def __init__(
        self,
        reactor: IReactorTime,
        fetch: Fetch,
        retry: Retry,
        backoff: Backoff,
        *,
        max_age_s: float,
        max_idle_s: float,
        servers: str,
    ) -> None:
        self.metadata = ClusterMetadata()
        self._reactor = reactor
        self._fetch = fetch
        self._retry = retry
        self._backoff = backoff
        self._max_idle_s = max_idle_s
        self._max_age_s = max_age_s
        self._servers = servers
        self._refresh_loop = MetadataRefresh(reactor, self._refresh, backoff, max_age_s, servers)
        self._lookups: SharedCall[TopicMetadata] = SharedCall()
        self._tracked: dict[object, frozenset[str]] = {}
        self._all: dict[object, float] = {}
        self._used: dict[str, float] = {}
        self._touched: set[str] = set()
        self._listeners: dict[object, Listener] = {}

    async def start(self) -> None:
        """Request metadata for the first time; try each broker once.

        :raises ConnectionFailed: no broker answers.
        """
        if not self.metadata.brokers:
            with WaitWarning(self._reactor, self._servers):
                await self._refresh()
            self._refresh_loop.fresh()

    def stale(self) -> None:
        """Refresh soon, and repeat until a reply comes."""
        self._refresh_loop.stale()

    def refreshed(self) -> Deferred[None]:
        """Refresh soon; fires after the next reply."""
        return self._refresh_loop.next()

    def close(self, error: Exception) -> None:
        """Stop refreshing; waiting lookups fail with *error*."""
        self._refresh_loop.close()
        self._lookups.close(error)

    # -- which topics

    def track(self, topics: Iterable[str], owner: object) -> None:
        """Include these topics in every refresh."""
        self.untrack(owner)
        self._tracked[owner] = frozenset(topics)

    def track_all(self, age_s: float, owner: object) -> None:
        """Request all topics in every refresh, and refresh at this age at the latest."""
        self._tracked.pop(owner, None)
        self._all[owner] = age_s
        self._set_age()

    def untrack(self, owner: object) -> None:
        """Undo :meth:`track` and :meth:`track_all` for *owner*."""
        self._tracked.pop(owner, None)
        if self._all.pop(owner, None) is not None:
            self._set_age()

    def _set_age(self) -> None:
        self._refresh_loop.set_max_age(min(self._all.values(), default=self._max_age_s))

    def listen(self, listener: Listener) -> Callable[[], None]:
        """Call *listener* with old and new metadata after each change; return a function that removes it."""
        key = object()
        self._listeners[key] = listener

        def end() -> None:
            self._listeners.pop(key, None)

        return end

    def _wanted(self) -> set[str] | None:
        """Return the topics to request, those used recently included; None: all."""
        now = self._reactor.seconds()
        self._used.update(dict.fromkeys(self._touched, now))
        self._touched.clear()
        for name in [name for name, used in self._used.items() if now - used > self._max_idle_s]:
            del self._used[name]
        return None if self._all else set(self._used).union(*self._tracked.values())

    # -- looking things up

    def leader(self, topic: str, partition: int) -> int:
        """Return the node id of a partition's leader; -1: unknown, or none."""
        self._touched.add(topic)
        metadata = self.metadata
        known = metadata.topics.get(topic)
        state = known.partitions.get(partition) if known is not None else None
        return state.leader if state is not None and state.leader in metadata.brokers else -1

    async def topic(self, name: str) -> TopicMetadata:
        """Return a topic, from memory or requested; raise as :meth:`Cluster.topic` does."""
        self._touched.add(name)
        known = self.metadata.topics.get(name)
        if known is not None and known.usable:
            return known
        return await self._lookups.wait(name, lambda: self._retry(lambda: self._look_up(name)))

    async def _look_up(self, name: str) -> TopicMetadata:
        attempts = 0
        while True:
            try:
                return require_topic(name, await self._request([name]))
            except UnknownTopic:
                attempts += 1
                if attempts == UNKNOWN_TOPIC_ATTEMPTS:
                    raise
            await deferLater(self._reactor, self._backoff.pause_s(attempts - 1))

    async def _refresh(self) -> None:
        wanted = self._wanted()
        await self._request(None if wanted is None else sorted(wanted), whole=True)

    async def _request(self, topics: list[str] | None, whole: bool = False) -> ClusterMetadata:
        """Request metadata and remember the reply.

        :param whole: forget all topics that are neither in *topics* nor looked up meanwhile.
        """
        answer = await self._fetch(topics)
        old = self.metadata
        kept = old.topics
        if topics is None:
            kept = {}
        elif whole:  # topics may have been looked up while the reply was on its way
            used = {*self._used, *self._touched}
            kept = {name: topic for name, topic in old.topics.items() if name in used}
        self.metadata = answer.following(old, kept)
        self._call_listeners(old)
        return answer

    def replace(self, metadata: ClusterMetadata) -> None:
        """Take over what another reply than metadata's has told, and call the listeners."""
        old, self.metadata = self.metadata, metadata
        self._call_listeners(old)

    def _call_listeners(self, old: ClusterMetadata) -> None:
        if self.metadata == old:
            return
        for listener in list(self._listeners.values()):
            try:
                listener(old, self.metadata)
            except Exception:
                self._log.failure("a listener for metadata failed")
