"""The store of all logs under ``log.dirs``: opens, creates, deletes, moves and closes them.

A log dir holds one directory per partition, ``<topic>-<partition>``, and the files that
:mod:`kafkatx.log.checkpoint` describes; the broker holds ``.lock`` with ``flock``. A deleted partition's
directory is renamed to ``<name>.<32 hex digits>-delete``, and removed later, or by the next start. A dir that
fails goes offline (:mod:`kafkatx.log.store.log_dir`), and its logs leave the store.
"""

from __future__ import annotations

import errno
import os
import uuid
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING

import attrs
from twisted.internet.defer import Deferred, DeferredLock
from twisted.internet.interfaces import IReactorTime
from twisted.logger import Logger
from zope.interface import implementer

from kafkatx.config.log_config import LogConfig
from kafkatx.errors import PartitionUnavailable, SettingError
from kafkatx.interfaces import DirectoryChanges, Expected, ILogDir, ILogStore, IPartitionLog, Workers
from kafkatx.log.append.appender import FindRetention
from kafkatx.log.checkpoint import NO_TOPIC_ID
from kafkatx.log.files import Files
from kafkatx.log.high_watermarks import HighWatermarks
from kafkatx.log.partition.file_log import FileLog
from kafkatx.log.recovery.loader import LoadedLog
from kafkatx.log.segment.descriptors import Descriptors, affordable_segments
from kafkatx.log.store.lazy_cleaner import LazyCleaner, StoreSettings
from kafkatx.log.store.lifecycle import (
    check_any_online,
    close_log_dir,
    finish_moves,
    note,
    saving,
    settle_all,
    survey_all,
    unless_failing,
)
from kafkatx.log.store.log_dir import LogDir
from kafkatx.log.store.log_dir_files import LogDirFiles
from kafkatx.log.store.ownership import Found
from kafkatx.log.store.renames import Renames
from kafkatx.log.store.unavailable import UnavailableLogs
from kafkatx.log.store.unrecorded_changes import UnrecordedChanges
from kafkatx.types import TopicPartition

if TYPE_CHECKING:  # imported when first used, so that a start does not wait for them
    from kafkatx.log.cleaner.passes import Run
    from kafkatx.log.store.moves.mover import Mover


@attrs.define
class _Entry:
    """A log that is open; see ``kafkatx.log.store.moves.mover.Entry``."""

    log: FileLog
    topic_id: uuid.UUID
    log_dir: LogDir


@attrs.frozen
class _Renamed:
    """The directory of a deleted partition, at its new path."""

    log_dir: LogDir
    topic_id: uuid.UUID
    path: str
    delay_ms: int


