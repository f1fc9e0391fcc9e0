"""Loading of a log: finds and checks its segments, reads or rebuilds its state (Kafka's ``LogLoader``).

After a clean shutdown nothing is scanned: the ends of segments and indexes must fit each other. After a crash
everything from the recovery point on is read. There each batch must follow the previous one:

*   whole and with the right checksum;
*   with the next offset (on a topic that is or was compacted: not below it), which no checksum protects.

The log is cut before the first batch that does not follow, and later segments are removed; what is cut off is
kept (:mod:`kafkatx.log.recovery.cut_files`). No batch is cut off for its leader epoch
(:class:`kafkatx.log.leader_epochs.EpochEvidence`).

Everything below the recovery point was synced, so a crash cannot have lost it. If something is missing there,
it was lost in another way, and cutting would make it worse. (A log is sure to reach its recovery point only
after a clean shutdown: one that was truncated on purpose may end below.)
:class:`~kafkatx.errors.PartitionUnavailable` is raised, no ``.log`` is changed, and an operator decides:

=====================================================  ==========================================
found                                                  action
=====================================================  ==========================================
a batch does not follow, after a crash                 cut there, keep the rest
offsets missing between segments, above it             cut there, keep the rest: a power cut does that
offsets missing between segments, below it             the partition is offline
a segment's index without its ``.log``                 the partition is offline
the log ends below it, after a clean shutdown          the partition is offline
no segment at all, but a recovery point or an index    the partition is offline
a name that no segment can have, no regular file       ignored with a warning
an empty file that is not where the log ends           ignored with a warning
=====================================================  ==========================================

Offsets may be missing on a topic that is or was compacted: the loss of a segment with its indexes in the
middle of such a log cannot be told from compaction.

All functions block: they run in a worker. Logs are handed out only afterwards.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Sequence

import attrs
from twisted.logger import Logger

from kafkatx.config.log_config import LogConfig
from kafkatx.errors import CorruptRecords, PartitionUnavailable
from kafkatx.log.faults import FULL
from kafkatx.log.files import Files
from kafkatx.log.leader_epochs import EpochEvidence, LeaderEpochCache
from kafkatx.log.producer_state import ProducerStateManager
from kafkatx.log.recovery import cut_files
from kafkatx.log.recovery.epochs import EpochRecovery
from kafkatx.log.recovery.found_segments import find_segments, pass_over, unavailable
from kafkatx.log.recovery.producer_snapshots import load_producers
from kafkatx.log.recovery.tail_check import Tail, sound_tail, tail_of
from kafkatx.log.recovery.transactions import AbortedRecovery
from kafkatx.log.segment import restart
from kafkatx.log.segment.files import INDEX, LOG, TIME_INDEX
from kafkatx.log.segment.index import IndexDamaged
from kafkatx.log.segment.scan import ALWAYS_SPARSE, checksum_right, follows, walk_whole
from kafkatx.log.segment.search import MAX_RELATIVE_OFFSET, Followed
from kafkatx.log.segment.segment import LogSegment
from kafkatx.log.transactions.aborted import AbortedTransaction
from kafkatx.log.transactions.ended import EndedTransaction


@attrs.define
class LoadedLog:
    """The state of a log that was loaded."""

    segments: list[LogSegment]
    epochs: LeaderEpochCache
    producers: ProducerStateManager
    log_start_offset: int
    log_end_offset: int
    flushed_offset: int
    first_dirty_offset: int = 0
    aborted: Sequence[AbortedTransaction] = ()
    ended: Sequence[EndedTransaction] = ()
    """The last ended transactions, as far as the batches were replayed."""
    created: bool = False
    """The directory is new: neither its files nor its own name were synced."""
    clean: bool = True
    """The previous shutdown was clean; otherwise names and epochs may not be on the disk."""


class LogLoader:
    """Loads the log of one directory.

    :ivar tails: the ends of segments that were not scanned, by base offset, as far as they are known.
    """

    log = Logger()

    def __init__(
        self,
        files: Files,
        directory: str,
        config: LogConfig,
        now_ms: int,
        clean: bool,
        recovery_point: int,
        first_dirty_offset: int,
        checked: Callable[[int], None],
    ) -> None:
        self.files = files
        self.directory = directory
        self.config = config
        self.now_ms = now_ms
        self.clean = clean
        self.recovery_point = recovery_point
        self.sparse_below = ALWAYS_SPARSE if config.compacted else first_dirty_offset
        self.checked = checked
        self.evidence = EpochEvidence()
        self.scanned_from: int | None = None
        self.segments: list[LogSegment] = []
        self.tails: dict[int, Tail] = {}

    def find_segments(self) -> None:
        """Find the segments.

        :raises PartitionUnavailable: one is missing.
        """
        self.segments = find_segments(self.files, self.directory, self.sparse_below, self.recovery_point)

    # --- after a clean shutdown

    def check(self, segment: LogSegment) -> None:
        """Check that a segment's indexes fit it; rebuild them otherwise."""
        tail: Tail | None = None
        with contextlib.suppress(IndexDamaged, CorruptRecords):
            tail = sound_tail(segment, self.config)
        if tail is None:
            self.log.warn("{path}: indexes are damaged and are rebuilt", path=segment.path(LOG))
            segment.reindex(self.config.index_interval_bytes)
            try:
                tail = tail_of(segment)
            except (IndexDamaged, CorruptRecords) as error:
                self.log.warn("{path}: {error}", path=segment.path(LOG), error=error)
                return
        self.tails[segment.base_offset] = tail

    def check_all(self) -> int | None:
        """Check every segment and that each follows the one before.

        :return: the log end offset; None if a scan must find it.
        :raises PartitionUnavailable: offsets are missing.
        """
        last = self.segments[-1]
        if not last.size and 0 < self.recovery_point < last.base_offset and len(self.segments) > 1:
            pass_over(last.path(LOG), f"it is empty, but the log ended at {self.recovery_point}")
            self.segments.pop()
        for segment in self.segments:
            self.check(segment)
        for before, after in zip(self.segments, self.segments[1:], strict=False):
            self._check_follows(before, after)
        tail = self.tails.get(self.segments[-1].base_offset)
        if tail is None or 0 < self.recovery_point < tail.next_offset:
            self.log.warn("{directory}: damaged in spite of a clean shutdown", directory=self.directory)
            return None
        return tail.next_offset

    def _check_follows(self, before: LogSegment, after: LogSegment) -> None:
        tail = self.tails.get(before.base_offset)
        if tail is None or (not after.size and after.base_offset == self.recovery_point):
            return  # an empty segment at the end of the log
        if not self._continues(after.base_offset, tail.next_offset):
            raise self._gap(after, tail.next_offset)

    def _continues(self, base_offset: int, expected: int) -> bool:
        return base_offset == expected or (base_offset > expected and expected < self.sparse_below)

    def _gap(self, segment: LogSegment, expected: int) -> PartitionUnavailable:
        name = os.path.basename(segment.path(LOG))
        return unavailable(
            self.directory,
            f"{name} begins where offset {expected} is expected: a segment is missing, or is not of this log",
        )

    # --- after a crash

    def recover(self) -> int:
        """Scan from the recovery point on, cut the log at the first invalid batch; return its end.

        :raises PartitionUnavailable: synced data is missing, or there is no room for what is cut off.
        """
        point = self.recovery_point
        first = max((i for i, s in enumerate(self.segments) if s.base_offset <= point), default=0)
        if first and not self.segments[first].size:
            first -= 1  # a cut of the log at this point may not have reached the disk
        for segment in self.segments[:first]:
            self.check(segment)
        for before, after in zip(self.segments[:first], self.segments[1:], strict=False):
            self._check_follows(before, after)
        expected: int | None = None
        for number in range(first, len(self.segments)):
            segment = self.segments[number]
            if expected is not None and not self._continues(segment.base_offset, expected):
                if expected < point:
                    raise self._gap(segment, expected)
                self._cut(number, expected)
                break
            expected, position = self._recover_segment(segment, max(point, segment.base_offset))
            if position is not None:
                self.check_end(expected)
                self._cut(number + 1, expected)
                self._cut_off(segment, position, expected)
                break
        for segment in self.segments[first:-1]:
            segment.finish()  # a closed segment's newest timestamp is that of its time index
        return self.segments[-1].base_offset if expected is None else expected

    def check_end(self, end_offset: int) -> None:
        """Check that the log reaches its recovery point after a clean shutdown.

        :raises PartitionUnavailable: it ends below.
        """
        if self.clean and end_offset < self.recovery_point:
            raise unavailable(
                self.directory,
                f"the log ends at offset {end_offset}, and it was on the disk up to {self.recovery_point}",
            )

    def _cut(self, number: int, end_offset: int) -> None:
        """Rename the segments from *number* on, the last one first."""
        for segment in reversed(self.segments[number:]):
            path = segment.path(LOG)
            if segment.size:
                aside = cut_files.free_name(self.files, path, 0)
                for suffix in (INDEX, TIME_INDEX):
                    self.files.unlink(segment.path(suffix))
                cut_files.keep_whole(self.files, path, aside)
                self.log.warn(
                    "{path}: the log ends at offset {end}; all {size} bytes are kept as {kept}",
                    path=path,
                    end=end_offset,
                    size=segment.size,
                    kept=aside,
                )
            segment.remove()
        del self.segments[number:]

    def _cut_off(self, segment: LogSegment, position: int, end_offset: int) -> None:
        """Cut a segment's file at *position*.

        :raises PartitionUnavailable: the disk has no room for what is cut; nothing was cut.
        """
        path, size = segment.path(LOG), self.files.size(segment.path(LOG))
        where = "nothing but zeros"
        if not cut_files.is_zero(self.files, path, position):
            where = cut_files.free_name(self.files, path, position)
            try:
                cut_files.keep_rest(self.files, path, position, where)
            except OSError as error:
                if error.errno not in FULL:
                    raise
                raise PartitionUnavailable(
                    f"{path}: the {size - position} bytes from {position} on are damaged, and there is no"
                    f" room to keep them as {where}: {error.strerror}; make room and start the broker again"
                ) from error
            where = f"kept as {where}"
        self.log.warn(
            "{path}: cut from {size} to {position} bytes, the log ends at {end}; the rest is {where}",
            path=path,
            size=size,
            position=position,
            end=end_offset,
            where=where,
        )
        self.files.truncate(segment.file, position)

    def _recover_segment(self, segment: LogSegment, start_offset: int) -> tuple[int, int | None]:
        """Scan one segment.

        :return: the offset after its last valid batch; and the position where it ends, None if the file
            ends there.
        """
        file_size = segment.size
        position, expected = self._scan_start(segment, start_offset)
        try:
            segment.rewind(position, expected)
        except CorruptRecords:
            position, expected = 0, segment.base_offset
            segment.rewind(position, expected)
        if self.scanned_from is None:
            self.scanned_from = expected
        start, far = position, segment.base_offset + MAX_RELATIVE_OFFSET
        for batch, _ in walk_whole(self.files, segment.file, position, file_size):
            if not follows(batch, expected, self.sparse_below) or batch.last_offset > far:
                break
            self.checked(batch.size)
            segment.note(batch, self.config.index_interval_bytes)
            self.evidence.note(batch.leader_epoch, batch.base_offset)
            position = batch.position + batch.size
            segment.size = position
            expected = batch.last_offset + 1
        segment.unsynced = True
        segment.followed = Followed(start, position, expected)
        return expected, position if position < file_size else None

    def _scan_start(self, segment: LogSegment, offset: int) -> tuple[int, int]:
        """Return the position and offset to scan from: the start of the segment if *offset* is not found."""
        if offset > segment.base_offset:
            try:
                segment.make_ready()
                previous = segment.find(offset - 1)
                if (
                    previous is not None
                    and previous.last_offset == offset - 1
                    and checksum_right(previous, segment.read_batch(previous))
                ):
                    return previous.position + previous.size, offset
            except CorruptRecords:
                pass
        return 0, segment.base_offset


