"""All logs under ``log.dirs``: found, locked and opened; made, deleted and closed.

A log dir holds one directory per partition, ``<topic>-<partition>``, and the files that
:mod:`kafkatx.log.checkpoint` describes. ``.lock`` is held with ``flock`` by the broker that has the dir
open. A deleted partition's directory is renamed to ``<name>.<32 hex digits>-delete`` first; what is left
of those is removed when the dir is opened. Directories with other names are left alone.
"""

from __future__ import annotations

import os
import uuid
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import attrs
from twisted.internet.defer import Deferred, DeferredList, DeferredLock
from twisted.internet.interfaces import IDelayedCall, IReactorTime
from twisted.logger import Logger
from zope.interface import implementer

from kafkatx.config.log_config import LogConfig
from kafkatx.errors import SettingError
from kafkatx.interfaces import ILogStore, IPartitionLog, Worker, Workers
from kafkatx.log.checkpoint import NO_TOPIC_ID
from kafkatx.log.directory import Found, LogDir
from kafkatx.log.files import Files
from kafkatx.log.log import FileLog
from kafkatx.log.recovery import Loaded
from kafkatx.log.staging import FindRetention
from kafkatx.types import TopicPartition


@attrs.define
class _Entry:
    log: FileLog
    topic_id: uuid.UUID
    place: _Place


@attrs.define(eq=False)
class _Place:
    """A log dir and the worker that may block on it."""

    dir: LogDir
    worker: Worker
    logs: int = 0


