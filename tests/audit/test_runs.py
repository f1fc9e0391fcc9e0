"""Tests of kafkatx.audit.runs."""

from __future__ import annotations

from collections import Counter

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from twisted.trial.unittest import SynchronousTestCase

from kafkatx.audit import runs
from kafkatx.audit.runs import Offsets

RECORDS = st.lists(
    st.lists(st.tuples(st.integers(0, 2), st.integers(0, 30), st.integers(-10, 25)), max_size=20), max_size=10
)


class OffsetsTests(SynchronousTestCase):
    def add(
        self, offsets: Offsets, records: list[tuple[int, int, int]], written_ms: int | None = None
    ) -> None:
        """Records: (partition, offset, time)."""
        partitions, numbers, times = np.array(records, dtype=np.int64).reshape(len(records), 3).T
        offsets.add("t", partitions, numbers, times, written_ms)

    def test_counts(self) -> None:
        """Copies count among what was found and not among what is distinct; partitions are apart."""
        offsets = Offsets(10)
        self.add(offsets, [(0, 1, 5), (0, 2, 10), (1, 1, 5), (0, 1, 5)], 100)
        self.add(offsets, [(0, 2, 10)], 300)
        self.add(offsets, [(0, 3, 11)], 200)
        self.add(offsets, [])
        counts = {key: (c.found, c.distinct, c.written_ms) for key, c in offsets.counts().items()}
        self.assertEqual(counts, {("t", 0): (3, 2, 100), ("t", 10): (3, 2, 300)})

    def test_nested(self) -> None:
        """A run within another one does not end it."""
        offsets = Offsets(10)
        for first, end in ((0, 10), (2, 4), (5, 6), (12, 13)):
            self.add(offsets, [(0, offset, 5) for offset in range(first, end)])
        self.assertEqual(offsets.counts()["t", 0].distinct, 11)

    @settings(deadline=None, max_examples=100)
    @given(RECORDS, st.integers(1, 40))
    def test_any(self, batches: list[list[tuple[int, int, int]]], most_runs: int) -> None:
        """The counts are those of a set and a counter, also if runs are merged early."""
        self.patch(runs, "MOST_RUNS", most_runs)
        offsets = Offsets(10)
        found: Counter[tuple[str, int]] = Counter()
        distinct: dict[tuple[str, int], set[tuple[int, int]]] = {}
        for batch in batches:
            self.add(offsets, batch)
            for partition, offset, time in batch:
                found["t", time // 10 * 10] += 1
                distinct.setdefault(("t", time // 10 * 10), set()).add((partition, offset))
        expected = {key: (count, len(distinct[key])) for key, count in found.items()}
        self.assertEqual({key: (c.found, c.distinct) for key, c in offsets.counts().items()}, expected)

    def test_memory(self) -> None:
        """Records that were loaded in order are kept as few runs."""
        self.patch(runs, "MOST_RUNS", 100)
        offsets = Offsets(1000)
        for start in range(0, 50_000, 10):
            self.add(offsets, [(0, offset, 5) for offset in range(start, start + 10)])
        self.assertLessEqual(sum(map(len, offsets._runs["t", 0, 0])), 101)
        self.assertEqual(offsets.counts()["t", 0].distinct, 50_000)
