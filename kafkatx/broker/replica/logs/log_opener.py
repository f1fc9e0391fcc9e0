"""The logs of this broker's partitions are opened or made, one after the other, in slices.

It touches the log store, and the clock that it is handed. :mod:`kafkatx.broker.replica.topics` says which
logs are missing, and serves the partitions.
"""

from __future__ import annotations

import errno
import uuid
from collections.abc import Awaitable, Callable
from typing import Protocol

from twisted.internet.defer import Deferred, fail, succeed
from twisted.internet.interfaces import IReactorTime
from twisted.internet.task import deferLater
from twisted.logger import Logger
from twisted.python.failure import Failure

from kafkatx.broker.replica.logs.offline_log import OfflineLog
from kafkatx.broker.replica.logs.placements import Placements
from kafkatx.broker.replica.logs.topic_settings import TopicSettings
from kafkatx.config.log_config import LogConfig
from kafkatx.interfaces import ILogStore, IMetadataStore, IPartitionLog
from kafkatx.types import Topic, TopicPartition

GetLog = Callable[[TopicPartition, uuid.UUID, LogConfig], Awaitable[IPartitionLog]]

SLICE_S = 0.01
"""After this time of opening logs the reactor's other work has its turn."""


class Owner(Protocol):
    """Owns the partitions: :class:`kafkatx.broker.replica.topics.Topics`."""

    def missing(self, topic: Topic, first: int = 0) -> int | None:
        """Return the number of the first partition, from *first* on, whose log should be open and is not."""

    def add(self, topic: Topic, number: int, log: IPartitionLog) -> None:
        """Serve a partition; remove its log if the topic was deleted meanwhile."""


class LogOpener:
    """Opens and makes logs. A log that cannot be used is replaced by one that refuses everything."""

    _log = Logger()

    def __init__(
        self,
        metadata: IMetadataStore,
        store: ILogStore,
        clock: IReactorTime,
        placements: Placements,
        settings: TopicSettings,
        owner: Owner,
    ) -> None:
        self._metadata = metadata
        self._store = store
        self._clock = clock
        self._placements = placements
        self._settings = settings
        self._owner = owner
        self._waiting: dict[str, list[Deferred[None]]] = {}
        self._work: Deferred[None] = succeed(None)
        self._unmade: dict[str, OSError] = {}
        self._is_stopped = False
        self._slice_end_s = 0.0

    # --- the start

    async def open_existing(self) -> None:
        """Open the logs of all topics; make those that are missing after a crash."""
        self._slice_end_s = self._clock.seconds() + SLICE_S
        for name in list(self._metadata.state.topics):
            await self._open_missing(name, self._find)
        self._placements.say_missing()

    async def _find(self, name: TopicPartition, topic_id: uuid.UUID, config: LogConfig) -> IPartitionLog:
        """Return the log of an existing partition; an offline one if it is lost or cannot be used."""
        reason = self._store.unavailable.get(name)
        if reason is not None:
            return OfflineLog(name, config, reason)
        if not self._placements.is_lost(name, topic_id):
            try:
                log = await self._store.create(name, topic_id, config)
                if config.exposes_flushed and log.flushed_offset < log.log_end_offset:
                    await log.flush()  # consumers see after a restart what they saw before it
                return log
            except OSError as error:
                self._log.error(
                    "the log of {partition} cannot be opened: {error}", partition=name, error=error
                )
        return OfflineLog(name, config)

    # --- new partitions

    def open_soon(self, name: str) -> None:
        """Make the missing logs of a topic, after those of the topics before it."""
        self._waiting.setdefault(name, [])
        if self._work.called:
            self._work = Deferred()
            Deferred.fromCoroutine(self._open_each()).addBoth(self._work.callback)

    async def _open_each(self) -> None:
        self._slice_end_s = self._clock.seconds() + SLICE_S
        while self._waiting and not self._is_stopped:
            name = next(iter(self._waiting))
            failure: Failure | None = None
            try:
                await self._open_missing(name, self._store.create)
            except OSError as error:
                self._unmade[name] = error
                failure = Failure()
            waiting = self._waiting.pop(name)
            self._placements.changed()
            for one in waiting:
                one.callback(failure)

    async def _open_missing(self, name: str, get_log: GetLog) -> None:
        """Get the missing logs of a topic, one after the other.

        :raises OSError: some could not be made, and are offline; one log line tells of them.
        """
        failed: list[tuple[TopicPartition, Failure]] = []
        topic_id, first = None, 0
        while not self._is_stopped:
            topic: Topic | None = self._metadata.state.topics.get(name)
            if topic is None:
                break
            if topic.topic_id != topic_id:  # it is another by now
                topic_id, first = topic.topic_id, 0
            number = self._owner.missing(topic, first)
            if number is None:
                break
            first = number + 1
            log_name, config = TopicPartition(name, number), self._settings.of(topic)[0]
            try:
                log = await get_log(log_name, topic.topic_id, config)
            except Exception as error:
                failed.append((log_name, Failure()))
                log = OfflineLog(log_name, config, str(error))
            self._owner.add(topic, number, log)
            if self._clock.seconds() >= self._slice_end_s:
                await deferLater(self._clock, 0)
                self._slice_end_s = self._clock.seconds() + SLICE_S
        if failed:
            raise self._told(failed)

    def _told(self, failed: list[tuple[TopicPartition, Failure]]) -> OSError:
        """Log that logs could not be made, and return the error for those who wait for them."""
        name, failure = failed[0]
        more = f" and {len(failed) - 1} more of its topic" if len(failed) > 1 else ""
        if isinstance(failure.value, OSError):
            self._log.error(
                "the log of {partition}{more} cannot be made: {error}; it is offline",
                partition=name,
                more=more,
                error=failure.value,
            )
            return failure.value
        self._log.failure("making the log of {partition}{more} failed", failure, partition=name, more=more)
        return OSError(errno.EIO, "see the broker's log", str(name))

    def opened(self, name: str) -> Deferred[None]:
        """Wait until the logs of a topic are there, as far as they belong on this broker.

        :return: fails with OSError if one could not be made.
        """
        if name not in self._waiting:
            return fail(self._unmade[name]) if name in self._unmade else succeed(None)
        waiting: Deferred[None] = Deferred()
        self._waiting[name].append(waiting)
        return waiting

    def forget(self, name: str) -> None:
        """Forget that logs of a topic could not be made: it is deleted."""
        self._unmade.pop(name, None)

    def settled(self) -> Deferred[None]:
        """Wait until the log that is being opened is open, and open no others."""
        self._is_stopped = True
        waiting: Deferred[None] = Deferred()
        self._work.addBoth(lambda _: waiting.callback(None))
        return waiting