@implementer(ILogStore)
class FileLogStore:
    """Logs in files; see ``ILogStore``.

    :param files: the file system, for tests of its failures.
    """

    log = Logger()

    def __init__(
        self,
        config: Any,
        workers: Workers,
        clock: IReactorTime,
        find_retention: FindRetention,
        files: Files | None = None,
    ) -> None:
        self._files = files or Files()
        self._clock = clock
        self._find_retention = find_retention
        self._places = [
            _Place(LogDir(self._files, path, config.get("broker.id")), workers(f"log {path}"))
            for path in dict.fromkeys(os.path.abspath(path) for path in config.get("log.dirs"))
        ]
        self._entries: dict[TopicPartition, _Entry] = {}
        self._logs: dict[TopicPartition, FileLog] = {}
        self._changing = DeferredLock()
        self._removing: set[IDelayedCall] = set()

    @property
    def logs(self) -> Mapping[TopicPartition, FileLog]:
        """As ILogStore says."""
        return self._logs

    def _now_ms(self) -> int:
        return int(self._clock.seconds() * 1000)

    # --- opening and closing

    def open(self, log_config: Callable[[str], LogConfig]) -> Deferred[None]:
        """As ILogStore says."""
        return Deferred.fromCoroutine(self._open(log_config))

    async def _open(self, log_config: Callable[[str], LogConfig]) -> None:
        try:
            for place in self._places:
                await place.worker(place.dir.lock)
            await _settle(
                [Deferred.fromCoroutine(self._open_place(place, log_config)) for place in self._places]
            )
        except BaseException:
            self._entries.clear()
            self._logs.clear()
            for place in self._places:
                place.dir.unlock()
            raise

    async def _open_place(self, place: _Place, log_config: Callable[[str], LogConfig]) -> None:
        found: list[Found] = await place.worker(place.dir.find)
        configs = [log_config(one.topic_partition.topic) for one in found]
        loaded: list[Loaded] = await place.worker(partial(place.dir.load, found, configs, self._now_ms()))
        for one, config, state in zip(found, configs, loaded, strict=True):
            twice = self._entries.get(one.topic_partition)
            if twice is not None:
                raise SettingError(
                    f"log.dirs: {one.topic_partition} is both in {twice.place.dir.path} and in "
                    f"{place.dir.path}; move one of them away"
                )
            self._add(place, one, config, state)

    def _add(self, place: _Place, found: Found, config: LogConfig, loaded: Loaded) -> FileLog:
        log = FileLog(
            found.topic_partition,
            config,
            self._find_retention,
            os.path.join(place.dir.path, str(found.topic_partition)),
            loaded,
            self._files,
            place.worker,
            self._clock,
        )
        self._entries[found.topic_partition] = _Entry(log, found.topic_id, place)
        self._logs[found.topic_partition] = log
        place.logs += 1
        return log

    def checkpoint(self) -> Deferred[None]:
        """As ILogStore says. Fails with OSError if one cannot be written."""
        saves = [place.worker(partial(place.dir.save, *self._offsets(place))) for place in self._places]
        return Deferred.fromCoroutine(_settle(saves))

    def _offsets(self, place: _Place) -> tuple[dict[TopicPartition, int], ...]:
        """Recovery points, log starts and ends of the logs in one dir."""
        logs = [entry.log for entry in self._entries.values() if entry.place is place]
        return (
            {log.topic_partition: log.flushed_offset for log in logs},
            {log.topic_partition: log.log_start_offset for log in logs},
            {log.topic_partition: log.log_end_offset for log in logs},
        )

    def close(self) -> Deferred[None]:
        """As ILogStore says. A dir that fails gets no marker; the others do. Fails with the first OSError."""
        return Deferred.fromCoroutine(self._close())

    async def _close(self) -> None:
        await self._changing.acquire()
        try:
            for call in self._removing:
                if call.active():
                    call.cancel()
            await _settle([Deferred.fromCoroutine(self._close_place(place)) for place in self._places])
        finally:
            self._entries.clear()
            self._logs.clear()
            self._changing.release()

    async def _close_place(self, place: _Place) -> None:
        if not place.dir.locked:
            return
        finishes = [entry.log.close() for entry in self._entries.values() if entry.place is place]
        try:
            await place.worker(lambda: [finish() for finish in finishes])
            await place.worker(partial(place.dir.save, *self._offsets(place)))
            await place.worker(place.dir.mark_clean)
        finally:
            place.dir.unlock()

    # --- single logs

    def create(
        self, topic_partition: TopicPartition, topic_id: uuid.UUID, config: LogConfig
    ) -> Deferred[IPartitionLog]:
        """As ILogStore says. A log from before there were topic ids is given the id.

        Fails with OSError if its files cannot be made.
        """
        return self._changing.run(
            lambda: Deferred.fromCoroutine(self._create(topic_partition, topic_id, config))
        )

    async def _create(
        self, topic_partition: TopicPartition, topic_id: uuid.UUID, config: LogConfig
    ) -> FileLog:
        entry = self._entries.get(topic_partition)
        if entry is not None and entry.topic_id == topic_id:
            return entry.log
        if entry is not None and entry.topic_id == NO_TOPIC_ID:
            await entry.place.worker(partial(entry.place.dir.adopt, topic_partition, topic_id))
            entry.topic_id = topic_id
            return entry.log
        if entry is not None:
            await self._delete(topic_partition)
        place = min(self._places, key=lambda place: place.logs)
        found = Found(topic_partition, topic_id)
        loaded = await place.worker(partial(place.dir.create, found, config, self._now_ms()))
        return self._add(place, found, config, loaded)

    def topic_id(self, topic_partition: TopicPartition) -> uuid.UUID:
        """As ILogStore says; zero for a log from before there were topic ids.

        :raises KeyError: no such log is open.
        """
        return self._entries[topic_partition].topic_id

    def delete(self, topic_partition: TopicPartition) -> Deferred[None]:
        """As ILogStore says. Fires when the directory is renamed; fails with OSError if it cannot be."""
        return self._changing.run(lambda: Deferred.fromCoroutine(self._delete(topic_partition)))

    async def _delete(self, topic_partition: TopicPartition) -> None:
        entry = self._entries.pop(topic_partition, None)
        if entry is None:
            return
        del self._logs[topic_partition]
        entry.log.abandon()
        entry.place.logs -= 1
        doomed = await entry.place.worker(partial(entry.place.dir.put_aside, topic_partition))
        delay = entry.log.config.file_delete_delay_ms / 1000
        call = self._clock.callLater(delay, self._remove, entry.place, doomed)
        self._removing = {waiting for waiting in self._removing if waiting.active()} | {call}

    def _remove(self, place: _Place, path: str) -> None:
        done = place.worker(partial(self._files.remove_tree, path))
        done.addErrback(lambda failure: self.log.failure("removing {path} failed", failure, path=path))


async def _settle(deferreds: list[Deferred[Any]]) -> None:
    """Wait for all of them, then raise the first failure if there was one."""
    results = await DeferredList(deferreds, consumeErrors=True)
    for succeeded, result in results:
        if not succeeded:
            result.raiseException()
