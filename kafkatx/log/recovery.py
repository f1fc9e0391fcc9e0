"""Opening a log: its segments are found, checked as far as needed, and its state read or rebuilt.

After a clean shutdown nothing is scanned: the sizes and last entries of the indexes must be right. After a
crash everything from the recovery point on is read. There each batch must follow the one before:

*   whole and with the right checksum;
*   with the next offset (on a topic that is or was compacted: not below it), which no checksum protects;
*   with the leader epoch that ``leader-epoch-checkpoint`` gives for the offset; that file is written
    before the first batch of a new epoch is.

The log is cut before the first batch that does not, and later segments go. Below the recovery point
everything was synced, the indexes too.

All functions block: they run in a worker. Logs are handed out only afterwards.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Iterator

import attrs
from twisted.logger import Logger

from kafkatx.config.log_config import LogConfig
from kafkatx.errors import CorruptRecords
from kafkatx.log.checkpoint import LEADER_EPOCHS, CheckpointDamaged, decode_epochs, encode_epochs
from kafkatx.log.cleaner import swap
from kafkatx.log.epochs import LeaderEpochs
from kafkatx.log.files import Files
from kafkatx.log.index import IndexDamaged
from kafkatx.log.producers import Producers, ProducerState, SnapshotDamaged, decode_snapshot
from kafkatx.log.scan import Shallow, walk_whole
from kafkatx.log.segment import Segment
from kafkatx.log.segment_files import DELETED, LOG, SNAPSHOT, file_name
from kafkatx.types import NO_PRODUCER_ID, NO_TIMESTAMP

_LEFTOVERS = (DELETED, ".tmp")
_NAME = re.compile(r"(\d{20})(\.log|\.snapshot)")
_EVERY_HEADER_BYTES = 16 << 20
"""How much of a segment is walked to see whether its time index is complete; beyond that, samples."""
_SAMPLES = 256


@attrs.define
class Loaded:
    """A log's state as it was found."""

    segments: list[Segment]
    epochs: LeaderEpochs
    producers: Producers
    log_start_offset: int
    log_end_offset: int
    flushed_offset: int
    first_dirty_offset: int = 0
    created: bool = False
    """Its directory is new: neither its files nor its own name have been brought to the disk."""
    clean: bool = True
    """Whoever had it open before brought it to the disk; else names and epochs may be in memory only."""


def _nobody_counts(size: int) -> None:
    """Where a log is opened by itself."""


class _Recovery:
    """The log of one directory while it is being opened."""

    log = Logger()

    def __init__(
        self,
        files: Files,
        directory: str,
        config: LogConfig,
        now_ms: int,
        first_dirty_offset: int,
        checked: Callable[[int], None],
    ) -> None:
        self.files = files
        self.directory = directory
        self.config = config
        self.now_ms = now_ms
        self.first_dirty_offset = first_dirty_offset
        self.checked = checked
        self.epochs, self.epochs_known = read_epochs(files, directory)
        self.segments: list[Segment] = []

    def find_segments(self) -> None:
        names = self.files.names(self.directory)
        if swap.recover(self.files, self.directory, names):
            names = self.files.names(self.directory)
        for name in names:
            if name.endswith(_LEFTOVERS):
                self.files.unlink(os.path.join(self.directory, name))
        for base_offset in _offsets(names, LOG):
            path = os.path.join(self.directory, file_name(base_offset, LOG))
            size = self.files.size(path)
            created_ms = self.files.mtime_ms(path)
            self.segments.append(Segment(self.files, self.directory, base_offset, size, created_ms))

    def check(self, segment: Segment) -> None:
        """See that a segment's indexes can be its own; build them anew if not."""
        try:
            sound = segment.size == 0 or indexes_sound(segment, self.config)
        except (IndexDamaged, CorruptRecords):
            sound = False
        if not sound:
            self.log.warn("{path}: indexes are damaged and built anew", path=segment.path(LOG))
            segment.reindex(self.config.index_interval_bytes)

    def recover(self, recovery_point: int) -> int:
        """Scan from the recovery point on, cut the log where it ceases to be valid; return its end."""
        first = max((i for i, s in enumerate(self.segments) if s.base_offset <= recovery_point), default=0)
        for segment in self.segments[:first]:
            self.check(segment)
        expected: int | None = None
        for number in range(first, len(self.segments)):
            segment = self.segments[number]
            if expected is not None and not self._follows(segment.base_offset, expected):
                self._cut(number, expected)
                break
            start = max(recovery_point, segment.base_offset)
            expected, whole = self._recover_segment(segment, start)
            if not whole:
                self._cut(number + 1, expected)
                break
        return self.segments[-1].base_offset if expected is None else expected

    def _follows(self, offset: int, expected: int) -> bool:
        if self.config.compacted or expected < self.first_dirty_offset:
            return offset >= expected
        return offset == expected

    def _cut(self, number: int, end_offset: int) -> None:
        for segment in self.segments[number:]:
            self.log.warn("{path}: removed, the log ends at {end}", path=segment.path(LOG), end=end_offset)
            segment.remove()
        del self.segments[number:]

    def _recover_segment(self, segment: Segment, start_offset: int) -> tuple[int, bool]:
        """Scan one segment; return the offset after its last valid batch and whether that was its end."""
        file_size = segment.size
        position, expected = self._scan_start(segment, start_offset)
        try:
            segment.rewind(position, expected)
        except CorruptRecords:
            position, expected = 0, segment.base_offset
            segment.rewind(position, expected)
        for batch, _ in walk_whole(self.files, segment.file, position, file_size):
            if not self._valid(batch, expected):
                break
            self.checked(batch.size)
            segment.note(batch, self.config.index_interval_bytes)
            if not self.epochs_known:
                self.epochs.assign(batch.leader_epoch, batch.base_offset)
            position = batch.position + batch.size
            segment.size = position
            expected = batch.last_offset + 1
        if position < file_size:
            self.log.warn(
                "{path}: cut from {size} to {position} bytes, the log ends at {end}",
                path=segment.path(LOG),
                size=file_size,
                position=position,
                end=expected,
            )
            self.files.truncate(segment.file, position)
        segment.unsynced = True
        return expected, position == file_size

    def _scan_start(self, segment: Segment, offset: int) -> tuple[int, int]:
        """Position and offset to scan from: *offset*'s batch, or the start where that cannot be trusted."""
        if offset > segment.base_offset:
            try:
                segment.make_ready()
                previous = segment.find(offset - 1)
                if previous is not None and previous.last_offset == offset - 1:
                    return previous.position + previous.size, offset
            except CorruptRecords:
                pass
        return 0, segment.base_offset

    def _valid(self, batch: Shallow, expected: int) -> bool:
        if batch.magic < 2:
            wrapper = batch.attributes & 7
            return batch.last_offset >= expected if wrapper else self._follows(batch.last_offset, expected)
        if not self._follows(batch.base_offset, expected):
            return False
        if not self.epochs_known:
            return batch.leader_epoch >= self.epochs.latest
        if self.epochs.entries and batch.base_offset < self.epochs.entries[0][1]:
            # Below the log's start the epochs were forgotten.
            return batch.leader_epoch <= self.epochs.entries[0][0]
        return batch.leader_epoch == self.epochs.at(batch.base_offset)


