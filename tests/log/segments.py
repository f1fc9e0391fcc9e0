"""Segments for tests: batches with offsets as a log stores them, written without a log."""

from __future__ import annotations

import os
import struct

from kafkatx.log.files import Files
from kafkatx.log.segment.batches import BatchInfo, StagedBatches
from kafkatx.log.segment.segment import LogSegment
from kafkatx.testing.contracts.partition_log import NOW_MS, batch


def stored(
    values: list[bytes],
    base_offset: int,
    timestamps: list[int] | None = None,
    epoch: int = 0,
    producer: tuple[int, int, int] = (-1, -1, -1),
) -> bytes:
    """Return a batch as it is in a log: with base offset and leader epoch."""
    data = bytearray(batch(values, timestamps, producer=producer))
    struct.pack_into(">q", data, 0, base_offset)
    struct.pack_into(">i", data, 12, epoch)
    return bytes(data)


def info(data: bytes) -> BatchInfo:
    """Return the facts about a batch for the indexes."""
    base_offset, delta, newest = *struct.unpack_from(">q", data, 0), *struct.unpack_from(">i8xq", data, 23)
    return BatchInfo(len(data), base_offset, base_offset + delta, newest)


def append(segment: LogSegment, *batches: bytes, interval: int = 0) -> None:
    """Append stored batches to a segment, one write for each."""
    for data in batches:
        segment.write([data], [info(data)], len(data), interval)


def staged(*batches: bytes, now_ms: int = NOW_MS) -> StagedBatches:
    """Return batches that are to be written to a log."""
    made = StagedBatches()
    made.append_ms = now_ms
    for data in batches:
        made.buffers += (data[:16], memoryview(data)[16:])
        made.batches.append(info(data))
        made.size_bytes += len(data)
    return made


def make_segment(
    directory: str, *batches: bytes, base_offset: int = 0, files: Files | None = None, interval: int = 0
) -> LogSegment:
    """Return a segment with these batches, in a directory that is made if necessary."""
    os.makedirs(directory, exist_ok=True)
    segment = LogSegment.create(files or Files(), directory, base_offset, NOW_MS)
    append(segment, *batches, interval=interval)
    return segment
