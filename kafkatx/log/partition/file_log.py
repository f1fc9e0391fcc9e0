"""The partition log in files: one directory, segments one after the other, the last one active.

``log_end_offset`` and all else that a reader sees moves after the bytes are in the file. The reactor thread
appends, reads headers that were just written, and renames; it never syncs. What syncs, scans or unlinks
runs in the worker of the log's directory.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from functools import partial
from typing import TypeAlias

from twisted.internet.interfaces import IDelayedCall, IReactorTime
from zope.interface import implementer

from kafkatx.config.log_config import LogConfig
from kafkatx.interfaces import IPartitionLog, Worker
from kafkatx.log.checkpoint import LEADER_EPOCHS, encode_epochs
from kafkatx.log.faults import FULL
from kafkatx.log.files import Files
from kafkatx.log.partition.appender import FindRetention
from kafkatx.log.partition.syncer import OnFailure, SyncedLog, ignore, run_all, watched
from kafkatx.log.producer_state import ProducerState, encode_snapshot
from kafkatx.log.recovery.loader import LoadedLog
from kafkatx.log.recovery.producer_snapshots import load_producers
from kafkatx.log.segment.files import SNAPSHOT, file_name
from kafkatx.log.segment.search import MAX_RELATIVE_OFFSET
from kafkatx.log.segment.segment import MAX_SEGMENT_BYTES, LogSegment
from kafkatx.log.store.relocation import rehome
from kafkatx.types import TopicPartition

MANY_PRODUCERS = 1000
"""Of more producers than this not every roll has its snapshot: copies and bytes of them add up."""

Snapshot: TypeAlias = tuple[str, dict[int, ProducerState]]


@implementer(IPartitionLog)
class FileLog(SyncedLog):
    """One partition's segments, as :func:`kafkatx.log.recovery.loader.load` found them. Made without I/O."""

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
            topic_partition, config, find_retention, directory, loaded, files, worker, clock, on_failure
        )
        self.first_dirty_offset = loaded.first_dirty_offset
        self._unlinking: set[IDelayedCall] = set()
        self._unsaved: dict[str, tuple[dict[int, ProducerState], int]] = {}

    def configure(self, config: LogConfig) -> None:
        """As IPartitionLog says."""
        super().configure(config)
        self._segment_bytes = min(config.segment_bytes, MAX_SEGMENT_BYTES)
        for segment in getattr(self, "segments", ()):  # not there yet when the log is made
            self._adopt(segment)

    # --- writing

    def write(self) -> None:
        """As IPartitionLog says."""
        staged = self._staged
        if not staged:
            return
        active = self.segments[-1]
        size = self._staged_bytes
        rolled: list[Snapshot] = []
        try:
            if (
                self._epoch_starts
                or active.size + size > self._segment_bytes
                or staged[-1][2] - active.base_offset > MAX_RELATIVE_OFFSET
                or self._due(active, self._staged_ms)
            ):
                rolled = self._write_with_rolls()
            else:
                active.write(self._buffers, staged, size, self.config.index_interval_bytes)
        except OSError as error:
            self._unstage()
            self.report(error, "writing to")
            raise
        self.size_bytes += size
        self.log_end_offset = self._next_offset
        self._clear_stage()
        if rolled:
            self._after_rolls(rolled)

    def _due(self, segment: LogSegment, now_ms: int) -> bool:
        config = self.config
        if not segment.size:
            return False
        return now_ms - segment.created_ms > config.segment_ms or segment.index_full(
            config.segment_index_bytes
        )

    def _write_with_rolls(self) -> list[Snapshot]:
        """Write what is staged to as many segments as it takes, or nothing; give the snapshots to make."""
        before = len(self.segments)
        mark = self.segments[-1].mark()
        rolled: list[int] = []
        epochs = list(self._epochs.entries)
        try:
            self._begin_epochs()
            at = 0
            while at < len(self._staged):
                count = self._fitting(at)
                if count:
                    part = self._staged[at : at + count]
                    size = sum(batch.size for batch in part)
                    buffers = self._buffers[2 * at : 2 * (at + count)]
                    self.segments[-1].write(buffers, part, size, self.config.index_interval_bytes)
                    at += count
                else:
                    rolled.append(self._staged[at].base_offset)
                    self._add_segment(rolled[-1], self._staged_ms)
        except OSError:
            for segment in self.segments[before:]:
                segment.remove()
            del self.segments[before:]
            self.segments[-1].restore(mark)
            self._epochs.entries = epochs
            raise
        if len(self._producers.states) > MANY_PRODUCERS:
            rolled = rolled[-1:]  # recovery begins at the last snapshot that there is
        return [self._snapshot(offset) for offset in rolled]

    def _fitting(self, at: int) -> int:
        """How many of the staged batches from *at* on the active segment takes."""
        active = self.segments[-1]
        if self._due(active, self._staged_ms):
            return 0
        size, count = active.size, 0
        for batch in self._staged[at:]:
            size += batch.size
            if size > (self._segment_bytes if size > batch.size else MAX_SEGMENT_BYTES):
                break
            if batch.last_offset - active.base_offset > MAX_RELATIVE_OFFSET:
                break
            count += 1
        return count

    def _begin_epochs(self) -> None:
        """Write new epochs down before their first batch: recovery believes no other."""
        if self._epoch_starts:
            for epoch, start_offset in self._epoch_starts:
                self._epochs.assign(epoch, start_offset)
            self._save_epochs()

    def _save_epochs(self) -> None:
        data = encode_epochs(self._epochs.entries)
        self._files.replace(os.path.join(self.directory, LEADER_EPOCHS), data, sync=False)
        self._epochs_unsynced = self._directory_unsynced = True

    # --- rolling

    @watched("rolling")
    def roll_if_due(self, now_ms: int) -> None:
        """As IPartitionLog says."""
        active = self.segments[-1]
        if active.size and now_ms - active.created_ms > self.config.segment_ms:
            self._roll(now_ms)

    def _roll(self, now_ms: int) -> None:
        """Start a new segment at the log's end."""
        self._add_segment(self.log_end_offset, now_ms)
        self._after_rolls([self._snapshot(self.log_end_offset)])

    def _add_segment(self, base_offset: int, now_ms: int) -> None:
        """Close the active segment and make the next."""
        self.segments[-1].finish()
        self.segments.append(self._adopt(LogSegment.create(self._files, self.directory, base_offset, now_ms)))
        self._directory_unsynced = True

    def _snapshot(self, offset: int) -> Snapshot:
        """The path of a producer snapshot, and what is to be encoded for it, in the worker."""
        return os.path.join(self.directory, file_name(offset, SNAPSHOT)), self._states_at(offset)

    def _after_rolls(self, snapshots: list[Snapshot]) -> None:
        """Keep recovery short: producers' state and the segments that were closed go to the disk soon."""
        for segment in self.segments[-2 - len(snapshots) : -2]:
            segment.unload()  # of the closed ones only the last has readers near the log's end
        if len(self._producers.states) > MANY_PRODUCERS:
            self._unsaved.clear()  # each is a copy of all states: only the last waits for the worker
        for path, states in snapshots:
            self._unsaved[path] = states, self._cuts
        self._worker(self._save_snapshots).addErrback(self._failed, "writing the producers of")
        self.flush().addErrback(self._failed, "flushing")

    def _save_snapshots(self) -> None:
        """In the worker: write the snapshots, but those from before the log was cut, perhaps below them."""
        while self._unsaved:
            try:
                path, (states, cuts) = self._unsaved.popitem()
            except KeyError:  # the reactor thread has cleared it
                return
            data = encode_snapshot(states)
            if cuts == self._cuts:
                self._files.replace(path, data)

    # --- cutting

    @watched("cutting")
    def truncate_to(self, offset: int) -> None:
        """As IPartitionLog says. An offset inside a batch takes the whole batch away."""
        self._unstage()
        if offset >= self.log_end_offset:
            return
        self._cuts += 1
        self._pass_name = None
        self.first_dirty_offset = min(self.first_dirty_offset, offset)
        self.log_start_offset = min(self.log_start_offset, offset)
        segments = self.segments
        while len(segments) > 1 and segments[-1].base_offset >= offset:
            segments.pop().remove()
        last = segments[-1]
        batch = last.find(offset) if last.base_offset < offset else None
        if batch is not None:
            last.truncate(batch.position, min(offset, batch.base_offset))
        if last.base_offset >= offset or last.next_offset() != offset:
            self._restart_at(offset)
        self.log_end_offset = self._next_offset = offset
        self.flushed_offset = min(self.flushed_offset, offset)
        self.size_bytes = sum(segment.size for segment in segments)
        self._epochs.cut_end(offset)
        self._leader_epoch = self._epochs.latest
        self._save_epochs()
        now_ms = int(self._clock.seconds() * 1000)
        self._producers = load_producers(self._files, self.directory, segments, offset, now_ms)

    def _restart_at(self, offset: int) -> None:
        """Let the active segment begin at *offset*, which no batch ends before."""
        now_ms = int(self._clock.seconds() * 1000)
        last = self.segments[-1]
        if last.base_offset >= offset or not last.size:
            last.remove()
            self.segments.pop()
        else:
            last.finish()
        self.segments.append(self._adopt(LogSegment.create(self._files, self.directory, offset, now_ms)))
        self._directory_unsynced = True

    @watched("deleting records of")
    def advance_log_start(self, offset: int) -> None:
        """As IPartitionLog says.

        :raises RequestError: OFFSET_OUT_OF_RANGE: beyond the log's end.
        """
        if offset > self.log_end_offset:
            self._check_range(offset)
        if offset <= self.log_start_offset:
            return
        self.log_start_offset = offset
        if offset == self.log_end_offset and self.segments[-1].size:
            self._roll(int(self._clock.seconds() * 1000))
        self._drop(self._number_of(offset))

    @watched("retention of")
    def retain(self, now_ms: int) -> int:
        """As IPartitionLog says. Idle producers are forgotten, too."""
        self._producers.expire(now_ms, self.config.producer_id_expiration_ms)
        if "delete" not in self.config.cleanup_policy:
            return 0
        segments = self.segments
        count = self._retention.expired(segments, self.config, now_ms)
        dropped = min(count, len(segments) - 1)
        self._retire(dropped)
        if count > dropped and segments[-1].size:
            self._roll(now_ms)  # last: it takes room, which there may be none of
            self._retire(1)
            dropped += 1
        return dropped

    def _retire(self, count: int) -> None:
        """Let the log start after its first *count* segments."""
        if count:
            self.log_start_offset = max(self.log_start_offset, self.segments[count].base_offset)
            self._drop(count)

    def _drop(self, count: int) -> None:
        """Put the first *count* segments aside; their files go later, in the worker."""
        dropped = self.segments[:count]
        del self.segments[:count]
        paths = [path for segment in dropped for path in segment.put_aside()]
        if paths:
            self.size_bytes -= sum(segment.size for segment in dropped)
            self._directory_unsynced = True
            self._unlink_later(paths)
        before = self._epochs.version
        self._epochs.cut_start(self.log_start_offset)
        if self._epochs.version != before:
            self._save_cut_epochs()

    def _save_cut_epochs(self) -> None:
        """Save the epochs, if there is room: this is to make some, and one too many there is harmless."""
        try:
            self._save_epochs()
        except OSError as error:
            if error.errno not in FULL:
                raise

    def _unlink_later(self, paths: list[str]) -> None:
        call = self._clock.callLater(self.config.file_delete_delay_ms / 1000, self._unlink, paths)
        self._unlinking = {waiting for waiting in self._unlinking if waiting.active()} | {call}

    def _unlink(self, paths: list[str]) -> None:
        unlinks = [partial(self._files.unlink, path) for path in paths]
        self._worker(partial(run_all, unlinks)).addErrback(self._failed, "unlinking segments of")

    # --- moving

    def go_on_in(self, directory: str, worker: Worker, on_failure: OnFailure) -> None:
        """Use another directory from now on, which has the same files to the last byte.

        Nothing of the active segment counts as synced there. A pass of the cleaner that is under way is
        worth nothing any more.
        """
        for call in self._unlinking:
            if call.active():
                call.cancel()
        self._unlinking.clear()
        self._pass_name = None
        self.directory, self._worker, self._on_failure = directory, worker, on_failure
        for segment in self.segments:
            rehome(segment, directory)
        active = self.segments[-1]
        active.unsynced = active.index.unsynced = active.time_index.unsynced = True
        self._directory_unsynced = self._place_unsynced = True
        self._epochs_unsynced = bool(self._epochs.entries)

    # --- closing

    def abandon(self) -> None:
        """The log is gone: nothing of it is to be written or unlinked any more, or told of."""
        self._gone = True
        self._stop()

    def _stop(self) -> None:
        self._unstage()
        self._pass_name = None
        for call in self._unlinking:
            if call.active():
                call.cancel()

    def close(self) -> Callable[[], None]:
        """End the use of the log; return what has to be called in the worker to bring it to the disk.

        It raises OSError where that failed: the shutdown is not a clean one then.
        """
        self._stop()
        self.segments[-1].finish()
        self.segments[-1].release()  # of ten thousand logs not all files can be open at once
        syncs = self._to_sync(self._unsynced())
        path, states = self._snapshot(self.log_end_offset)

        def finish() -> None:
            self._sync(syncs)
            if self.log_end_offset and not self._files.exists(path):
                self._files.replace(path, encode_snapshot(states), sync=bool(states))
            self.flushed_offset = self.log_end_offset

        return finish
