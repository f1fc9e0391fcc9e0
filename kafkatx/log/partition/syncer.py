"""Syncs of a log to the disk, in the worker of its log dir.

A sync fails once and for all: the kernel may have dropped the pages, and a second sync would succeed without
them. So no flush that waits for it ever succeeds, and the store takes the whole log dir offline.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Callable, Sequence
from functools import partial
from time import monotonic

from twisted.internet.defer import Deferred, succeed
from twisted.python.failure import Failure

from kafkatx.counts import WriteCounts
from kafkatx.log.faults import SyncFailed
from kafkatx.log.group_commit import GroupCommit
from kafkatx.log.partition.epoch_checkpoint import EpochCheckpoint
from kafkatx.log.partition.local_log import LocalLog
from kafkatx.log.partition.location import LogLocation
from kafkatx.log.partition.transaction_files import TransactionFiles
from kafkatx.log.segment.segment import LogSegment
from kafkatx.types import SharedFile

_NOT_THE_SYNC = (errno.EMFILE, errno.ENFILE, errno.ENOMEM)
"""Nothing was synced because no file could be opened: that may be tried again."""


class Syncer:
    """Brings a log's segments, epochs, transactions and names to the disk; one sync at a time.

    :ivar flushed_offset: all below it is on the disk: the log's recovery point.
    :param log_end_offset: returns the offset after the last written record.
    :param on_flushed: called when a sync has advanced ``flushed_offset``.
    :param counts: counts the syncs.
    """

    __slots__ = (
        "_commit",
        "_committing",
        "_counts",
        "_epochs",
        "_failed",
        "_held",
        "_local",
        "_location",
        "_log_end_offset",
        "_on_flushed",
        "_transactions",
        "flushed_offset",
    )

    def __init__(
        self,
        location: LogLocation,
        local: LocalLog,
        epochs: EpochCheckpoint,
        transactions: TransactionFiles,
        flushed_offset: int,
        log_end_offset: Callable[[], int],
        on_flushed: Callable[[], None],
        counts: WriteCounts,
    ) -> None:
        self._location = location
        self._local = local
        self._epochs = epochs
        self._transactions = transactions
        self.flushed_offset = flushed_offset
        self._log_end_offset = log_end_offset
        self._on_flushed = on_flushed
        self._counts = counts
        self._commit = GroupCommit(self._begin_sync)
        self._committing = (-1, 0)
        self._failed = False
        self._held: list[Deferred[None]] | None = None

    def flush(self) -> Deferred[int]:
        """Sync all that is written; fires with the offset up to which (exclusive) all is on the disk.

        Callers during a sync share the next one (group commit). Fails with OSError if a sync fails, and ever
        after.
        """
        log_end_offset, local = self._log_end_offset(), self._local
        if self._commit.is_running:
            return self._commit.join(covered=self._committing == (log_end_offset, local.cuts))
        synced = self.flushed_offset >= log_end_offset and not self._failed
        if synced and not (local.directory_unsynced or self._epochs.unsynced or local.unsynced()):
            return succeed(self.flushed_offset)
        return self._commit.join()

    def truncate_to(self, offset: int) -> None:
        """Count nothing from *offset* on as synced: the log was truncated there."""
        self.flushed_offset = min(self.flushed_offset, offset)

    # --- held while a log is moved

    def hold(self) -> Deferred[None]:
        """Begin no sync until :meth:`release`; fires when the one that is under way has ended."""
        self._held = []
        if not self._commit.is_running:
            return succeed(None)
        return self._commit.join(covered=True).addBoth(lambda _: None)

    def release(self) -> None:
        """Begin the sync that was asked for while syncs were held."""
        held, self._held = self._held, None
        for waiting in held or ():
            waiting.callback(None)

    # --- one sync

    def _begin_sync(self) -> Deferred[int]:
        """Start to sync all that is written; fires with the offset up to which all is on the disk."""
        if self._held is not None:
            waiting: Deferred[None] = Deferred()
            self._held.append(waiting)
            return waiting.addCallback(lambda _: self._begin_sync())
        target, cuts, unsynced = self._log_end_offset(), self._local.cuts, self._local.unsynced()
        self._committing = (target, cuts)
        names: set[str] = set()
        try:
            calls = self._calls(unsynced, names)
        except OSError as error:
            self._local.mark_unsynced(unsynced)
            self._location.report(error, "flushing")
            raise
        calls += [partial(self._location.files.sync_dir, path) for path in sorted(names, reverse=True)]
        return self._location.worker(partial(self._sync, calls)).addCallbacks(
            self._flushed,
            self._not_flushed,
            callbackArgs=(target, cuts),
            errbackArgs=(unsynced,),
        )

    def _calls(self, segments: list[LogSegment], names: set[str]) -> list[Callable[[], None]]:
        """Return the calls that sync these segments and all other files; they count as synced from now on.

        :param names: gets the directories to sync after them.
        """
        location, local = self._location, self._local
        calls: list[Callable[[], None]] = []
        for segment in segments:
            calls += [partial(self._sync_file, segment, file) for file in segment.to_sync()]
            if segment is not local.segments[-1]:
                segment.release()
        calls += [
            partial(self._transactions.sync, base_offset) for base_offset in self._transactions.to_sync()
        ]
        if self._epochs.unsynced:
            calls.append(partial(location.files.sync_any, self._epochs.path))
        if local.directory_unsynced or self._epochs.unsynced:
            names.add(location.directory)
        if local.parent_unsynced:
            names.add(os.path.dirname(location.directory))
        self._epochs.unsynced = local.directory_unsynced = local.parent_unsynced = False
        return calls

    def _sync(self, calls: Sequence[Callable[[], None]]) -> None:
        """Make the calls that sync. Runs in the worker.

        :raises SyncFailed: one failed, now or earlier.
        :raises OSError: a file could not be opened.
        """
        if self._failed:
            raise SyncFailed(errno.EIO, "an earlier sync failed", self._location.directory)
        began_s = monotonic()
        try:
            for call in calls:
                call()
        except OSError as error:
            if error.errno in _NOT_THE_SYNC:
                raise
            self._failed = True
            raise SyncFailed(error.errno, error.strerror, self._location.directory) from error
        finally:
            self._counts.syncs += 1
            self._counts.sync_s += monotonic() - began_s

    def _sync_file(self, segment: LogSegment, file: SharedFile | str) -> None:
        """Sync one of a segment's files, which may have to be opened. Runs in the worker."""
        files = self._location.files
        if isinstance(file, str):
            try:
                file = files.open(file)
            except FileNotFoundError:
                if segment in self._local.segments:
                    raise
                return  # retention has taken it since
        files.sync(file)

    def _flushed(self, _: object, target: int, cuts: int) -> int:
        # After a truncation the offsets below the target may be others than those that were synced.
        if cuts == self._local.cuts and target > self.flushed_offset:
            self.flushed_offset = target
            self._on_flushed()
        return self.flushed_offset

    def _not_flushed(self, failure: Failure, segments: list[LogSegment]) -> Failure:
        """Count nothing as synced that the failed sync should have synced."""
        self._local.mark_unsynced(segments)
        self._epochs.unsynced = True
        self._transactions.mark_unsynced()
        if isinstance(failure.value, OSError):
            self._location.report(failure.value, "flushing")
        return failure

    # --- closing

    def finisher(self, names: set[str]) -> Callable[[], None]:
        """Return what syncs the files of a log that is closed; call it in the worker.

        It raises OSError if that failed.

        :param names: gets the directories to sync after that.
        """
        log_end_offset = self._log_end_offset()
        sync = partial(self._sync, self._calls(self._local.unsynced(), names))

        def finish() -> None:
            sync()
            self.flushed_offset = log_end_offset

        return finish
