"""Loading of bytes into the page cache, in a worker, so that the reactor thread never waits for a disk.

The worker uses twins of segments (:meth:`kafkatx.log.segment.segment.LogSegment.twin`) and returns where a
batch begins. It reads the records and discards them: ``sendfile`` sends them from the page cache.
"""

from __future__ import annotations

from kafkatx.log.files import Files
from kafkatx.log.segment.segment import LogSegment

HOT_BYTES = 16 << 20
"""The last bytes that this process wrote to a segment count as cached, without a check."""

AT_ONCE_BYTES = 1 << 20
"""The most that is loaded before a read; the rest of a larger read is loaded while it is sent."""

AHEAD_BYTES = 4 << 20
"""The read-ahead for a reader of cold data: the disk works while the reply is being sent."""

_LEAST_BYTES = 16 << 10
"""A header is read in a chunk, whatever the reader asks for."""


def load(files: Files, twin: LogSegment, offset: int, max_bytes: int) -> int:
    """Find the batch that holds *offset*, load *max_bytes* from it on, return its position. In a worker.

    :raises OSError: a file cannot be opened or read.
    :raises CorruptRecords: the segment is damaged there.
    """
    batch = twin.find(offset)
    if batch is None:
        return twin.size
    wanted = wanted_bytes(twin, batch.position, max(max_bytes, batch.size))
    ahead = min(AHEAD_BYTES, twin.size - batch.position - wanted)
    near = files.is_cached(twin.file, batch.position, wanted + ahead)
    twin.follow(offset, batch.position, wanted + ahead if near else wanted)
    files.load(twin.file, batch.position, wanted, ahead)
    return batch.position


def wanted_bytes(segment: LogSegment, position: int, max_bytes: int) -> int:
    """Return how many bytes from *position* on must be loaded before a read of *max_bytes*."""
    return min(max(max_bytes, _LEAST_BYTES), AT_ONCE_BYTES, segment.size - position)


def is_hot(segment: LogSegment, position: int) -> bool:
    """Return True if this process has written the bytes there a short while ago."""
    return position >= segment.written_from and segment.size - position <= HOT_BYTES


def load_ahead(files: Files, twin: LogSegment, position: int) -> None:
    """Start to read ahead of a reader that is at *position*. In a worker."""
    files.load(twin.file, position, 0, min(AHEAD_BYTES, twin.size - position))


def must_load_ahead(files: Files, segment: LogSegment, position: int) -> bool:
    """Return True if less than half of the read-ahead from *position* on is cached."""
    middle = min(position + AHEAD_BYTES // 2, segment.size - 1)
    return position < segment.size and not files.is_cached(segment.file, middle, 1)
