"""Automatic commits: now and then, before partitions go, and at the end."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Mapping
from typing import Any, TypeAlias

from twisted.internet.defer import CancelledError, Deferred
from twisted.internet.interfaces import IDelayedCall
from twisted.logger import Logger

from kafkatx.clientcore.consumer.subscription_state import SubscriptionState
from kafkatx.clientcore.group.offsets import OffsetAndMetadata
from kafkatx.errors import KafkaTXError
from kafkatx.types import TopicPartition

Commit: TypeAlias = Callable[[Mapping[TopicPartition, OffsetAndMetadata]], Awaitable[None]]


class AutoCommit:
    """Commits what is done, where that has changed since the last time.

    What fails is told in the log, and committed the next time.
    """

    _log = Logger()

    def __init__(self, reactor: Any, interval_ms: int, positions: SubscriptionState, commit: Commit) -> None:
        self._reactor = reactor
        self._interval_s = max(interval_ms, 1) / 1000
        self._subscriptions = positions
        self._commit = commit
        self._committed: dict[TopicPartition, OffsetAndMetadata] = {}
        self._timer: IDelayedCall | None = None
        self._running: Deferred[None] | None = None

    def start(self) -> None:
        """Commit from now on, once in an interval."""
        self._timer = self._reactor.callLater(self._interval_s, self._on_timer)

    def stop(self) -> None:
        """Commit no more by itself; a commit under way is given up."""
        if self._timer is not None and self._timer.active():
            self._timer.cancel()
        self._timer = None
        if self._running is not None:
            self._running.cancel()

    async def commit(self, places: Iterable[TopicPartition] | None = None) -> None:
        """Commit what is done, of some partitions or of all.

        :raises KafkaTXError: it cannot be committed.
        """
        done = self._subscriptions.processed_offsets(places)
        changed = {place: at for place, at in done.items() if self._committed.get(place) != at}
        if changed:
            await self._commit(changed)
            self._committed.update(changed)

    async def try_commit(self, places: Iterable[TopicPartition] | None = None) -> None:
        """Commit what is done before partitions go; what fails is told in the log."""
        try:
            await self.commit(places)
        except KafkaTXError as error:
            self._log.warn("offsets were not committed: {error}", error=error)

    def forget(self, places: Iterable[TopicPartition]) -> None:
        """Partitions have come: what was committed of them is not known here."""
        for place in places:
            self._committed.pop(place, None)

    def _on_timer(self) -> None:
        self._timer = None
        self._running = Deferred()  # the coroutine may end before its Deferred is there
        running = Deferred.fromCoroutine(self._round())
        running.addErrback(lambda failure: failure.trap(CancelledError) and None)
        if self._running is not None:
            self._running = running

    async def _round(self) -> None:
        try:
            await self.try_commit()
        except CancelledError:
            raise
        except Exception:
            self._log.failure("committing offsets")
        finally:
            self._running = None
        self.start()
