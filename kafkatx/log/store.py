"""All logs under ``log.dirs``: found, locked and opened; made, deleted and closed.

A log dir holds one directory per partition, ``<topic>-<partition>``, and the files that
:mod:`kafkatx.log.checkpoint` describes. ``.lock`` is held with ``flock`` by the broker that has the dir
open. A deleted partition's directory is renamed to ``<name>.<32 hex digits>-delete`` first; what is left
of those is removed when the dir is opened. Directories with other names are left alone.

A dir that fails goes offline (:mod:`kafkatx.log.place`), and its logs leave the store; the others go on.
"""

from __future__ import annotations

import errno
import os
import uuid
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import attrs
from twisted.internet.defer import Deferred, DeferredList, DeferredLock
from twisted.internet.interfaces import IDelayedCall, IReactorTime
from twisted.logger import Logger
from twisted.python.failure import Failure
from zope.interface import implementer

from kafkatx.config.log_config import LogConfig
from kafkatx.errors import SettingError
from kafkatx.interfaces import ILogDir, ILogStore, IPartitionLog, Workers
from kafkatx.log.checkpoint import NO_TOPIC_ID
from kafkatx.log.descriptors import Descriptors, affordable_segments
from kafkatx.log.directory import Found, LogDir
from kafkatx.log.files import Files
from kafkatx.log.log import FileLog
from kafkatx.log.place import Place
from kafkatx.log.recovery import Loaded
from kafkatx.log.staging import FindRetention
from kafkatx.types import TopicPartition

if TYPE_CHECKING:  # imported with the first pass: a start need not wait for it
    from kafkatx.log.cleaner.chore import Cleaner
    from kafkatx.log.cleaner.passes import Memory, Run
    from kafkatx.log.mover import Mover


@attrs.define
class _Entry:
    """A log that is open; see ``kafkatx.log.mover.Entry``."""

    log: FileLog
    topic_id: uuid.UUID
    place: Place


