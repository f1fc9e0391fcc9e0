"""Tests of kafkatx.spark.sink.murmur."""

from __future__ import annotations

import pyarrow as pa
from hypothesis import example, given, settings
from hypothesis import strategies as st
from twisted.trial.unittest import SynchronousTestCase

from kafkatx.partitioners import murmur2
from kafkatx.spark.sink.murmur import murmur2_column


class MurmurTests(SynchronousTestCase):
    @settings(deadline=None, max_examples=60)
    @given(st.lists(st.binary(max_size=12)), st.integers(0, 3))
    @example([b"a" * n for n in range(250, 265)] + [b"", b"\xff" * 1000], 2)
    def test_as_one_by_one(self, keys: list[bytes], start: int) -> None:
        """Every key has the hash that it has alone, in a slice of a column, too."""
        found = murmur2_column(pa.array(keys, pa.binary()).slice(start))
        self.assertEqual(found.tolist(), [murmur2(key) for key in keys[start:]])

    def test_null(self) -> None:
        """Null is like an empty key: who asks leaves it out."""
        found = murmur2_column(pa.array([b"21", None], pa.binary()))
        self.assertEqual(found.tolist(), [murmur2(b"21"), murmur2(b"")])