def load(
    files: Files,
    directory: str,
    config: LogConfig,
    now_ms: int,
    clean: bool,
    log_start_offset: int = 0,
    recovery_point: int = 0,
    first_dirty_offset: int = 0,
    checked: Callable[[int], None] = lambda size: None,
) -> LoadedLog:
    """Load the log in *directory*; an empty one gets its first segment.

    Swaps and restarts that a crash has interrupted are completed.

    :param clean: the previous shutdown of the broker was clean.
    :param checked: called with the size of each batch that had to be read.
    :param first_dirty_offset: the log was compacted up to here (exclusive).
    :raises OSError: files cannot be read or written.
    :raises PartitionUnavailable: files that were synced are missing or damaged; nothing was cut.
    """
    restarted_at = restart.recover(files, directory, files.names(directory))
    if restarted_at is not None:
        log_start_offset, recovery_point = restarted_at, 0
    recovery = LogLoader(files, directory, config, now_ms, clean, recovery_point, first_dirty_offset, checked)
    recovery.find_segments()
    created = not recovery.segments
    if created:
        segment = LogSegment.create(files, directory, log_start_offset, now_ms)
        segment.sparse_below = recovery.sparse_below
        recovery.segments.append(segment)
        if restarted_at is not None:
            restart.end(files, directory, restarted_at)
    end_offset = recovery.check_all() if clean else None
    if end_offset is None:
        clean = False
        end_offset = recovery.recover()
    if not created:
        recovery.check_end(end_offset)
    segments = recovery.segments
    segments[-1].make_ready()
    # The log cannot start before its first segment, nor beyond its end.
    start_offset = min(max(log_start_offset, segments[0].base_offset), end_offset)
    epochs = EpochRecovery(files, directory, segments, recovery.evidence, recovery.scanned_from).epochs(
        [tail.last for tail in recovery.tails.values() if tail.last is not None], start_offset, end_offset
    )
    _set_age(segments[-1], now_ms)
    loaded = load_producers(files, directory, segments, end_offset, now_ms)
    aborted = AbortedRecovery(
        files, directory, segments, end_offset, recovery.scanned_from, loaded, now_ms
    ).aborted()
    flushed_offset = end_offset if clean else min(recovery_point, end_offset)
    for segment in segments:
        segment.written_from = segment.size
        segment.release()
    for segment in segments[:-1]:
        segment.unload()
    return LoadedLog(
        segments,
        epochs,
        loaded.producers,
        start_offset,
        end_offset,
        flushed_offset,
        min(first_dirty_offset, end_offset),
        aborted,
        loaded.ended,
        created,
        clean,
    )


def _set_age(segment: LogSegment, now_ms: int) -> None:
    """Set a segment's age by the timestamp of its first batch, if that is plausible."""
    try:
        first = next(segment.walk(), None)
    except CorruptRecords:
        return
    if first is not None and 0 <= first.max_timestamp <= now_ms:
        segment.created_ms = first.max_timestamp
