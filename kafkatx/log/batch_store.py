"""The base of stores whose logs are :class:`~kafkatx.log.batch_log.BatchLog`."""

from __future__ import annotations

import errno
import uuid
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from types import MappingProxyType
from typing import NamedTuple, Protocol

import attrs
from twisted.internet.defer import Deferred, DeferredList, execute, succeed
from twisted.internet.interfaces import IReactorTime
from twisted.logger import Logger
from twisted.python.failure import Failure
from zope.interface import implementer

from kafkatx.config.log_config import LogConfig
from kafkatx.errors import ErrorCode, RequestError, SettingError
from kafkatx.interfaces import ILogDir, ILogStore, IPartitionLog, Workers
from kafkatx.interfaces.log_dirs import DirectoryChanges, Expected
from kafkatx.log.append.appender import FindRetention
from kafkatx.log.batch_log import BatchLog, BatchStorage
from kafkatx.log.high_watermarks import HighWatermarks
from kafkatx.types import TopicPartition


class FoundLog(NamedTuple):
    """A log in the storage of a store that is opened."""

    topic_partition: TopicPartition
    topic_id: uuid.UUID
    log_start_offset: int
    high_watermark: int = -1


class Batches(Protocol):
    """Keeps the batches of all partitions; all methods but :meth:`open` are called in the reactor thread."""

    lasting: bool
    """True if batches outlive the process."""

    def open(self) -> Iterable[FoundLog]:
        """Open; return the logs that are there. Runs in a worker, before anything else.

        :raises SettingError: it cannot be used; the message names the setting and says what to do.
        """

    def storage(self, topic_partition: TopicPartition, topic_id: uuid.UUID) -> BatchStorage:
        """Return the storage of one partition; a new one is empty.

        :raises OSError: it cannot be made.
        """

    def delete(self, topic_partition: TopicPartition) -> None:
        """Remove a partition and its batches.

        :raises OSError: it is still there.
        """

    def keep_log_start(self, topic_partition: TopicPartition, log_start_offset: int) -> None:
        """Save the log start offset of a partition, for :meth:`open`.

        :raises OSError: it is as it was.
        """

    def keep_high_watermarks(self, offsets: Mapping[TopicPartition, int]) -> None:
        """Save the high watermarks of partitions, for :meth:`open`; too low ones are harmless.

        :raises OSError: some are as they were.
        """

    def close(self) -> None:
        """Close the storage; all logs are flushed."""


@attrs.frozen
class _Entry:
    log: BatchLog
    topic_id: uuid.UUID
    storage: BatchStorage


