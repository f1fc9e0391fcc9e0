"""One pass over one log: from segment files to ``.cleaned`` files. No other file is changed.

The pass reads twice: first the dirty segments, for the last offset of each key, as many as fit into the map;
then all segments up to there, oldest first, to write their retained records, several small segments into one.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence

from kafkatx.errors import CorruptRecords
from kafkatx.log.cleaner.offset_map import OffsetMap
from kafkatx.log.cleaner.passes import Finished, Pass, Source
from kafkatx.log.cleaner.retained import Kept, Rules, keys_of, retained
from kafkatx.log.cleaner.transactions import TransactionFilter
from kafkatx.log.files import Files
from kafkatx.log.segment.batches import BatchInfo
from kafkatx.log.segment.files import LOG, TRANSACTION_INDEX, file_name
from kafkatx.log.segment.index import OFFSET_ENTRY, TIME_ENTRY
from kafkatx.log.segment.scan import Shallow, walk_whole
from kafkatx.log.segment.search import MAX_RELATIVE_OFFSET
from kafkatx.log.segment.swap import Cleaned, CleanedSegment, suffix_of
from kafkatx.log.transactions.aborted import AbortedTransaction, encode_aborted

_WRITE_BYTES = 1 << 20
_MOST_BUFFERS = 1024
_LOOK_UP_EVERY = 64


def clean(files: Files, job: Pass, alive: Callable[[], None]) -> Iterator[Cleaned | Finished]:
    """Make a pass; yield each new segment when it is on the disk, oldest first, and then the result.

    :param alive: called regularly; raises :class:`CleaningAborted` to end the pass.
    :raises CorruptRecords: a segment is damaged; the message has the file and position.
    :raises UnsupportedCompression: a codec is not installed.
    :raises OSError: files cannot be read or written, or a segment does not exist any more.
    """
    return _Cleaner(files, job, alive).steps()


class _Cleaner:
    def __init__(self, files: Files, job: Pass, alive: Callable[[], None]) -> None:
        self._files = files
        self._job = job
        self._alive = alive
        self._map = OffsetMap(job.memory_bytes, job.load_factor)
        self._transactions = TransactionFilter(job.aborted)
        self._rules = Rules(
            self._map,
            job.now_ms,
            job.delete_retention_ms,
            job.last_offsets,
            job.marker_epochs,
            self._transactions,
            job.inflated_limit_bytes,
        )
        self._legacy_horizon_ms = self._find_legacy_horizon()
        self._bytes_read = self._bytes_kept = 0
        self._place = ""

    def steps(self) -> Iterator[Cleaned | Finished]:
        try:
            yield from self._steps()
        except CorruptRecords as error:
            raise CorruptRecords(f"{self._place}: {error}") from error

    def _steps(self) -> Iterator[Cleaned | Finished]:
        self._fill_map()
        target: _Target | None = None
        for source in self._job.sources:
            if source.base_offset >= self._map.end_offset:
                break
            if target is not None and not target.has_room(source, self._end_of(source)):
                yield self._finish(target)
                target = None
            target = target or _Target(self._files, self._job, source.base_offset)
            self._copy(source, target)
        if target is not None:
            yield self._finish(target)
        yield Finished(self._map.end_offset, self._bytes_read, self._bytes_kept)

    # --- reading

    def _path(self, source: Source) -> str:
        return os.path.join(self._job.directory, file_name(source.base_offset, LOG))

    def _end_of(self, source: Source) -> int:
        """Return the base offset of the next segment."""
        at = self._job.sources.index(source) + 1
        return self._job.sources[at].base_offset if at < len(self._job.sources) else self._job.end_offset

    def _batches(self, source: Source) -> Iterator[tuple[Shallow, memoryview]]:
        """Yield every batch of a segment; check its checksum, and its offset, which that does not cover."""
        path = self._path(source)
        position, offset, end_offset = 0, source.base_offset, self._end_of(source)
        file = self._files.open(path, os.O_RDONLY)
        for number, (batch, data) in enumerate(walk_whole(self._files, file, 0, source.size)):
            if number % _LOOK_UP_EVERY == 0:
                self._alive()
            self._place = f"{path} at {batch.position}"
            if not offset <= batch.base_offset <= batch.last_offset < end_offset:
                raise CorruptRecords(f"offset {batch.base_offset} in [{offset}, {end_offset})")
            yield batch, data
            position, offset = batch.position + batch.size, batch.last_offset + 1
        self._place = f"{path} at {position}"
        if position < source.size:
            raise CorruptRecords("no batch, or a wrong checksum")

    def _fill_map(self) -> None:
        self._read_keys()
        self._map.complete(self._job.first_dirty_offset)

    def _read_keys(self) -> None:
        """Add the dirty records' keys to the map, until it is full or all are in it."""
        job, offsets = self._job, self._map
        offsets.end_offset = job.first_dirty_offset
        for source in job.sources:
            if self._end_of(source) <= job.first_dirty_offset:
                continue
            for batch, data in self._batches(source):
                if batch.last_offset < job.first_dirty_offset or self._transactions.is_aborted(batch):
                    continue
                names, at = keys_of(data, batch, job.inflated_limit_bytes)
                if not offsets.has_room(len(names)):
                    return
                offsets.add(names, at)
                offsets.end_offset = batch.last_offset + 1
            offsets.end_offset = self._end_of(source)

    def _find_legacy_horizon(self) -> int:
        """Return the modification time before which the old tombstones of a segment are removed."""
        clean = [
            source for source in self._job.sources if self._end_of(source) <= self._job.first_dirty_offset
        ]
        if not clean:
            return 0
        return self._files.mtime_ms(self._path(clean[-1])) - self._job.delete_retention_ms

    # --- writing

    def _copy(self, source: Source, target: _Target) -> None:
        """Write the retained records of a segment."""
        modified_ms = self._files.mtime_ms(self._path(source))
        target.begin(source, modified_ms)
        legacy_tombstones = modified_ms > self._legacy_horizon_ms
        for batch, data in self._batches(source):
            kept = retained(data, batch, self._rules, legacy_tombstones)
            self._bytes_read += batch.size
            if kept is not None:
                target.add(kept)
                self._bytes_kept += len(kept.data)
        target.write()

    def _finish(self, target: _Target) -> Cleaned:
        self._alive()
        return target.finish(self._transactions.take_kept())