@implementer(ILogStore)
class FileLogStore:
    """Logs in files; see ``ILogStore``.

    :param files: the file system, for tests of its failures.
    :param run_pass: makes the cleaner's passes; None: a separate process does.
    """

    log = Logger()
    durable = True

    def __init__(
        self,
        config: StoreSettings,
        workers: Workers,
        clock: IReactorTime,
        find_retention: FindRetention,
        files: Files | None = None,
        run_pass: Run | None = None,
    ) -> None:
        self._files = files or Files()
        self._workers = workers
        self._cleaner = LazyCleaner(config, workers, self._files, run_pass)
        self._clock = clock
        self._find_retention = find_retention
        self._high_watermarks = HighWatermarks()
        self._log_dirs = [
            LogDir(
                LogDirFiles(self._files, path, config.get("broker.id")),
                workers(f"log {path}"),
                clock,
                self._gone_offline,
                self._high_watermarks,
            )
            for path in dict.fromkeys(os.path.abspath(path) for path in config.get("log.dirs"))
        ]
        self._entries: dict[TopicPartition, _Entry] = {}
        self._logs: dict[TopicPartition, FileLog] = {}
        self._unavailable = UnavailableLogs()
        self._descriptors = Descriptors(affordable_segments())
        self._changing = DeferredLock()
        self._renames = Renames()
        self._mover: Mover | None = None
        self._unrecorded = UnrecordedChanges()
        self._expected: Expected | None = None
        self._is_open = False
        self.on_offline: Callable[[ILogDir], None] | None = None

    @property
    def dirs(self) -> Sequence[LogDir]:
        """See ILogStore."""
        return self._log_dirs

    @property
    def logs(self) -> Mapping[TopicPartition, FileLog]:
        """See ILogStore."""
        return self._logs

    @property
    def closed_cleanly(self) -> bool:
        """See ILogStore."""
        return all(log_dir.files.clean and log_dir.error is None for log_dir in self._log_dirs)

    @property
    def unavailable(self) -> Mapping[TopicPartition, str]:
        """See ILogStore."""
        return self._unavailable.reasons

    def _now_ms(self) -> int:
        return int(self._clock.seconds() * 1000)

    def reconfigure(self, config: StoreSettings) -> None:
        """See ILogStore: the cleaner's next pass takes the memory that it may have now."""
        self._cleaner.reconfigure(config)

    def check(self, config: LogConfig) -> None:
        """See ILogStore."""
        self._find_retention(config.retention_policy)

    # --- opening and closing

    def open(
        self, log_config: Callable[[str], LogConfig], expected: Expected | None = None
    ) -> Deferred[None]:
        """See ILogStore."""
        return Deferred.fromCoroutine(self._open(log_config, expected))

    async def _open(self, log_config: Callable[[str], LogConfig], expected: Expected | None) -> None:
        try:
            self._expected = expected
            for log_dir in self._log_dirs:
                await unless_failing(log_dir, log_dir.worker(log_dir.files.lock))
            surveys = await survey_all(self._log_dirs, expected)
            if len(self._online()) > 1:
                surveys |= await finish_moves(self._files, self._online(), self._workers("relocation"))
            online = self._online()
            opening = [Deferred.fromCoroutine(self._open_log_dir(one, log_config)) for one in online]
            await settle_all([unless_failing(*one) for one in zip(online, opening, strict=True)])
            check_any_online(self._log_dirs)
            if expected is not None:
                self._unrecorded.opened([(one, surveys[one.path]) for one in self._online()], expected)
            self._is_open = True
        except BaseException:
            self._forget_all()
            for log_dir in self._log_dirs:
                log_dir.files.unlock()
            raise

    def _online(self) -> list[LogDir]:
        return [log_dir for log_dir in self._log_dirs if log_dir.error is None]

    def _gone_offline(self, log_dir: LogDir) -> None:
        for name in log_dir.logs:
            self._entries.pop(name, None)
            self._logs.pop(name, None)
        if self._is_open and self.on_offline is not None:
            self.on_offline(log_dir)

    def _forget_all(self) -> None:
        self._is_open = False
        self._entries.clear()
        self._logs.clear()
        self._high_watermarks.clear()
        self._unavailable.clear()
        for log_dir in self._log_dirs:
            log_dir.logs.clear()

    async def _open_log_dir(self, log_dir: LogDir, log_config: Callable[[str], LogConfig]) -> None:
        found: list[Found] = await log_dir.worker(partial(log_dir.files.find, self._expected))
        topics = {one.topic_partition.topic for one in found}
        by_topic = {topic: log_config(topic) for topic in topics}
        configs = [by_topic[one.topic_partition.topic] for one in found]
        loaded: list[LoadedLog | PartitionUnavailable] = await log_dir.worker(
            partial(log_dir.files.load, found, configs, self._now_ms())
        )
        for one, config, state in zip(found, configs, loaded, strict=True):
            name, entry = one.topic_partition, self._entries.get(one.topic_partition)
            twice = entry.log_dir if entry is not None else self._unavailable.log_dir_of(name)
            if twice is not None:
                raise SettingError(
                    f"log.dirs: {name} is both in {twice.path} and in {log_dir.path}; move one of them away"
                )
            if isinstance(state, PartitionUnavailable):
                self._unavailable.add(name, log_dir, one.topic_id, state)
            else:
                self._add(log_dir, one, config, state)
        if self._high_watermarks.restore(log_dir.files.checkpoints.high_watermarks, log_dir.logs):
            await log_dir.save_high_watermarks()

    def _add(self, log_dir: LogDir, found: Found, config: LogConfig, loaded: LoadedLog) -> FileLog:
        log = FileLog(
            found.topic_partition,
            config,
            self._find_retention,
            os.path.join(log_dir.files.path, str(found.topic_partition)),
            loaded,
            self._files,
            log_dir.worker,
            self._clock,
            log_dir.report,
        )
        reader = self._workers(f"read-ahead {log_dir.files.path}")
        log.attach(reader, self._descriptors, log_dir.was_cut)
        self._entries[found.topic_partition] = _Entry(log, found.topic_id, log_dir)
        self._logs[found.topic_partition] = log_dir.logs[found.topic_partition] = log
        return log

    def checkpoint(self) -> Deferred[None]:
        """See ILogStore. Fails with OSError if one cannot be written."""
        saves = [
            log_dir.run(saving(log_dir, self._expected), "writing checkpoints") for log_dir in self._online()
        ]
        return Deferred.fromCoroutine(settle_all(saves))

    def note_generation(self) -> Deferred[None]:
        """See ILogStore. Fails with OSError if it cannot be written."""
        notes = [
            one.run(partial(note, one, self._expected), "noting the state's generation")
            for one in self._online()
        ]
        return Deferred.fromCoroutine(settle_all(notes))

    def high_watermark(self, topic_partition: TopicPartition) -> int:
        """See ILogStore."""
        return self._high_watermarks.of(self._logs.get(topic_partition))

    def checkpoint_high_watermarks(self, offsets: Mapping[TopicPartition, int]) -> Deferred[None]:
        """See ILogStore."""
        self._high_watermarks.add({name: offsets[name] for name in self._logs if name in offsets})
        return Deferred.fromCoroutine(settle_all([one.save_high_watermarks() for one in self._online()]))

    def sync_directories(self) -> Deferred[DirectoryChanges]:
        """See ILogStore. Fails with OSError where a dir could not be synced."""
        return Deferred.fromCoroutine(self._unrecorded.settle(self._log_dirs))

    def checkpoint_log_start(self, topic_partition: TopicPartition) -> Deferred[None]:
        """See ILogStore."""
        return Deferred.fromCoroutine(self._checkpoint_log_start(topic_partition))

    async def _checkpoint_log_start(self, topic_partition: TopicPartition) -> None:
        entry = self._entries.get(topic_partition)
        if entry is None:
            raise OSError(errno.EIO, "the log is not here any more", str(topic_partition))
        if entry.log.flushed_offset < entry.log.log_start_offset:
            # otherwise a power cut could leave a log that ends before its start
            await entry.log.flush()
        await entry.log_dir.checkpoint_log_starts()

    # --- compaction

    def clean(self, now_ms: int) -> Deferred[bool]:
        """See ILogStore. Fails with OSError if the cleaner's checkpoint cannot be written."""
        return Deferred.fromCoroutine(self._clean(now_ms))

    async def _clean(self, now_ms: int) -> bool:
        log = await self._cleaner.clean_one(list(self._logs.values()), now_ms)
        entry = None if log is None else self._entries.get(log.topic_partition)
        if entry is not None:
            await entry.log_dir.save_cleaned()
        return log is not None

    # --- closing

    def close(self) -> Deferred[None]:
        """See ILogStore. A dir that fails gets no marker; the others do. Fails with the first OSError."""
        return Deferred.fromCoroutine(self._close())

    async def _close(self) -> None:
        await self._cleaner.stop()
        if self._mover is not None:
            await self._mover.stop_all()
        await self._changing.acquire()
        try:
            for log_dir in self._log_dirs:
                log_dir.cancel_removals()
            await settle_all(
                [Deferred.fromCoroutine(close_log_dir(log_dir, self._expected)) for log_dir in self._log_dirs]
            )
        finally:
            self._forget_all()
            self._changing.release()

    # --- single logs

    def create(
        self, topic_partition: TopicPartition, topic_id: uuid.UUID, config: LogConfig
    ) -> Deferred[IPartitionLog]:
        """See ILogStore. A log from before there were topic ids is given the id.

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
            adopt = partial(entry.log_dir.files.adopt, topic_partition, topic_id)
            await entry.log_dir.run(adopt, f"writing to {topic_partition}")
            entry.topic_id = topic_id
            return entry.log
        self._unavailable.check(topic_partition, topic_id)
        if entry is not None:
            self._forget(entry)
            await entry.log_dir.set_stray(topic_partition)
        elif (unusable := self._unavailable.pop(topic_partition)) is not None:
            await unusable.log_dir.set_stray(topic_partition)
        return await self._create_somewhere(Found(topic_partition, topic_id), config)

    async def _create_somewhere(self, found: Found, config: LogConfig) -> FileLog:
        """Make a log in the dir with the fewest logs; if that fails, in another one.

        :raises OSError: it cannot be made anywhere.
        """
        error = OSError(errno.EIO, "every log dir is offline")
        for log_dir in sorted(self._online(), key=lambda log_dir: len(log_dir.logs)):
            is_deleted = self._unrecorded.deleted.__contains__
            create = partial(log_dir.files.create, found, config, self._now_ms(), is_deleted)
            try:
                loaded = await log_dir.run(create, f"making {found.topic_partition}")
            except OSError as failed:
                error = failed
            else:
                if log_dir.error is None:
                    self._unrecorded.made(log_dir, found)
                    return self._add(log_dir, found, config, loaded)
        raise error

    def relocate(self, topic_partition: TopicPartition, path: str) -> None:
        """See ILogStore."""
        if self._mover is None:
            from kafkatx.log.store.moves.mover import Mover

            self._mover = Mover(self._files, self._workers, self._clock, self._changing, self._descriptors)
            self._mover.arrived = self._arrived
        self._mover.relocate(self._entries, topic_partition, self._log_dirs, path)

    def _arrived(self, topic_partition: TopicPartition) -> None:
        """Add a log that was moved to the changes to record."""
        entry = self._entries.get(topic_partition)
        if entry is not None:
            self._unrecorded.made(entry.log_dir, Found(topic_partition, entry.topic_id))

    def topic_id(self, topic_partition: TopicPartition) -> uuid.UUID:
        """See ILogStore; zero for a log from before there were topic ids.

        :raises KeyError: no such log is open.
        """
        return self._entries[topic_partition].topic_id

    def delete(self, topic_partition: TopicPartition) -> Deferred[None]:
        """See ILogStore. Fires when the directory is renamed; fails with OSError if it cannot be."""
        return Deferred.fromCoroutine(self._delete(topic_partition))

    async def _delete(self, topic_partition: TopicPartition) -> None:
        """Rename the directory; sync the name with those of others, and remove it later."""
        self._renames.begin()
        renamed: _Renamed | None = None
        try:
            renaming = lambda: Deferred.fromCoroutine(self._rename(topic_partition))  # noqa: E731
            renamed = await self._changing.run(renaming)
        finally:
            synced = self._renames.end(None if renamed is None else renamed.log_dir)
        if renamed is not None and synced is not None:
            await synced
            removed = partial(self._unrecorded.removed, renamed.topic_id)
            renamed.log_dir.remove_later(renamed.path, renamed.delay_ms / 1000, removed)

    async def _rename(self, topic_partition: TopicPartition) -> _Renamed | None:
        """Rename the directory of a deleted partition; None if there is none.

        :raises OSError: it cannot be renamed.
        """
        entry = self._entries.get(topic_partition)
        if entry is None:
            unusable = self._unavailable.pop(topic_partition)
            if unusable is None or unusable.log_dir.error is not None:
                return None
            log_dir, topic_id, delay_ms = unusable.log_dir, unusable.topic_id, 0
        else:
            if self._mover is not None:
                self._mover.stop(topic_partition)
            log_dir, topic_id = entry.log_dir, entry.topic_id
            delay_ms = entry.log.config.file_delete_delay_ms
            self._forget(entry)
        self._unrecorded.deleting(topic_id)
        path = await log_dir.set_deleted(topic_partition)
        log_dir.files.checkpoints.unavailable.discard(topic_partition)
        return _Renamed(log_dir, topic_id, path, delay_ms)

    def _forget(self, entry: _Entry) -> None:
        """Remove a log from the store."""
        topic_partition = entry.log.topic_partition
        del self._entries[topic_partition]
        del self._logs[topic_partition]
        self._high_watermarks.forget(topic_partition)
        entry.log.abandon()
        del entry.log_dir.logs[topic_partition]
