"""The part of a log in files that brings it to the disk, and tells when the disk fails.

A sync runs in the worker of the log's directory. It fails once and for all: the kernel may have dropped the
pages, and a second sync would succeed without them. So what waits for it is never acknowledged, and the
store takes the whole log dir offline.
"""

from __future__ import annotations

import errno
import functools
import os
from collections.abc import Callable, Sequence
from functools import partial
from typing import Concatenate, ParamSpec, TypeVar

from twisted.internet.defer import Deferred, succeed
from twisted.internet.interfaces import IReactorTime
from twisted.logger import Logger
from twisted.python.failure import Failure

from kafkatx.config.log_config import LogConfig
from kafkatx.interfaces import Worker
from kafkatx.log.checkpoint import LEADER_EPOCHS
from kafkatx.log.faults import SyncFailed
from kafkatx.log.files import Files
from kafkatx.log.partition.appender import FindRetention
from kafkatx.log.partition.compacted import CompactedLog
from kafkatx.log.partition.group_commit import GroupCommit
from kafkatx.log.recovery.loader import LoadedLog
from kafkatx.log.segment.segment import LogSegment
from kafkatx.types import SharedFile, TopicPartition

P = ParamSpec("P")
R = TypeVar("R")
Log = TypeVar("Log", bound="SyncedLog")

OnFailure = Callable[[OSError, str], None]
"""Called in the reactor thread with what failed, and during what ("writing to t-0")."""

_NOT_THE_SYNC = (errno.EMFILE, errno.ENFILE, errno.ENOMEM)
"""Nothing was synced because no file could be opened: that may be tried again."""


def ignore(error: OSError, doing: str) -> None:
    """For logs that nobody watches."""


def watched(
    doing: str,
) -> Callable[[Callable[Concatenate[Log, P], R]], Callable[Concatenate[Log, P], R]]:
    """Have a method's OSErrors told to whoever watches the log, before they are raised."""

    def decorate(method: Callable[Concatenate[Log, P], R]) -> Callable[Concatenate[Log, P], R]:
        @functools.wraps(method)
        def watching(self: Log, *args: P.args, **kwargs: P.kwargs) -> R:
            try:
                return method(self, *args, **kwargs)
            except OSError as error:
                self.report(error, doing)
                raise

        return watching  # type: ignore[return-value]  # mypy tells a method's self by its name

    return decorate