def load(
    files: Files,
    directory: str,
    config: LogConfig,
    now_ms: int,
    clean: bool,
    log_start_offset: int = 0,
    recovery_point: int = 0,
    first_dirty_offset: int = 0,
    checked: Callable[[int], None] = _nobody_counts,
) -> Loaded:
    """Open the log in *directory*; an empty one gets its first segment.

    :param clean: the broker that had it open before shut down cleanly.
    :param checked: called with the size of each batch that had to be read.
    :param first_dirty_offset: what is below it was compacted; swaps of segments that a crash cut short are
        carried through.
    :raises OSError: files cannot be read or written.
    """
    recovery = _Recovery(files, directory, config, now_ms, first_dirty_offset, checked)
    recovery.find_segments()
    created = not recovery.segments
    if created:
        recovery.segments.append(Segment.create(files, directory, log_start_offset, now_ms))
        recovery.epochs.cut_end(log_start_offset)
    end_offset = -1
    if clean:
        for segment in recovery.segments:
            recovery.check(segment)
        try:
            end_offset = recovery.segments[-1].next_offset()
        except CorruptRecords:
            recovery.log.warn("{directory}: damaged in spite of a clean shutdown", directory=directory)
            recovery_point = recovery.segments[-1].base_offset
    if end_offset < 0:
        clean = False
        end_offset = recovery.recover(recovery_point)
    segments, epochs = recovery.segments, recovery.epochs
    # Nothing was ever read below the log's start, nor can it begin beyond the end.
    start_offset = min(max(log_start_offset, segments[0].base_offset), end_offset)
    epochs.cut_end(end_offset)
    _set_age(segments[-1], now_ms)
    if epochs.version:
        files.replace(os.path.join(directory, LEADER_EPOCHS), encode_epochs(epochs.entries))
    producers = load_producers(files, directory, segments, end_offset, now_ms)
    flushed_offset = end_offset if clean else min(recovery_point, end_offset)
    for segment in segments:
        segment.release()
    for segment in segments[:-1]:
        segment.unload()
    return Loaded(
        segments,
        epochs,
        producers,
        start_offset,
        end_offset,
        flushed_offset,
        min(first_dirty_offset, end_offset),
        created,
        clean,
    )


def _set_age(segment: Segment, now_ms: int) -> None:
    """A segment is as old as its first batch, if that has a time that can be."""
    try:
        first = next(segment.walk(), None)
    except CorruptRecords:
        return
    if first is not None and 0 <= first.max_timestamp <= now_ms:
        segment.created_ms = first.max_timestamp


