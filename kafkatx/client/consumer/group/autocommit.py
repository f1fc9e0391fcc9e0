"""Automatic commits: periodically, before partitions are revoked, and on close."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Mapping
from typing import TypeAlias

from twisted.internet.defer import CancelledError, Deferred
from twisted.internet.interfaces import IDelayedCall, IReactorTime
from twisted.logger import Logger

from kafkatx.clientcore.consumer.subscription_state import SubscriptionState
from kafkatx.clientcore.group.offsets import OffsetAndMetadata
from kafkatx.errors import KafkaTXError
from kafkatx.types import TopicPartition

Commit: TypeAlias = Callable[[Mapping[TopicPartition, OffsetAndMetadata]], Awaitable[None]]


class AutoCommit:
    """Commits the processed offsets that have changed since the last commit.

    A failed commit is logged, and its offsets are committed with the next one.
    """

    _log = Logger()

    def __init__(
        self, reactor: IReactorTime, interval_ms: int, subscriptions: SubscriptionState, commit: Commit
    ) -> None:
        self._reactor = reactor
        self._interval_s = max(interval_ms, 1) / 1000
        self._subscriptions = subscriptions
        self._commit = commit
        self._committed: dict[TopicPartition, OffsetAndMetadata] = {}
        self._timer: IDelayedCall | None = None
        self._running: Deferred[None] | None = None

    def start(self) -> None:
        """Start to commit once per interval."""
        self._timer = self._reactor.callLater(self._interval_s, self._on_timer)

    def stop(self) -> None:
        """Stop the periodic commits, and give up a commit in progress."""
        if self._timer is not None and self._timer.active():
            self._timer.cancel()
        self._timer = None
        if self._running is not None:
            self._running.cancel()

    async def commit(self, partitions: Iterable[TopicPartition] | None = None) -> None:
        """Commit the processed offsets of some partitions or of all.

        :raises KafkaTXError: the commit failed.
        """
        done = self._subscriptions.processed_offsets(partitions)
        changed = {
            topic_partition: at
            for topic_partition, at in done.items()
            if self._committed.get(topic_partition) != at
        }
        if changed:
            await self._commit(changed)
            self._committed.update(changed)

    async def try_commit(self, partitions: Iterable[TopicPartition] | None = None) -> None:
        """Commit the processed offsets of some partitions or of all; log an error."""
        try:
            await self.commit(partitions)
        except KafkaTXError as error:
            self._log.warn("offsets were not committed: {error}", error=error)

    def forget(self, partitions: Iterable[TopicPartition]) -> None:
        """Forget what was committed of newly assigned partitions: other members may have committed since."""
        for topic_partition in partitions:
            self._committed.pop(topic_partition, None)

    def _on_timer(self) -> None:
        self._timer = None
        self._running = Deferred()  # the coroutine may end before its Deferred is assigned
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
            self._log.failure("automatic commit")
        finally:
            self._running = None
        self.start()
