"""What a client knows of the cluster's brokers and topics, and how it comes to know it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Coroutine, Iterable
from typing import Any

from twisted.internet.defer import Deferred
from twisted.internet.task import deferLater
from twisted.logger import Logger

from kafkatx.clientcore.backoff import Backoff
from kafkatx.clientcore.errors import UnknownTopic
from kafkatx.clientcore.metadata import ClusterMetadata, TopicMetadata
from kafkatx.clientcore.metadata_request import require_topic
from kafkatx.networkclient.metadata_refresh import MetadataRefresh
from kafkatx.networkclient.shared_call import SharedCall

Listener = Callable[[ClusterMetadata, ClusterMetadata], None]
Ask = Callable[["list[str] | None"], Awaitable[ClusterMetadata]]
"""Asks some broker for these topics, or for all."""

Retrying = Callable[[Callable[[], Awaitable[TopicMetadata]]], Coroutine[Any, Any, TopicMetadata]]

UNKNOWN_TOPIC_ATTEMPTS = 6
"""How often a topic that a broker does not know is asked for: it may be on its way to that broker."""


class Metadata:
    """Metadata in memory: replaced as a whole by each reply, and asked for again when it is old or wrong.

    :ivar metadata: as the last reply has it.
    :param age_s: how old metadata may grow.
    :param idle_s: a topic that was not used for so long is forgotten.
    """

    _log = Logger()

    def __init__(
        self, reactor: Any, ask: Ask, retrying: Retrying, backoff: Backoff, age_s: float, idle_s: float
    ) -> None:
        self.metadata = ClusterMetadata()
        self._reactor = reactor
        self._ask_broker = ask
        self._retrying = retrying
        self._backoff = backoff
        self._idle_s = idle_s
        self._most_age_s = age_s
        self._refresh_loop = MetadataRefresh(reactor, self._refresh, backoff, age_s)
        self._lookups: SharedCall[TopicMetadata] = SharedCall()
        self._tracked: dict[object, frozenset[str]] = {}
        self._all: dict[object, float] = {}
        self._used: dict[str, float] = {}
        self._touched: set[str] = set()
        self._listeners: dict[object, Listener] = {}

    async def start(self) -> None:
        """Ask the first time, once."""
        if not self.metadata.brokers:
            await self._refresh()
            self._refresh_loop.fresh()

    def stale(self) -> None:
        """Ask again soon, and until a reply comes."""
        self._refresh_loop.stale()

    def refreshed(self) -> Deferred[None]:
        """Fires after the next reply, which is asked for if it is not yet."""
        return self._refresh_loop.next()

    def close(self, error: Exception) -> None:
        """Ask no more; what waits fails with *error*."""
        self._refresh_loop.close()
        self._lookups.close(error)

    # -- which topics

    def track(self, topics: Iterable[str], owner: object) -> None:
        """Ask for these, too, from the next time on."""
        self.untrack(owner)
        self._tracked[owner] = frozenset(topics)

    def track_all(self, age_s: float, owner: object) -> None:
        """Ask for all from the next time on, and at this age at the latest."""
        self._tracked.pop(owner, None)
        self._all[owner] = age_s
        self._set_age()

    def untrack(self, owner: object) -> None:
        """Forget what :meth:`track` or :meth:`track_all` was told."""
        self._tracked.pop(owner, None)
        if self._all.pop(owner, None) is not None:
            self._set_age()

    def _set_age(self) -> None:
        self._refresh_loop.set_age(min(self._all.values(), default=self._most_age_s))

    def listen(self, listener: Listener) -> Callable[[], None]:
        """Call with old and new metadata after each change; returns what ends that."""
        key = object()
        self._listeners[key] = listener

        def end() -> None:
            self._listeners.pop(key, None)

        return end

    def _wanted(self) -> set[str] | None:
        """The topics to ask for, those used lately included; None: all."""
        now = self._reactor.seconds()
        self._used.update(dict.fromkeys(self._touched, now))
        self._touched.clear()
        for name in [name for name, used in self._used.items() if now - used > self._idle_s]:
            del self._used[name]
        return None if self._all else set(self._used).union(*self._tracked.values())

    # -- looking things up

    def leader(self, topic: str, partition: int) -> int:
        """The node id of a partition's leader; -1: unknown, or none."""
        self._touched.add(topic)
        metadata = self.metadata
        known = metadata.topics.get(topic)
        state = known.partitions.get(partition) if known is not None else None
        return state.leader if state is not None and state.leader in metadata.brokers else -1

    async def topic(self, name: str) -> TopicMetadata:
        """A topic, from memory or asked for; raises as :meth:`Cluster.topic`."""
        self._touched.add(name)
        known = self.metadata.topics.get(name)
        if known is not None and known.usable:
            return known
        return await self._lookups.wait(name, lambda: self._retrying(lambda: self._look_up(name)))

    async def _look_up(self, name: str) -> TopicMetadata:
        attempts = 0
        while True:
            try:
                return require_topic(name, await self._ask([name]))
            except UnknownTopic:
                attempts += 1
                if attempts == UNKNOWN_TOPIC_ATTEMPTS:
                    raise
            await deferLater(self._reactor, self._backoff.pause_s(attempts - 1))

    async def _refresh(self) -> None:
        wanted = self._wanted()
        await self._ask(None if wanted is None else sorted(wanted), whole=True)

    async def _ask(self, topics: list[str] | None, whole: bool = False) -> ClusterMetadata:
        """Ask, and remember the reply.

        :param whole: *topics* are all that are of interest: what else was known goes.
        """
        answer = await self._ask_broker(topics)
        old = self.metadata
        kept = old.topics
        if topics is None:
            kept = {}
        elif whole:  # but what was looked up while the reply was on its way
            used = {*self._used, *self._touched}
            kept = {name: topic for name, topic in old.topics.items() if name in used}
        self.metadata = answer.following(old, kept)
        self._tell(old)
        return answer

    def _tell(self, old: ClusterMetadata) -> None:
        if self.metadata == old:
            return
        for listener in list(self._listeners.values()):
            try:
                listener(old, self.metadata)
            except Exception:
                self._log.failure("a listener for metadata failed")