@implementer(ILogStore)
class BatchLogStore:
    """An ``ILogStore`` over :class:`Batches`; a subclass's factory has the arguments of ``ILogStore``.

    :ivar durable: True if records outlive the process.
    """

    _log = Logger()

    dirs: tuple[ILogDir, ...] = ()
    unavailable: Mapping[TopicPartition, str] = MappingProxyType({})
    closed_cleanly = False

    def __init__(
        self,
        batches: Batches,
        workers: Workers,
        clock: IReactorTime,
        find_retention: FindRetention,
    ) -> None:
        self.durable = batches.lasting
        self.on_offline: Callable[[ILogDir], None] | None = None
        self._batches = batches
        self._worker = workers("batches")
        self._clock = clock
        self._find_retention = find_retention
        self._entries: dict[TopicPartition, _Entry] = {}
        self._logs: dict[TopicPartition, BatchLog] = {}
        self._left: dict[TopicPartition, uuid.UUID] = {}
        self._high_watermarks = HighWatermarks()

    @property
    def logs(self) -> Mapping[TopicPartition, BatchLog]:
        """See ILogStore."""
        return self._logs

    def open(
        self, log_config: Callable[[str], LogConfig], expected: Expected | None = None
    ) -> Deferred[None]:
        """See ILogStore. Logs that belong to no topic end the start: nothing of them is deleted."""

        def found(logs: Iterable[FoundLog]) -> None:
            saved = {}
            for one in self._belonging(list(logs), expected):
                config = log_config(one.topic_partition.topic)
                self._add(one.topic_partition, one.topic_id, config, one.log_start_offset)
                saved[one.topic_partition] = one.high_watermark
            if self._high_watermarks.restore(saved, self._logs):
                self._keep_high_watermarks()

        opening = self._worker(self._batches.open) if self.durable else execute(self._batches.open)
        return opening.addCallback(found)

    def _belonging(self, logs: list[FoundLog], expected: Expected | None) -> list[FoundLog]:
        """Return the logs of existing topics; delete those of topics that a client has deleted.

        The log of a partition that has moved to other brokers stays in the storage, not opened: this broker
        was stopped when it was moved. So does that of a topic that is gone, if there are logs of topics that
        exist: the storage belongs to the cluster then.

        :raises SettingError: one belongs to no topic.
        """
        if expected is None:
            return logs
        known, left, deleted, strays = [], [], [], []
        for one in logs:
            topic_id = expected.topic_id(one.topic_partition)
            if topic_id == one.topic_id:
                known.append(one)
            elif one.topic_id in expected.recorded.deleted:
                deleted.append(one)
            elif expected.moved_away(one.topic_partition, one.topic_id):
                left.append(one)
            else:
                strays.append(one)
        if known and all(expected.topic_id(one.topic_partition) is None for one in strays):
            left += strays
        elif strays:
            raise SettingError(
                f"kafkatx.storage: it has the logs of {len(strays)} partitions that belong to no topic of the"
                f" cluster's state ({strays[0].topic_partition} is the first); nothing was changed. Restore"
                " the state that they belong to, or move the storage's data away"
            )
        for one in deleted:
            self._batches.delete(one.topic_partition)
        self._leave(left)
        return known

    def _leave(self, left: list[FoundLog]) -> None:
        """Note the logs that are not opened, and say so."""
        self._left = {one.topic_partition: one.topic_id for one in left}
        if left:
            self._log.warn(
                "kafkatx.storage: it has the logs of {count} partitions that are not on this broker any more"
                " ({first} is the first); they stay in the storage and are not used. The log of one that"
                " comes back is copied anew from its leader",
                count=len(left),
                first=left[0].topic_partition,
            )

    def sync_directories(self) -> Deferred[DirectoryChanges]:
        """See ILogStore: a storage knows itself where its logs are."""
        return succeed(DirectoryChanges())

    def _add(
        self, topic_partition: TopicPartition, topic_id: uuid.UUID, config: LogConfig, log_start_offset: int
    ) -> BatchLog:
        storage = self._batches.storage(topic_partition, topic_id)
        log = BatchLog(
            topic_partition,
            config,
            self._find_retention,
            self._clock,
            storage,
            self._worker,
            log_start_offset,
            partial(self._batches.keep_log_start, topic_partition),
        )
        self._entries[topic_partition] = _Entry(log, topic_id, storage)
        self._logs[topic_partition] = log
        return log

    def reconfigure(self, config: object) -> None:
        """See ILogStore: nothing of it is needed here."""

    def check(self, config: LogConfig) -> None:
        """See ILogStore."""
        self._find_retention(config.retention_policy)

    def create(
        self, topic_partition: TopicPartition, topic_id: uuid.UUID, config: LogConfig
    ) -> Deferred[IPartitionLog]:
        """See ILogStore."""
        return execute(self._create, topic_partition, topic_id, config)

    def _create(
        self, topic_partition: TopicPartition, topic_id: uuid.UUID, config: LogConfig
    ) -> IPartitionLog:
        entry = self._entries.get(topic_partition)
        if entry is not None and entry.topic_id == topic_id:
            return entry.log
        self._delete(topic_partition)
        self._delete_left(topic_partition, topic_id)
        return self._add(topic_partition, topic_id, config, 0)

    def _delete_left(self, topic_partition: TopicPartition, topic_id: uuid.UUID) -> None:
        """Delete the log that an earlier life of this broker has left of a partition.

        :raises OSError: it is that of another topic, which no client is known to have deleted.
        """
        if self._left.get(topic_partition, topic_id) != topic_id:
            raise FileExistsError(
                errno.EEXIST,
                "kafkatx.storage has the log of an earlier topic of this name; move it away",
                str(topic_partition),
            )
        if topic_partition in self._left:
            self._batches.delete(topic_partition)
            del self._left[topic_partition]

    def topic_id(self, topic_partition: TopicPartition) -> uuid.UUID:
        """See ILogStore.

        :raises KeyError: no such log is open.
        """
        return self._entries[topic_partition].topic_id

    def delete(self, topic_partition: TopicPartition) -> Deferred[None]:
        """See ILogStore."""
        return execute(self._delete, topic_partition)

    def _delete(self, topic_partition: TopicPartition) -> None:
        if topic_partition in self._entries:
            del self._entries[topic_partition], self._logs[topic_partition]
            self._high_watermarks.forget(topic_partition)
            self._batches.delete(topic_partition)

    def checkpoint(self) -> Deferred[None]:
        """See ILogStore: saves the log start offsets; a storage knows itself what is flushed."""
        return execute(self._checkpoint)

    def _checkpoint(self) -> None:
        for topic_partition, log in self._logs.items():
            self._batches.keep_log_start(topic_partition, log.log_start_offset)
        self._keep_high_watermarks()

    def note_generation(self) -> Deferred[None]:
        """See ILogStore: there are no log dirs."""
        return succeed(None)

    def high_watermark(self, topic_partition: TopicPartition) -> int:
        """See ILogStore."""
        return self._high_watermarks.of(self._logs.get(topic_partition))

    def checkpoint_high_watermarks(self, offsets: Mapping[TopicPartition, int]) -> Deferred[None]:
        """See ILogStore."""
        self._high_watermarks.add({name: offsets[name] for name in self._logs if name in offsets})
        return execute(self._keep_high_watermarks)

    def _keep_high_watermarks(self) -> None:
        offsets = self._high_watermarks.of_each(self._logs.values())
        if offsets:
            self._batches.keep_high_watermarks(offsets)

    def checkpoint_log_start(self, topic_partition: TopicPartition) -> Deferred[None]:
        """See ILogStore."""
        return Deferred.fromCoroutine(self._checkpoint_log_start(topic_partition))

    async def _checkpoint_log_start(self, topic_partition: TopicPartition) -> None:
        entry = self._entries.get(topic_partition)
        if entry is None:
            raise OSError(errno.EIO, "the log is not here any more", str(topic_partition))
        self._batches.keep_log_start(topic_partition, entry.log.log_start_offset)
        if self.durable:
            await self._worker(entry.storage.sync)

    def relocate(self, topic_partition: TopicPartition, path: str) -> None:
        """See ILogStore: there are no dirs here.

        :raises RequestError: LOG_DIR_NOT_FOUND.
        """
        raise RequestError(ErrorCode.LOG_DIR_NOT_FOUND, f"{path}: these logs are in no dir")

    def clean(self, now_ms: int) -> Deferred[bool]:
        """See ILogStore: these logs are not compacted."""
        return succeed(False)

    def close(self) -> Deferred[None]:
        """See ILogStore. Fails with the first OSError."""
        flushes = [log.flush() for log in self._logs.values()]

        def flushed(results: Sequence[tuple[bool, object]]) -> None:
            try:
                self._checkpoint()
            finally:
                self._entries.clear()
                self._logs.clear()
                self._high_watermarks.clear()
                self._batches.close()
            for _, result in results:
                if isinstance(result, Failure):
                    result.raiseException()

        return DeferredList(flushes, consumeErrors=True).addCallback(flushed)