class _Target:
    """A new segment that is being written."""

    def __init__(self, files: Files, job: Pass, base_offset: int) -> None:
        self._files = files
        self._job = job
        self._segment = CleanedSegment(files, job.directory, base_offset, 0, job.now_ms, suffix_of(job.name))
        for index in (self._segment.index, self._segment.time_index):
            index.reset()
        files.create(self._segment.path(LOG))
        self._segment.make_ready()
        self._replaces: list[int] = []
        self._modified_ms = 0
        self._buffers: list[bytes | memoryview] = []
        self._written: list[BatchInfo] = []
        self._waiting_bytes = 0

    def has_room(self, source: Source, end_offset: int) -> bool:
        """Return True if all of another segment, which ends before *end_offset*, fits."""
        job, segment = self._job, self._segment
        more = source.size // max(job.index_interval_bytes, 1) + 2
        return (
            segment.size + source.size <= job.segment_bytes
            and end_offset - 1 - segment.base_offset <= MAX_RELATIVE_OFFSET
            and (len(segment.index) + more) * OFFSET_ENTRY.size <= job.segment_index_bytes
            and (len(segment.time_index) + more) * TIME_ENTRY.size <= job.segment_index_bytes
        )

    def begin(self, source: Source, modified_ms: int) -> None:
        """Start with the batches of another source segment."""
        self._replaces.append(source.base_offset)
        self._modified_ms = modified_ms

    def add(self, kept: Kept) -> None:
        """Buffer a batch."""
        self._buffers.append(kept.data)
        self._written.append(
            BatchInfo(len(kept.data), kept.base_offset, kept.last_offset, kept.max_timestamp)
        )
        self._waiting_bytes += len(kept.data)
        if self._waiting_bytes >= _WRITE_BYTES or len(self._buffers) >= _MOST_BUFFERS:
            self.write()

    def write(self) -> None:
        """Write the buffered batches."""
        if self._buffers:
            self._segment.write(
                self._buffers, self._written, self._waiting_bytes, self._job.index_interval_bytes
            )
        self._buffers, self._written, self._waiting_bytes = [], [], 0

    def _write_aborted(self, aborted: Sequence[AbortedTransaction]) -> None:
        """Write the index of transactions, also an empty one where an old one must be replaced."""
        files, directory = self._files, self._job.directory
        old = [os.path.join(directory, file_name(base, TRANSACTION_INDEX)) for base in self._replaces]
        if aborted or any(map(files.exists, old)):
            data = encode_aborted(aborted)
            file = files.create(self._segment.path(TRANSACTION_INDEX))
            files.writev(file, [data], 0, len(data))
            files.sync(file)

    def finish(self, aborted: Sequence[AbortedTransaction]) -> Cleaned:
        """Sync the segment to the disk and return its description."""
        segment = self._segment
        segment.finish()
        self._write_aborted(aborted)
        segment.unsynced = True
        for file in segment.to_sync():
            self._files.sync_any(file)
        segment.release()
        self._files.set_mtime_ms(segment.path(LOG), self._modified_ms)
        self._files.sync_dir(segment.directory)
        return Cleaned(
            segment.base_offset,
            tuple(self._replaces),
            segment.size,
            segment.max_timestamp,
            segment.max_timestamp_offset,
            tuple((*one,) for one in aborted),
        )
