"""The partition log in files: one directory, segments one after the other, the last one active.

A :class:`FileLog` provides ``IPartitionLog`` and is made of these parts, each in a module of this package:

=====================  ==========================================================================
``Appender``           validates batches, assigns offsets, checks producer sequences; writes nothing
``LocalLog``           segments and their files: writes, rolls, cuts, drops, replaces
``LogReader``          finds batches by offset and time, warms the page cache
``EpochCheckpoint``    leader epochs and their file
``TransactionFiles``   the indexes of aborted transactions
``SnapshotWriter``     producer snapshots, so that recovery is short
``Syncer``             flushes; knows up to where all is on the disk
``LogCompaction``      swaps compacted segments in
``FileDeleter``        unlinks, after a delay, what was dropped
``LogLocation``        directory, worker and failure listener that all of them share
=====================  ==========================================================================

The log keeps the offsets and calls the parts in the right order: ``log_end_offset`` and all else that readers
see moves after the bytes are in the file. The reactor thread never waits for a sync.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress

from twisted.internet.defer import Deferred
from twisted.internet.interfaces import IReactorTime
from zope.interface import implementer

from kafkatx.config.log_config import LogConfig
from kafkatx.interfaces import IPartitionLog, Worker
from kafkatx.interfaces.storage import NO_LIMIT
from kafkatx.log.append.appender import Appender, FindRetention
from kafkatx.log.append.result import StagedChanges
from kafkatx.log.files import Files
from kafkatx.log.partition.compaction import LogCompaction
from kafkatx.log.partition.epoch_checkpoint import EpochCheckpoint
from kafkatx.log.partition.file_deleter import FileDeleter
from kafkatx.log.partition.local_log import LocalLog, number_of
from kafkatx.log.partition.location import LogLocation, OnFailure, ignore
from kafkatx.log.partition.readable_log import ReadableLog
from kafkatx.log.partition.reader import LogReader, out_of_range
from kafkatx.log.partition.snapshot_writer import Snapshot, SnapshotWriter
from kafkatx.log.partition.syncer import Syncer
from kafkatx.log.partition.transaction_files import TransactionFiles
from kafkatx.log.producer_state import ProducerStateManager
from kafkatx.log.recovery.loader import LoadedLog
from kafkatx.log.recovery.producer_snapshots import load_producers
from kafkatx.log.segment.descriptors import Descriptors
from kafkatx.log.segment.swap import Cleaned
from kafkatx.log.transactions.ended import EndedTransactions
from kafkatx.types import TopicPartition


@implementer(IPartitionLog)
class FileLog(ReadableLog):
    """One partition's log, as :func:`kafkatx.log.recovery.loader.load` found it. Made without I/O.

    :ivar append: see IPartitionLog; the appender's own method, so that a batch costs no further call.
    :ivar hold_flushes: begin no sync until ``release_flushes``; fires when the one under way has ended.
    """

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
        self.topic_partition = topic_partition
        self.config = config
        self.log_start_offset = loaded.log_start_offset
        self.log_end_offset = loaded.log_end_offset
        self.deletable_end = NO_LIMIT
        self.on_flushed: Callable[[], None] | None = None
        self._on_cut: Callable[[FileLog], object] = lambda log: None
        self._clock = clock
        self._find_retention = find_retention
        self._retention = find_retention(config.retention_policy)
        self._location = location = LogLocation(topic_partition, directory, files, worker, on_failure)
        self._local = local = LocalLog(location, loaded.segments, config, loaded.first_dirty_offset)
        local.directory_unsynced = loaded.created or not loaded.clean
        local.parent_unsynced = loaded.created
        self.segments = local.segments
        transactions = EndedTransactions(loaded.aborted, loaded.ended)
        self._appender = Appender(
            topic_partition, config, loaded.producers, transactions, loaded.epochs, loaded.log_end_offset
        )
        self.append = self._appender.append
        self.append_marker = self._appender.append_marker
        self.written = self._appender.counts
        self._transactions = TransactionFiles(location, local, transactions)
        epochs_unsynced = not loaded.clean and bool(loaded.epochs.entries)
        self._epochs = EpochCheckpoint(location, loaded.epochs, epochs_unsynced)
        self._reader = LogReader(topic_partition, location, local.segments, worker)
        self._syncer = Syncer(
            location,
            local,
            self._epochs,
            self._transactions,
            loaded.flushed_offset,
            lambda: self.log_end_offset,
            self._flushed,
            self.written,
        )
        self.hold_flushes, self.release_flushes = self._syncer.hold, self._syncer.release
        self._snapshots = SnapshotWriter(location, lambda: local.cuts)
        self._compaction = LogCompaction(location, local)
        self._deleter = FileDeleter(location, clock)

    def _flushed(self) -> None:
        if self.on_flushed is not None:
            self.on_flushed()

    def configure(self, config: LogConfig) -> None:
        """See IPartitionLog."""
        self.config = config
        self._retention = self._find_retention(config.retention_policy)
        self._appender.configure(config)
        self._local.configure(config)

    # --- writing

    def write(self) -> None:
        """See IPartitionLog."""
        appender = self._appender
        staged = appender.staged
        if not staged.batches:
            return
        try:
            rolled = self._write_changes(appender.changes) if appender.changes else self._local.write(staged)
        except OSError as error:
            appender.discard()
            self._location.report(error, "writing to")
            raise
        self.log_end_offset = appender.next_offset
        if rolled:
            self._write_rolled(rolled)
        else:
            appender.written()

    def discard(self) -> None:
        """See IPartitionLog."""
        self._appender.discard()

    def begin_epoch(self, leader_epoch: int) -> None:
        """See IPartitionLog."""
        if self._appender.staged.batches:
            raise RuntimeError("staged records must be written before a leader epoch begins")
        if leader_epoch <= self.latest_epoch:
            return
        with self._location.reporting("writing to"):
            self._epochs.assign([(leader_epoch, self.log_end_offset)])
        self._appender.discard()

    def append_as_follower(self, records: bytes | memoryview, leader_epoch: int) -> int:
        """See IPartitionLog."""
        return self._appender.append_as_follower(
            records, leader_epoch, self._now_ms(), self.log_start_offset == self.log_end_offset
        )

    def _write_changes(self, changes: StagedChanges) -> Sequence[int]:
        """Write staged batches that begin leader epochs, have gaps, or are not at the log's end."""
        staged, now_ms = self._appender.staged, self._now_ms()
        first = staged.batches[0].base_offset
        entries = self._epochs.assign(changes.epoch_starts, changes.forgets_epochs)
        try:
            if first < self.log_end_offset:
                self._delete_later(self._local.restart_at(first, now_ms))
            if self._local.allow_gaps(changes.gap_end):
                self._on_cut(self)
            rolled = self._local.write(staged)
        except OSError:
            self._epochs.restore(entries)
            if first < self.log_end_offset:
                with suppress(OSError):
                    self._delete_later(self._local.restart_at(self.log_end_offset, now_ms))
            raise
        if changes.ended:
            self._transactions.add(changes.ended, self._committed_end())
        return rolled

    def _write_rolled(self, offsets: Sequence[int]) -> None:
        """Finish a write that began new segments at *offsets*."""
        appender = self._appender
        wanted = self._snapshots.wanted(offsets, len(appender.producers.states))
        snapshots = [Snapshot(offset, appender.producers_at(offset)) for offset in wanted]
        appender.written()
        self._after_rolls(len(offsets), snapshots)

    def _after_rolls(self, count: int, snapshots: list[Snapshot]) -> None:
        """Keep recovery short: flush the closed segments, write the snapshots."""
        self._local.unload_closed(count)
        self._snapshots.write_later(snapshots)
        self._transactions.note_later()
        self.flush().addErrback(self._location.failed, "flushing")

    def roll_if_due(self, now_ms: int) -> None:
        """See IPartitionLog."""
        active = self.segments[-1]
        if active.size and now_ms - active.created_ms > self.config.segment_ms:
            with self._location.reporting("rolling"):
                self._roll(now_ms)

    def _roll(self, now_ms: int) -> None:
        """Start a new segment at the log's end."""
        self._local.roll(self.log_end_offset, now_ms)
        self._after_rolls(1, [Snapshot(self.log_end_offset, self._appender.written_producers())])

    # --- flushing

    def flush(self) -> Deferred[int]:
        """See IPartitionLog. Fails with OSError where a sync fails, and ever after."""
        return self._syncer.flush()

    # --- cutting

    def truncate_to(self, offset: int) -> None:
        """See IPartitionLog. An offset inside a batch takes the whole batch away."""
        self._appender.discard()
        with self._location.reporting("cutting"):
            if offset < self.log_end_offset:
                self._truncate_to(offset)
            elif self._epochs.cache.entries and self._epochs.cache.entries[-1][1] >= self.log_end_offset:
                self._epochs.cut_end(self.log_end_offset)
                self._appender.discard()

    def _truncate_to(self, offset: int) -> None:
        if offset <= self.segments[0].base_offset:
            self._restart_at(offset)
            return
        now_ms = self._now_ms()
        self._compaction.cancel()
        self.log_start_offset = min(self.log_start_offset, offset)
        self._local.truncate_to(offset, now_ms)
        self.log_end_offset = offset
        self._syncer.truncate_to(offset)
        self._epochs.cut_end(offset)
        loaded = load_producers(self._location.files, self.directory, self.segments, offset, now_ms)
        self._appender.restart_at(offset, loaded.producers)
        self._transactions.cut()
        self._on_cut(self)

    def restart_at(self, offset: int) -> None:
        """See IPartitionLog."""
        self._appender.discard()
        with self._location.reporting("emptying"):
            self._restart_at(offset)

    def _restart_at(self, offset: int) -> None:
        self._compaction.cancel()
        self._syncer.truncate_to(0)
        entries = list(self._epochs.cache.entries)
        try:
            self._epochs.cut_end(0)
            self._delete_later(self._local.restart_at(offset, self._now_ms()))
        except OSError:
            self._epochs.restore(entries)
            raise
        self.log_start_offset = self.log_end_offset = offset
        self._appender.transactions.clear()
        self._appender.restart_at(offset, ProducerStateManager())
        self._transactions.cut()
        self._on_cut(self)
        self.flush().addErrback(self._location.failed, "flushing")

    def advance_log_start(self, offset: int) -> None:
        """See IPartitionLog.

        :raises RequestError: OFFSET_OUT_OF_RANGE: beyond the log's end.
        """
        if offset > self.log_end_offset:
            raise out_of_range(self.topic_partition, offset, self.log_start_offset, self.log_end_offset)
        if offset <= self.log_start_offset:
            return
        with self._location.reporting("deleting records of"):
            self.log_start_offset = offset
            if offset == self.log_end_offset and self.segments[-1].size:
                self._roll(self._now_ms())
            self._drop(number_of(self.segments, offset))

    def retain(self, now_ms: int) -> int:
        """See IPartitionLog. Idle producers are forgotten, too."""
        self._appender.producers.expire(now_ms, self.config.producer_id_expiration_ms)
        if "delete" not in self.config.cleanup_policy:
            return 0
        segments = self.segments
        with self._location.reporting("retention of"):
            count = self._retention.expired(segments, self.config, now_ms)
            count = self._local.deletable(count, self.log_end_offset, self.deletable_end)
            dropped = min(count, len(segments) - 1)
            self._retire(dropped)
            if count > dropped and segments[-1].size:
                self._roll(now_ms)  # last: it takes room, which there may be none of
                self._retire(1)
                dropped += 1
        return dropped

    def _retire(self, count: int) -> None:
        """Move the log start behind the first *count* segments and drop those."""
        if count:
            self.log_start_offset = max(self.log_start_offset, self.segments[count].base_offset)
            self._drop(count)

    def _drop(self, count: int) -> None:
        """Drop the first *count* segments; their files go later."""
        self._delete_later(self._local.drop(count))
        self._transactions.dropped()
        self._epochs.cut_start(self.log_start_offset)

    def _delete_later(self, paths: list[str]) -> None:
        if paths:
            self._deleter.delete_later(paths, self.config.file_delete_delay_ms)

    # --- compaction

    def begin_pass(self, name: str) -> None:
        """Begin a compaction pass; another one that is under way is cancelled."""
        self._compaction.begin_pass(name)

    def swap_in(self, name: str, cleaned: Cleaned) -> bool:
        """Put a compacted segment in the place of those that it replaces; False if the pass was cancelled.

        :raises OSError: a file could not be renamed. Opening the log again completes or undoes the swap.
        """
        renamed = self._compaction.swap_in(name, cleaned)
        if renamed is None:
            return False
        self._transactions.replaced(cleaned)
        self._delete_later(renamed)
        return True

    def end_pass(self, name: str, end_offset: int | None) -> None:
        """End a compaction pass; the log is clean up to *end_offset* (exclusive), None if the pass failed."""
        self._compaction.end_pass(name, end_offset)

    # --- moving

    def attach(self, reader: Worker, descriptors: Descriptors, on_cut: Callable[[FileLog], object]) -> None:
        """Take what the store has for a log in one of its dirs.

        :param reader: the worker that reads what is not in memory.
        :param descriptors: bounds the number of open files.
        :param on_cut: called when checkpoints have too large offsets of this log: it was truncated, or has
            more gaps.
        """
        self._on_cut = on_cut
        self._reader.worker = reader
        self._local.limit_open_files(descriptors)

    def move_to(self, directory: str, worker: Worker, on_failure: OnFailure) -> None:
        """Use another directory from now on, which has the same files to the last byte.

        Nothing of the active segment counts as synced there. A compaction pass under way is cancelled.
        """
        self._deleter.cancel()
        self._compaction.cancel()
        self._location.move_to(directory, worker, on_failure)
        self._local.moved()
        self._transactions.moved()
        self._epochs.unsynced = bool(self._epochs.cache.entries)

    # --- closing

    def abandon(self) -> None:
        """Write and unlink nothing any more, and report no failure: the log was deleted or is offline."""
        self._location.abandon()
        self._stop()

    def _stop(self) -> None:
        self._appender.discard()
        self._compaction.cancel()
        self._deleter.cancel()

    def close(self, names: set[str]) -> Callable[[], None]:
        """End the use of the log; return what brings its files to the disk, to be called in the worker.

        That raises OSError if it failed: the shutdown is not a clean one then.

        :param names: gets the directories to sync after that; other logs may have the same.
        """
        self._stop()
        self._local.close()
        sync = self._syncer.finisher(names)
        write_snapshot = self._snapshots.finisher(
            Snapshot(self.log_end_offset, self._appender.written_producers()), names
        )
        note_transactions = self._transactions.finisher()

        def finish() -> None:
            sync()
            write_snapshot()
            note_transactions()

        return finish
