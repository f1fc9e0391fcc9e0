"""Counts within the partitions of a batch, as its tasks make them."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pyarrow as pa
from twisted.trial.unittest import SynchronousTestCase

from kafkatx.errors import SettingError
from kafkatx.spark.streams.partitioned import _counter, in_partitions


class CounterTests(SynchronousTestCase):
    def test_over_batches(self) -> None:
        """A value that is in several batches of a task comes out once, with its count and sums."""
        batches = [
            pa.record_batch({"host": ["a", "b", "a"], "bytes": [1, 2, 3]}),
            pa.record_batch({"host": ["b", "c"], "bytes": [10, 20]}),
        ]
        rows = [row for batch in _counter(["host"], ["bytes"])(batches) for row in batch.to_pylist()]
        expected = [("a", 2, 4), ("b", 2, 12), ("c", 1, 20)]
        self.assertEqual(sorted(tuple(row.values()) for row in rows), expected)
        self.assertEqual(list(rows[0]), ["host", "count", "sum_bytes"])

    def test_no_rows(self) -> None:
        """A task without batches yields nothing."""
        self.assertEqual(list(_counter(["host"], [])([])), [])

    def test_stream(self) -> None:
        """A stream is refused, with the function that counts one."""
        stream: Any = SimpleNamespace(isStreaming=True)
        self.assertRaisesRegex(SettingError, "for a stream use tumbling", in_partitions, stream, ["host"])
