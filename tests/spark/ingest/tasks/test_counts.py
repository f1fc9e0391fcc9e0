"""Tests of kafkatx.spark.ingest.tasks.counts."""

from __future__ import annotations

import pyarrow as pa
from twisted.trial.unittest import SynchronousTestCase

from kafkatx.clientcore.audit.ranges import MAX_WINDOWS
from kafkatx.spark.ingest.tasks.counts import Counted, TaskCounts
from kafkatx.spark.offsets import OffsetRange

WINDOW_MS = 1000


def source(offsets: list[int], times_ms: list[int | None]) -> pa.RecordBatch:
    """Return records as they are read."""
    times = pa.array([None if time is None else time * 1000 for time in times_ms], pa.int64())
    columns = [pa.array(offsets, pa.int64()), times.cast(pa.timestamp("us", tz="UTC"))]
    return pa.RecordBatch.from_arrays(columns, ["offset", "timestamp"])


def counted(end: int, *batches: pa.RecordBatch, window_ms: int = WINDOW_MS) -> tuple[Counted, ...]:
    """Return the counts of a range from 0 of which everything in *batches* was written."""
    item, counts = OffsetRange("t", 1, 0, end), TaskCounts(window_ms)
    for batch in batches:
        counts.add(item, batch, [batch.column("offset")])
    counts.end(item)
    return counts.result()


class CountTests(SynchronousTestCase):
    def test_windows(self) -> None:
        """Records are counted by window, in a range that ends where the task's does."""
        found = counted(6, source([0, 1], [500, 1500]), source([2, 4], [1999, 500]))
        self.assertEqual(found, (("t", 1, 0, 6, ((0, 2), (1000, 2))),))

    def test_no_time(self) -> None:
        """A record without a timestamp is in the window of the time -1, as everywhere in the audit."""
        self.assertEqual(counted(1, source([0], [None]))[0][4], ((-1000, 1),))

    def test_no_records(self) -> None:
        """A range without records is counted as one without records."""
        self.assertEqual(counted(5), (("t", 1, 0, 5, ()),))

    def test_off(self) -> None:
        """Without a length of windows nothing is counted."""
        self.assertEqual(counted(2, source([0, 1], [1, 2]), window_ms=0), ())

    def test_rows_and_dead_letters(self) -> None:
        """A record that was read and not written is not counted."""
        item, counts = OffsetRange("t", 0, 0, 3), TaskCounts(WINDOW_MS)
        rows, dead = pa.chunked_array([pa.array([0], pa.int64())]), pa.array([2], pa.int64())
        counts.add(item, source([0, 1, 2], [1, 1, 1]), [rows, dead])
        self.assertEqual(counts.result()[0][4], ((0, 2),))

    def test_many_windows(self) -> None:
        """Records of very many windows are in several ranges, all of them."""
        number = 3 * MAX_WINDOWS
        times: list[int | None] = [WINDOW_MS * at for at in range(number)]
        found = counted(number, source(list(range(number)), times))
        self.assertGreater(len(found), 1)
        self.assertEqual(sum(count for *_, windows in found for _, count in windows), number)
        self.assertEqual((found[0][2], found[-1][3]), (0, number))
