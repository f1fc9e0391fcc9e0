"""The segments of one log in its directory: written, rolled, cut, dropped and replaced.

The lower half of a :class:`~kafkatx.log.partition.file_log.FileLog`, as ``LocalLog`` is of Apache Kafka's
``UnifiedLog``. It changes ``.log`` files, indexes and their names in the reactor thread, and syncs nothing.
Offsets, producers, leader epochs and high watermarks are its owner's.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Collection, Sequence
from contextlib import suppress

from kafkatx.config.log_config import LogConfig
from kafkatx.errors import CorruptRecords
from kafkatx.log.partition.location import LogLocation
from kafkatx.log.segment import restart
from kafkatx.log.segment.batches import Parts, StagedBatches
from kafkatx.log.segment.descriptors import Descriptors
from kafkatx.log.segment.scan import ALWAYS_SPARSE
from kafkatx.log.segment.search import MAX_RELATIVE_OFFSET
from kafkatx.log.segment.segment import MAX_SEGMENT_BYTES, LogSegment


def number_of(segments: Sequence[LogSegment], offset: int) -> int:
    """Return the number of the segment that holds *offset*."""
    return max(bisect_right(segments, offset, key=_base_offset) - 1, 0)


def _base_offset(segment: LogSegment) -> int:
    return segment.base_offset


class LocalLog:
    """The segments of one log.

    :ivar segments: oldest first, never empty, the last one active. Always the same list: others read it.
    :ivar size_bytes: the size of all ``.log`` files.
    :ivar first_dirty_offset: compaction may have left gaps up to here (exclusive).
    :ivar cuts: how often the log was truncated at its end.
    :ivar directory_unsynced: True if names in the directory changed since they were synced.
    :ivar parent_unsynced: True if the directory's own name was not synced yet.
    """

    __slots__ = (
        "_config",
        "_descriptors",
        "_index_interval_bytes",
        "_location",
        "_segment_bytes",
        "cuts",
        "directory_unsynced",
        "first_dirty_offset",
        "parent_unsynced",
        "segments",
        "size_bytes",
    )

    def __init__(
        self,
        location: LogLocation,
        segments: list[LogSegment],
        config: LogConfig,
        first_dirty_offset: int,
    ) -> None:
        self._location = location
        self._descriptors: Descriptors | None = None
        self.segments = segments
        self.size_bytes = sum(segment.size for segment in segments)
        self.first_dirty_offset = first_dirty_offset
        self.cuts = 0
        self.directory_unsynced = False
        self.parent_unsynced = False
        self.configure(config)

    def configure(self, config: LogConfig) -> None:
        """Roll by *config* from now on."""
        self._config = config
        self._segment_bytes = min(config.segment_bytes, MAX_SEGMENT_BYTES)
        self._index_interval_bytes = config.index_interval_bytes
        for segment in self.segments:
            self._adopt(segment)

    def limit_open_files(self, descriptors: Descriptors) -> None:
        """Bound the number of files that segments keep open."""
        self._descriptors = descriptors
        for segment in self.segments:
            self._adopt(segment)

    def _adopt(self, segment: LogSegment) -> LogSegment:
        """Apply the log's settings to a segment that becomes one of its own."""
        segment.descriptors = self._descriptors
        segment.sparse_below = ALWAYS_SPARSE if self._config.compacted else self.first_dirty_offset
        return segment

    # --- writing

    def write(self, staged: StagedBatches) -> Sequence[int]:
        """Write the staged batches to as many segments as they take; return the base offsets of new ones.

        :raises OSError: nothing of them is in the log.
        """
        active = self.segments[-1]
        batches, size = staged.batches, staged.size_bytes
        rolled: Sequence[int] = ()
        if (
            active.size + size > self._segment_bytes
            or batches[-1][2] - active.base_offset > MAX_RELATIVE_OFFSET
            or self._is_due(active, staged.append_ms)
        ):
            rolled = self._write_and_roll(staged)
        else:
            active.write(staged.buffers, batches, size, self._index_interval_bytes)
        self.size_bytes += size
        return rolled

    def _is_due(self, active: LogSegment, now_ms: int) -> bool:
        config = self._config
        if not active.size:
            return False
        return now_ms - active.created_ms > config.segment_ms or active.index_full(config.segment_index_bytes)

    def _write_and_roll(self, staged: StagedBatches) -> list[int]:
        before = len(self.segments)
        mark = self.segments[-1].mark()
        rolled: list[int] = []
        parts = Parts(staged.buffers)
        try:
            at = 0
            while at < len(staged.batches):
                count = self._fitting(staged, at)
                if count:
                    part = staged.batches[at : at + count]
                    size = sum(batch.size for batch in part)
                    self.segments[-1].write(parts.take(size), part, size, self._index_interval_bytes)
                    at += count
                else:
                    rolled.append(staged.batches[at].base_offset)
                    self.roll(rolled[-1], staged.append_ms)
        except OSError:
            for segment in self.segments[before:]:
                segment.remove()
            del self.segments[before:]
            self.segments[-1].restore(mark)
            raise
        return rolled

    def _fitting(self, staged: StagedBatches, at: int) -> int:
        """Return how many of the staged batches from number *at* on fit into the active segment."""
        active = self.segments[-1]
        if self._is_due(active, staged.append_ms):
            return 0
        size, count = active.size, 0
        for batch in staged.batches[at:]:
            size += batch.size
            if size > (self._segment_bytes if size > batch.size else MAX_SEGMENT_BYTES):
                break
            if batch.last_offset - active.base_offset > MAX_RELATIVE_OFFSET:
                break
            count += 1
        return count

    def roll(self, base_offset: int, now_ms: int) -> None:
        """Close the active segment and make the next one, which begins at *base_offset*.

        :raises OSError: the next one cannot be made; none is left of it.
        """
        self.segments[-1].finish()
        self._add(base_offset, now_ms)

    def _add(self, base_offset: int, now_ms: int) -> None:
        made = LogSegment.create(self._location.files, self._location.directory, base_offset, now_ms)
        self.segments.append(self._adopt(made))
        self.directory_unsynced = True

    def unload_closed(self, count: int) -> None:
        """Free the indexes of *count* segments that were closed, but for the last of them.

        Consumers near the end of the log read the last one.
        """
        for segment in self.segments[-2 - count : -2]:
            segment.unload()

    def close(self) -> None:
        """Finish the active segment and close its files: not all logs can have theirs open at once.

        :raises OSError: its last index entry could not be written.
        """
        self.segments[-1].finish()
        self.segments[-1].release()

    # --- cutting

    def truncate_to(self, offset: int, now_ms: int) -> None:
        """Cut the segments so that *offset* is the next to be written, to a new file.

        A batch that holds it goes as a whole.

        :param offset: above the first segment's base offset; else :meth:`restart_at`.

        :raises OSError: a file could not be cut or removed.
        """
        self.cuts += 1
        self.first_dirty_offset = min(self.first_dirty_offset, offset)
        segments = self.segments
        while len(segments) > 1 and segments[-1].base_offset >= offset:
            segments.pop().remove()
        last = segments[-1]
        batch = last.find(offset) if last.base_offset < offset else None
        if batch is not None:
            last.truncate(batch.position, min(offset, batch.base_offset))
        self._begin_at(offset, now_ms)
        with suppress(CorruptRecords):
            if len(segments) > 1 and segments[-2].next_offset() < offset:
                self.allow_gaps(offset)  # the batch that held the offset, or compaction
        self.size_bytes = sum(segment.size for segment in segments)

    def _begin_at(self, offset: int, now_ms: int) -> None:
        """Start an active segment, in a new file: a reply may be reading what was cut off the old one."""
        last = self.segments[-1]
        if last.size:
            last.finish()
        elif last.base_offset == offset:
            last.remove()
        self._add(offset, now_ms)
        if not last.size:
            self.segments.remove(last)
            if last.base_offset != offset:
                last.remove()

    def restart_at(self, offset: int, now_ms: int) -> list[str]:
        """Begin anew at *offset*, without records; return paths of old files, to be unlinked later.

        :raises OSError: nothing has changed; but after EIO the log must be opened again, which completes it.
        """
        files, directory, old = self._location.files, self._location.directory, list(self.segments)
        in_the_way = [segment for segment in old if segment.base_offset == offset]
        restart.begin(files, directory, offset)
        try:
            paths = [path for segment in in_the_way for path in segment.put_aside()]
            made = LogSegment.create(files, directory, offset, now_ms)
        except OSError as error:
            if in_the_way:
                raise restart.half_done(directory, error) from error
            with suppress(OSError):
                restart.end(files, directory, offset)
            raise
        self.cuts += 1
        self.first_dirty_offset = min(self.first_dirty_offset, offset)
        self.segments[:] = [self._adopt(made)]
        self.size_bytes = 0
        self.directory_unsynced = True
        try:
            paths += [path for one in old if one not in in_the_way for path in one.put_aside()]
            restart.remove_snapshots(files, directory)
            restart.end(files, directory, offset)
        except OSError as error:
            raise restart.half_done(directory, error) from error
        return paths

    def allow_gaps(self, offset: int) -> bool:
        """Allow gaps below *offset*: compaction removed records from the log that was copied.

        :return: True if that changes ``first_dirty_offset``; a compacted log may have gaps anywhere.
        """
        if self._config.compacted or offset <= self.first_dirty_offset:
            return False
        self.first_dirty_offset = offset
        for segment in self.segments:
            self._adopt(segment)
        return True

    def deletable(self, count: int, log_end_offset: int, end_offset: int) -> int:
        """Return how many of the first *count* segments have no offset at or above *end_offset*."""
        segments = self.segments
        if count >= len(segments) and log_end_offset > end_offset:
            count = len(segments) - 1
        while 0 < count < len(segments) and segments[count].base_offset > end_offset:
            count -= 1
        return count

    def drop(self, count: int) -> list[str]:
        """Drop the first *count* segments; return the paths of their files, renamed, to be unlinked later.

        :raises OSError: a file could not be renamed; the segments are gone from the log.
        """
        dropped = self.segments[:count]
        del self.segments[:count]
        paths = [path for segment in dropped for path in segment.put_aside()]
        if paths:
            self.size_bytes -= sum(segment.size for segment in dropped)
            self.directory_unsynced = True
        return paths

    def replace(self, old: Sequence[LogSegment], new: LogSegment) -> None:
        """Put a compacted segment in the place of those that it was made of; their files were renamed."""
        number = self.segments.index(old[0])
        self.segments[number : number + len(old)] = [self._adopt(new)]
        self.size_bytes += new.size - sum(segment.size for segment in old)
        self.directory_unsynced = True

    # --- syncing and moving

    def unsynced(self) -> list[LogSegment]:
        """Return the segments with bytes that were not synced."""
        return [s for s in self.segments if s.unsynced or s.index.unsynced or s.time_index.unsynced]

    def mark_unsynced(self, segments: Collection[LogSegment]) -> None:
        """Count nothing of these segments, nor any name, as synced."""
        for segment in segments:
            segment.unsynced = segment.index.unsynced = segment.time_index.unsynced = True
        self.directory_unsynced = self.parent_unsynced = True

    def moved(self) -> None:
        """Use the files in the location's new directory, which are the same to the last byte.

        Nothing of the active segment counts as synced there; replies that read the old files go on.
        """
        for segment in self.segments:
            segment.move_to(self._location.directory)
        self.mark_unsynced(self.segments[-1:])
