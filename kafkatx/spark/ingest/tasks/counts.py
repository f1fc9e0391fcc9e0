"""In a worker: the counts of the records that a task has written, for the audit. Pure but for pyarrow."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from kafkatx.clientcore.audit.ranges import MAX_WINDOWS, RangeCounter
from kafkatx.clientcore.audit.tiers import INGEST
from kafkatx.spark.offsets import OffsetRange

if TYPE_CHECKING:
    import pyarrow as pa

Windows: TypeAlias = "tuple[tuple[int, int], ...]"
"""Pairs of the start of a window in ms and the number of records in it."""

Counted: TypeAlias = "tuple[str, int, int, int, Windows]"
"""Topic, partition, start and end (exclusive) of a range of offsets, and its windows."""


class TaskCounts:
    """Counts rows and dead letters by the windows of their records.

    :param window_ms: the length of a window; 0: nothing is counted.
    """

    def __init__(self, window_ms: int) -> None:
        self._window_ms = window_ms
        self._counter = RangeCounter(INGEST, "", "", window_ms, "")
        self._ends: dict[OffsetRange, int] = {}

    def add(
        self, item: OffsetRange, source: pa.RecordBatch, written: Sequence[pa.Array | pa.ChunkedArray]
    ) -> None:
        """Count what was written of a batch.

        :param item: the range that the batch is from.
        :param source: the records as they were read, in order, with the columns offset and timestamp.
        :param written: the offsets of the rows, and those of the dead letters.
        """
        if not self._window_ms or not source.num_rows:
            return
        offsets = source.column("offset").to_numpy(zero_copy_only=False)
        there = np.concatenate([part.to_numpy().astype(np.int64) for part in map(_flat, written)])
        times_ms = _times_ms(source)[np.searchsorted(offsets, there)]
        start, end = self._ends.get(item, item.start), int(offsets[-1]) + 1
        windows, counts = np.unique(times_ms // self._window_ms * self._window_ms, return_counts=True)
        if len(windows) <= MAX_WINDOWS:
            pairs = zip(windows.tolist(), counts.tolist(), strict=True)
            self._counter.add(item.topic, "", item.partition, start, end, Counter(dict(pairs)))
        else:
            self._counter.count(item.topic, "", item.partition, start, end, times_ms.tolist())
        self._ends[item] = end

    def end(self, item: OffsetRange) -> None:
        """Note that a range was read to its end, where there may be no records."""
        start = self._ends.get(item, item.start)
        if self._window_ms and start < item.end:
            self._counter.add(item.topic, "", item.partition, start, item.end, Counter())

    def result(self) -> tuple[Counted, ...]:
        """Return all counts."""
        return tuple(
            (one.topic, one.partition, one.start, one.end, one.windows) for one in self._counter.announce(0)
        )


def _flat(offsets: pa.Array | pa.ChunkedArray) -> pa.Array:
    import pyarrow as pa

    return offsets.combine_chunks() if isinstance(offsets, pa.ChunkedArray) else offsets


def _times_ms(source: pa.RecordBatch) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    """Return the timestamps; -1 for a record without one."""
    import pyarrow as pa

    times = source.column("timestamp")
    times = times.cast(pa.timestamp("ms", times.type.tz), safe=False).cast(pa.int64())
    return times.fill_null(-1).to_numpy(zero_copy_only=False)  # type: ignore[no-any-return]