@implementer(ILogStore)
class FileLogStore:
    """Logs in files; see ``ILogStore``.

    :param files: the file system, for tests of its failures.
    :param run_pass: makes the cleaner's passes, where not a process of its own is to do it.
    """

    log = Logger()

    def __init__(
        self,
        config: Any,
        workers: Workers,
        clock: IReactorTime,
        find_retention: FindRetention,
        files: Files | None = None,
        run_pass: Run | None = None,
    ) -> None:
        self._files = files or Files()
        self._config = config
        self._workers = workers
        self._run_pass = run_pass
        self._cleaner: Cleaner | None = None
        self._clock = clock
        self._find_retention = find_retention
        self._places = [
            Place(
                LogDir(self._files, path, config.get("broker.id")),
                workers(f"log {path}"),
                clock,
                self._gone_offline,
            )
            for path in dict.fromkeys(os.path.abspath(path) for path in config.get("log.dirs"))
        ]
        self._entries: dict[TopicPartition, _Entry] = {}
        self._logs: dict[TopicPartition, FileLog] = {}
        self._descriptors = Descriptors(affordable_segments())
        self._changing = DeferredLock()
        self._mover: Mover | None = None
        self._removing: set[IDelayedCall] = set()
        self._is_open = False
        self.on_offline: Callable[[ILogDir], None] | None = None

    @property
    def dirs(self) -> Sequence[Place]:
        """As ILogStore says."""
        return self._places

    @property
    def logs(self) -> Mapping[TopicPartition, FileLog]:
        """As ILogStore says."""
        return self._logs

    def _now_ms(self) -> int:
        return int(self._clock.seconds() * 1000)

    def configure(self, config: Any) -> None:
        """As ILogStore says: the cleaner's next pass takes the memory that it may have now."""
        self._config = config
        if self._cleaner is not None:
            self._cleaner.memory = self._cleaner_memory()

    def check(self, config: LogConfig) -> None:
        """As ILogStore says."""
        self._find_retention(config.retention_policy)

    # --- opening and closing

    def open(self, log_config: Callable[[str], LogConfig]) -> Deferred[None]:
        """As ILogStore says."""
        return Deferred.fromCoroutine(self._open(log_config))

    async def _open(self, log_config: Callable[[str], LogConfig]) -> None:
        try:
            for place in self._places:
                await self._unless_failing(place, place.worker(place.dir.lock))
            if len(self._online()) > 1:
                from kafkatx.log.relocation import settle

                await self._workers("relocation")(partial(settle, self._files, self._online()))
            await _settle(
                [
                    self._unless_failing(place, Deferred.fromCoroutine(self._open_place(place, log_config)))
                    for place in self._online()
                ]
            )
            self._check_any_online()
            self._is_open = True
        except BaseException:
            self._forget_all()
            for place in self._places:
                place.dir.unlock()
            raise

    def _unless_failing(self, place: Place, opening: Deferred[None]) -> Deferred[None]:
        """Wait for a step of opening a dir; one that cannot be used is offline, for the others may do."""

        def failed(failure: Failure) -> None:
            failure.trap(OSError)
            place.take_offline(failure.value, "opening it")  # type: ignore[arg-type]  # trapped

        return opening.addErrback(failed)

    def _check_any_online(self) -> None:
        if not self._online():
            place = self._places[0]
            why = place.error.strerror if place.error else ""
            raise SettingError(f"log.dirs={place.path}: {why}; name a directory that can be written")

    def _online(self) -> list[Place]:
        return [place for place in self._places if place.error is None]

    def _gone_offline(self, place: Place) -> None:
        for name in place.logs:
            self._entries.pop(name, None)
            self._logs.pop(name, None)
        if self._is_open and self.on_offline is not None:
            self.on_offline(place)

    def _forget_all(self) -> None:
        self._is_open = False
        self._entries.clear()
        self._logs.clear()
        for place in self._places:
            place.logs.clear()

    async def _open_place(self, place: Place, log_config: Callable[[str], LogConfig]) -> None:
        found: list[Found] = await place.worker(place.dir.find)
        topics = {one.topic_partition.topic for one in found}
        by_topic = {topic: log_config(topic) for topic in topics}
        configs = [by_topic[one.topic_partition.topic] for one in found]
        loaded: list[Loaded] = await place.worker(partial(place.dir.load, found, configs, self._now_ms()))
        for one, config, state in zip(found, configs, loaded, strict=True):
            twice = self._entries.get(one.topic_partition)
            if twice is not None:
                raise SettingError(
                    f"log.dirs: {one.topic_partition} is both in {twice.place.dir.path} and in "
                    f"{place.dir.path}; move one of them away"
                )
            self._add(place, one, config, state)

    def _add(self, place: Place, found: Found, config: LogConfig, loaded: Loaded) -> FileLog:
        log = FileLog(
            found.topic_partition,
            config,
            self._find_retention,
            os.path.join(place.dir.path, str(found.topic_partition)),
            loaded,
            self._files,
            place.worker,
            self._clock,
            place.report,
        )
        log.attend(self._workers(f"read-ahead {place.dir.path}"), self._descriptors)
        self._entries[found.topic_partition] = _Entry(log, found.topic_id, place)
        self._logs[found.topic_partition] = log
        place.logs[found.topic_partition] = log
        return log

    def checkpoint(self) -> Deferred[None]:
        """As ILogStore says. Fails with OSError if one cannot be written."""
        saves = [
            place.run(partial(place.dir.save, *place.offsets()), "writing checkpoints")
            for place in self._online()
        ]
        return Deferred.fromCoroutine(_settle(saves))

    def checkpoint_log_start(self, topic_partition: TopicPartition) -> Deferred[None]:
        """As ILogStore says."""
        return Deferred.fromCoroutine(self._checkpoint_log_start(topic_partition))

    async def _checkpoint_log_start(self, topic_partition: TopicPartition) -> None:
        entry = self._entries.get(topic_partition)
        if entry is None:
            raise OSError(errno.EIO, "the log is not here any more", str(topic_partition))
        if entry.log.flushed_offset < entry.log.log_start_offset:
            # else a power cut could leave a log that ends before its start
            await entry.log.flush()
        await entry.place.checkpoint_log_starts()

    # --- compaction

    def clean(self, now_ms: int) -> Deferred[bool]:
        """As ILogStore says. Fails with OSError if the cleaner's checkpoint cannot be written."""
        return Deferred.fromCoroutine(self._clean(now_ms))

    async def _clean(self, now_ms: int) -> bool:
        if self._cleaner is None:
            self._cleaner = self._make_cleaner()
        log = await self._cleaner.clean_one(list(self._logs.values()), now_ms)
        entry = None if log is None else self._entries.get(log.topic_partition)
        if entry is not None:
            await self._save_cleaned(entry.place)
        return log is not None

    def _make_cleaner(self) -> Cleaner:
        from kafkatx.log.cleaner.chore import Cleaner
        from kafkatx.log.cleaner.process import CleanerProcess

        process = CleanerProcess()
        run = self._run_pass or process.run
        return Cleaner(self._files, self._workers("cleaner"), self._cleaner_memory(), run, process.stop)

    def _cleaner_memory(self) -> Memory:
        from kafkatx.log.cleaner.passes import Memory

        return Memory(
            self._config.get("log.cleaner.dedupe.buffer.size"),
            self._config.get("log.cleaner.io.buffer.load.factor"),
        )

    def _save_cleaned(self, place: Place) -> Deferred[None]:
        return place.run(partial(place.dir.save_cleaned, place.cleaned()), "writing down what is compacted")

    # --- closing

    def close(self) -> Deferred[None]:
        """As ILogStore says. A dir that fails gets no marker; the others do. Fails with the first OSError."""
        return Deferred.fromCoroutine(self._close())

    async def _close(self) -> None:
        if self._cleaner is not None:
            await self._cleaner.stop()
        if self._mover is not None:
            await self._mover.stop_all()
        await self._changing.acquire()
        try:
            for call in self._removing:
                if call.active():
                    call.cancel()
            await _settle([Deferred.fromCoroutine(self._close_place(place)) for place in self._places])
        finally:
            self._forget_all()
            self._changing.release()

    async def _close_place(self, place: Place) -> None:
        if not place.dir.locked:
            return
        try:
            finishes = [log.close() for log in place.logs.values()]
            await place.worker(lambda: [finish() for finish in finishes])
            await place.worker(partial(place.dir.save, *place.offsets()))
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
            adopt = partial(entry.place.dir.adopt, topic_partition, topic_id)
            await entry.place.run(adopt, f"writing to {topic_partition}")
            entry.topic_id = topic_id
            return entry.log
        if entry is not None:
            await self._delete(topic_partition)
        return await self._create_somewhere(Found(topic_partition, topic_id), config)

    async def _create_somewhere(self, found: Found, config: LogConfig) -> FileLog:
        """Make a log in the dir with the fewest; where that fails, in another.

        :raises OSError: it cannot be made anywhere.
        """
        error = OSError(errno.EIO, "every log dir is offline")
        for place in sorted(self._online(), key=lambda place: len(place.logs)):
            create = partial(place.dir.create, found, config, self._now_ms())
            try:
                loaded = await place.run(create, f"making {found.topic_partition}")
            except OSError as failed:
                error = failed
            else:
                if place.error is None:
                    return self._add(place, found, config, loaded)
        raise error

    def relocate(self, topic_partition: TopicPartition, path: str) -> None:
        """As ILogStore says."""
        if self._mover is None:
            from kafkatx.log.mover import Mover

            self._mover = Mover(self._files, self._workers, self._clock, self._changing, self._descriptors)
            self._mover.remove_later = self._remove_later
        self._mover.relocate(self._entries, topic_partition, self._places, path)

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
        if self._mover is not None:
            self._mover.stop(topic_partition)
        del self._logs[topic_partition]
        entry.log.abandon()
        del entry.place.logs[topic_partition]
        put_aside = partial(entry.place.dir.put_aside, topic_partition)
        doomed = await entry.place.run(put_aside, f"deleting {topic_partition}")
        self._remove_later(entry.place, doomed, entry.log.config.file_delete_delay_ms / 1000)

    def _remove_later(self, place: Place, path: str, delay_s: float) -> None:
        call = self._clock.callLater(delay_s, self._remove, place, path)
        self._removing = {waiting for waiting in self._removing if waiting.active()} | {call}

    def _remove(self, place: Place, path: str) -> None:
        done = place.run(partial(self._files.remove_tree, path), f"removing {path}")
        done.addErrback(lambda failure: self.log.failure("removing {path} failed", failure, path=path))


async def _settle(deferreds: list[Deferred[Any]]) -> None:
    """Wait for all of them, then raise the first failure if there was one."""
    results = await DeferredList(deferreds, consumeErrors=True)
    for succeeded, result in results:
        if not succeeded:
            result.raiseException()