class SyncedLog(CompactedLog):
    """A log whose bytes can be forced to the disk. ``flushed_offset`` follows ``log_end_offset``."""

    log = Logger()

    def __init__(
        self,
        topic_partition: TopicPartition,
        config: LogConfig,
        find_retention: FindRetention,
        directory: str,
        loaded: LoadedLog,
        files: Files,
        worker: Worker,
        clock: IReactorTime,
        on_failure: OnFailure = ignore,
    ) -> None:
        super().__init__(
            topic_partition,
            config,
            find_retention,
            loaded.producers,
            loaded.epochs,
            loaded.log_start_offset,
            loaded.log_end_offset,
        )
        self.directory = directory
        self.flushed_offset = loaded.flushed_offset
        self.segments = loaded.segments
        self.size_bytes = sum(segment.size for segment in self.segments)
        self._files = files
        self._worker = worker
        self._clock = clock
        self._on_failure = on_failure
        self._commit = GroupCommit(self._begin_sync)
        self._committing = (-1, 0)
        self._directory_unsynced = loaded.created or not loaded.clean
        self._place_unsynced = loaded.created
        self._epochs_unsynced = not loaded.clean and bool(loaded.epochs.entries)
        self._sync_failed = False
        self._gone = False
        self._cuts = 0
        self._held: list[Deferred[None]] | None = None
        self._reader = worker

    def report(self, error: OSError, doing: str) -> None:
        """Something that was done to the log's files failed: whoever watches it judges the disk by it."""
        if not self._gone:
            self._on_failure(error, f"{doing} {self.topic_partition}")

    def _failed(self, failure: Failure, doing: str) -> None:
        """For a Deferred: tell what went wrong in the worker. What is no OSError is our bug."""
        error = failure.value
        if not isinstance(error, OSError):
            self.log.failure("{doing} {name} failed", failure, doing=doing, name=self.topic_partition)
        elif not self._gone:
            self.log.warn(
                "{doing} {name} failed: {error}", doing=doing, name=self.topic_partition, error=error
            )
            self.report(error, doing)

    @property
    def cuts(self) -> int:
        """How often the log was cut at its end."""
        return self._cuts

    # --- flushing

    def flush(self) -> Deferred[int]:
        """As IPartitionLog says.

        Fails with OSError where a sync fails, and ever after.
        """
        if self._commit.is_running:
            return self._commit.join(covered=self._committing == (self.log_end_offset, self._cuts))
        synced = self.flushed_offset >= self.log_end_offset and not self._sync_failed
        if synced and not (self._directory_unsynced or self._epochs_unsynced or self._unsynced()):
            return succeed(self.flushed_offset)
        return self._commit.join()

    def hold_flushes(self) -> Deferred[None]:
        """Begin no sync until :meth:`release_flushes`; fires when the one that is under way has ended."""
        self._held = []
        if not self._commit.is_running:
            return succeed(None)
        return self._commit.join(covered=True).addBoth(lambda _: None)

    def release_flushes(self) -> None:
        """Begin the sync that was asked for while flushes were held."""
        held, self._held = self._held, None
        for waiting in held or ():
            waiting.callback(None)

    def _begin_sync(self) -> Deferred[int]:
        """Start to sync all that is written; fires with the offset up to which all is."""
        if self._held is not None:
            waiting: Deferred[None] = Deferred()
            self._held.append(waiting)
            return waiting.addCallback(lambda _: self._begin_sync())
        target, cuts, unsynced = self.log_end_offset, self._cuts, self._unsynced()
        self._committing = (target, cuts)
        try:
            syncs = self._to_sync(unsynced)
        except OSError as error:
            _mark(unsynced)
            self.report(error, "flushing")
            raise
        return self._worker(partial(self._sync, syncs)).addCallbacks(
            self._flushed,
            self._not_flushed,
            callbackArgs=(target, cuts),
            errbackArgs=(unsynced,),
        )

    def _sync(self, syncs: Sequence[Callable[[], None]]) -> None:
        """In the worker: call all of *syncs*.

        :raises SyncFailed: one failed, now or earlier.
        :raises OSError: a file could not be opened.
        """
        if self._sync_failed:
            raise SyncFailed(errno.EIO, "an earlier sync failed", self.directory)
        try:
            run_all(syncs)
        except OSError as error:
            if error.errno in _NOT_THE_SYNC:
                raise
            self._sync_failed = True
            raise SyncFailed(error.errno, error.strerror, self.directory) from error

    def _unsynced(self) -> list[LogSegment]:
        """The segments with bytes that nobody has synced."""
        return [s for s in self.segments if s.unsynced or s.index.unsynced or s.time_index.unsynced]

    def _to_sync(self, segments: list[LogSegment]) -> list[Callable[[], None]]:
        """What must be called, in a worker, to bring these segments and all else to the disk."""
        syncs: list[Callable[[], None]] = []
        for segment in segments:
            syncs += [partial(self._sync_file, segment, file) for file in segment.to_sync()]
            if segment is not self.segments[-1]:
                segment.release()
        if self._epochs_unsynced:
            path = os.path.join(self.directory, LEADER_EPOCHS)
            syncs.append(partial(self._files.sync_any, path))
        if self._directory_unsynced:
            syncs.append(partial(self._files.sync_dir, self.directory))
        if self._place_unsynced:
            syncs.append(partial(self._files.sync_dir, os.path.dirname(self.directory)))
        self._epochs_unsynced = self._directory_unsynced = self._place_unsynced = False
        return syncs

    def _sync_file(self, segment: LogSegment, file: SharedFile | str) -> None:
        """In the worker: sync one of a segment's files, which may have to be opened."""
        if isinstance(file, str):
            try:
                file = self._files.open(file)
            except FileNotFoundError:
                if segment in self.segments:
                    raise
                return  # retention took it meanwhile
        self._files.sync(file)

    def _flushed(self, _: object, target: int, cuts: int) -> int:
        # After a cut the offsets below the target may be others than those that were synced.
        if cuts == self._cuts and target > self.flushed_offset:
            self.flushed_offset = target
            if self.on_flushed is not None:
                self.on_flushed()
        return self.flushed_offset

    def _not_flushed(self, failure: Failure, segments: list[LogSegment]) -> Failure:
        """Nothing counts as synced that the failed sync should have."""
        _mark(segments)
        self._epochs_unsynced = self._directory_unsynced = self._place_unsynced = True
        if isinstance(failure.value, OSError):
            self.report(failure.value, "flushing")
        return failure


def _mark(segments: list[LogSegment]) -> None:
    for segment in segments:
        segment.unsynced = segment.index.unsynced = segment.time_index.unsynced = True


def run_all(calls: Sequence[Callable[[], None]]) -> None:
    """Call one after the other."""
    for call in calls:
        call()