def read_epochs(files: Files, directory: str) -> tuple[LeaderEpochs, bool]:
    """The epochs that were written down, and whether there was a sound file at all."""
    data = files.read(os.path.join(directory, LEADER_EPOCHS))
    if data is None:
        return LeaderEpochs(), False
    try:
        return LeaderEpochs(decode_epochs(data)), True
    except CheckpointDamaged:
        return LeaderEpochs(), False


def indexes_sound(segment: Segment, config: LogConfig) -> bool:
    """Whether what the two index files end with fits the segment, which is not empty.

    :raises IndexDamaged: a file is missing or ends inside an entry.
    :raises CorruptRecords: an index points where no batch is.
    """
    entry = segment.index.last_entry()
    position, offset = 0, segment.base_offset
    if entry is not None:
        position, offset = entry[1], segment.base_offset + entry[0]
        if not 0 < position < segment.size:
            return False
        if next(segment.walk(position)).last_offset > offset:
            return False
    # A longer rest should have got an entry: the index is short, or older than the log.
    longest = config.index_interval_bytes + 2 * max(config.max_message_bytes, 1 << 20)
    if segment.size - position > longest:
        return False
    return _time_index_sound(segment, position, offset)


def _time_index_sound(segment: Segment, position: int, offset: int) -> bool:
    """Whether the last time entry is the segment's newest batch; *position* and *offset* as indexed last."""
    entry = segment.time_index.last_entry()
    timestamp, at = (NO_TIMESTAMP, segment.base_offset - 1)
    if entry is not None:
        timestamp, at = entry[0], segment.base_offset + entry[1]
    seen = entry is None
    rest: Iterable[Shallow] = segment.walk(position)
    if at < offset:
        rest = _early_newest(segment, at)
    for batch in rest:
        if batch.max_timestamp > timestamp:
            return False
        if batch.base_offset <= at <= batch.last_offset:
            seen = batch.max_timestamp == timestamp
    if not seen:
        return False
    segment.max_timestamp, segment.max_timestamp_offset = timestamp, max(at, segment.base_offset)
    return True


def _early_newest(segment: Segment, offset: int) -> Iterator[Shallow]:
    """The batch of the time index's last entry and those after it; in a long rest only samples of them."""
    holder = segment.find(max(offset, segment.base_offset))
    if holder is None:
        return
    yield holder
    if segment.size - holder.position <= _EVERY_HEADER_BYTES:
        yield from segment.walk(holder.position)
        return
    entries = segment.index.entries_in_file()
    for number in range(0, entries, entries // _SAMPLES + 1):
        _, position = segment.index.entry_in_file(number)
        if position > holder.position:
            yield next(segment.walk(position))


def load_producers(
    files: Files, directory: str, segments: list[Segment], end_offset: int, now_ms: int
) -> Producers:
    """The producers' state at *end_offset*: the latest snapshot, and the batches written after it.

    Snapshots beyond the end, those that are no snapshots, and older ones without a segment are removed.
    """
    states: dict[int, ProducerState] | None = None
    start_offset = segments[0].base_offset
    bases = {segment.base_offset for segment in segments}
    for offset in reversed(_offsets(files.names(directory), SNAPSHOT)):
        path = os.path.join(directory, file_name(offset, SNAPSHOT))
        if states is None and offset <= end_offset:
            try:
                states, start_offset = decode_snapshot(files.read(path) or b""), offset
            except SnapshotDamaged:
                files.unlink(path)
        elif states is None or offset not in bases:
            files.unlink(path)
    if start_offset < segments[0].base_offset:
        # Between the two, records were deleted before the next snapshot was there: of a producer that wrote
        # some of them the sequence would be wrong. All that is forgotten was deleted, too.
        states, start_offset = None, segments[0].base_offset
    producers = Producers(states)
    for number, segment in enumerate(segments):
        last = number == len(segments) - 1
        if start_offset < (end_offset if last else segments[number + 1].base_offset):
            try:
                _replay(segment, start_offset, producers, now_ms)
            except CorruptRecords as error:
                # A sequence gap is the worst that can come of it; a reader will be told of the damage.
                _Recovery.log.warn("{path}: {error}", path=segment.path(LOG), error=error)
    return producers


def _replay(segment: Segment, start_offset: int, producers: Producers, now_ms: int) -> None:
    first = segment.find(max(start_offset, segment.base_offset))
    if first is None:
        return
    for batch in segment.walk(first.position):
        if batch.producer_id != NO_PRODUCER_ID and batch.base_sequence >= 0:
            producers.record(
                batch.producer_id,
                batch.producer_epoch,
                batch.base_sequence,
                batch.base_offset,
                batch.last_offset,
                now_ms,
            )


def _offsets(names: list[str], suffix: str) -> list[int]:
    """The offsets in the names of the files with a suffix, rising."""
    matches = (_NAME.fullmatch(name) for name in names)
    return sorted(int(match[1]) for match in matches if match and match[2] == suffix)
