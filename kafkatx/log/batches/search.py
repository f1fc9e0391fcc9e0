"""The search for records by timestamp in the batches of a :class:`~kafkatx.log.batch_log.BatchLog`."""

from __future__ import annotations

from collections.abc import Sequence

from kafkatx.log.batches.chunk import Chunk
from kafkatx.log.batches.storage import BatchStorage
from kafkatx.log.segment import record_lookup
from kafkatx.log.segment.batches import BatchInfo
from kafkatx.records.batch import Record


def first_at_or_after(
    chunks: Sequence[Chunk], storage: BatchStorage, timestamp_ms: int, log_start_offset: int, limit_bytes: int
) -> Record | None:
    """Return the first record, by offset, with this timestamp or a later one; None if there is none.

    :param limit_bytes: the most that a batch may inflate to.
    :raises OSError: the storage cannot be read.
    """
    for chunk in chunks:
        if chunk.max_timestamp < timestamp_ms:
            continue
        for written in chunk.written:
            if written.max_timestamp < timestamp_ms or written.last_offset < log_start_offset:
                continue
            data = memoryview(storage.get((written,)))
            record = record_lookup.first_at_or_after(data, timestamp_ms, log_start_offset, limit_bytes)
            if record is not None:
                return record
    return None


def newest(
    chunks: Sequence[Chunk], storage: BatchStorage, log_start_offset: int, limit_bytes: int
) -> Record | None:
    """Return the first record with the largest timestamp; None if there is no record.

    :param limit_bytes: the most that a batch may inflate to.
    :raises OSError: the storage cannot be read.
    """
    candidates: list[BatchInfo] = []
    for chunk in chunks:
        for written in chunk.written:
            if written.last_offset < log_start_offset:
                continue
            newer = not candidates or written.max_timestamp > candidates[-1].max_timestamp
            # Of the batch that the log starts in, the newest record may be out of reach.
            if newer or candidates[-1].base_offset < log_start_offset:
                candidates.append(written)
    return record_lookup.newest_of(
        record_lookup.newest(memoryview(storage.get((written,))), log_start_offset, limit_bytes)
        for written in candidates[:1] + candidates[-1:]
    )
