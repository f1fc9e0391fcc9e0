"""Tests of kafkatx.spark.sink.partitions."""

from __future__ import annotations

import random
from itertools import chain
from typing import Any

import pyarrow as pa
from hypothesis import given, settings
from hypothesis import strategies as st
from twisted.trial.unittest import SynchronousTestCase

from kafkatx.clientcore.producer.batch import RECORD_OVERHEAD_BYTES
from kafkatx.partitioners import DefaultPartitioner
from kafkatx.records.batch import iter_records
from kafkatx.records.builder import BatchBuilder
from kafkatx.spark.sink.columns import SCHEMA
from kafkatx.spark.sink.encoder import BadRow
from kafkatx.spark.sink.partitions import Encoded, RoundRobin, encoded, highest, largest

ROW = st.tuples(
    st.none() | st.binary(max_size=5), st.none() | st.binary(max_size=60), st.none() | st.integers(0, 2)
)
Row = tuple[bytes | None, bytes | None, int | None]


def table(rows: list[Row]) -> Any:
    """Rows of (key, value, partition)."""
    keys, values, partitions = zip(*rows, strict=True)
    columns = [pa.array(keys, pa.binary()), pa.array(values, pa.binary())]
    columns += [pa.nulls(len(rows), pa.binary()), pa.array(partitions, pa.int32())]
    return pa.RecordBatch.from_arrays(columns, schema=SCHEMA)


def read(batch: Encoded) -> list[tuple[bytes | None, bytes | None]]:
    """Keys and values of a batch; its offsets must be right."""
    builder = BatchBuilder()
    builder.append_encoded(batch.records, batch.rows, 0)
    records = list(iter_records(memoryview(builder.build())))
    assert [record.offset for record in records] == list(range(batch.rows))
    return [(record.key, record.value) for record in records]


class EncodedTests(SynchronousTestCase):
    @settings(deadline=None, max_examples=100)
    @given(st.lists(ROW, min_size=1, max_size=40), st.integers(1, 300))
    def test_any_rows(self, rows: list[Row], batch_bytes: int) -> None:
        """Every row is in one batch, of its partition, in order; no batch of several rows is too large."""
        rows = [(key, b"%d:" % n + (value or b""), asked) for n, (key, value, asked) in enumerate(rows)]
        java = DefaultPartitioner()
        found: dict[int, list[int]] = {}
        for batch in encoded(table(rows), 3, batch_bytes, RoundRobin()):
            records = read(batch)
            payload = sum(len(key or b"") + len(value or b"") for key, value in records)
            self.assertEqual(batch.payload_bytes, payload)
            if batch.rows > 1:
                self.assertLessEqual(payload + RECORD_OVERHEAD_BYTES * batch.rows, batch_bytes)
            for record in records:
                index = int((record[1] or b"").partition(b":")[0])
                key, value, asked = rows[index]
                self.assertEqual(record, (key, value))
                if asked is not None:
                    self.assertEqual(batch.partition, asked)
                elif key is not None:
                    self.assertEqual(batch.partition, java.partition("t", key, 3))
                found.setdefault(batch.partition, []).append(index)
        self.assertEqual(sorted(chain(*found.values())), list(range(len(rows))))
        for indices in found.values():
            self.assertEqual(indices, sorted(indices))

    def test_without_key(self) -> None:
        """Rows without key fill one batch after the other, each of them for the next partition."""
        rows: list[Row] = [(None, b"%03d" % n, None) for n in range(100)]
        limit = 10 * (3 + RECORD_OVERHEAD_BYTES)
        batches = list(encoded(table(rows), 4, limit, RoundRobin(random.Random(1))))
        self.assertEqual([batch.rows for batch in batches], [10] * 10)
        counts = [sum(batch.partition == number for batch in batches) for number in range(4)]
        self.assertEqual(sorted(counts), [2, 2, 3, 3])
        self.assertEqual(len({value for batch in batches for _, value in read(batch)}), 100)

    def test_round_robin_goes_on(self) -> None:
        """The next batch goes to the next partition, not to the first one again."""
        round_robin = RoundRobin()
        rows = table([(None, b"v", None)])
        found = [batch.partition for _ in range(5) for batch in encoded(rows, 5, 1000, round_robin)]
        self.assertEqual(sorted(found), [0, 1, 2, 3, 4])

    def test_column_before_key(self) -> None:
        """The partition column goes before the key's hash."""
        rows: list[Row] = [(b"k", b"v", number) for number in (2, 0, 1, 2)]
        self.assertEqual(
            [batch.partition for batch in encoded(table(rows), 3, 1000, RoundRobin())], [0, 1, 2]
        )

    def test_ignore_keys(self) -> None:
        """With partitioner.ignore.keys rows go in turn though they have keys, and keep them."""
        rows: list[Row] = [(b"k", b"v", None)] * 4
        limit = 2 + RECORD_OVERHEAD_BYTES
        batches = list(encoded(table(rows), 2, limit, RoundRobin(), ignore_keys=True))
        self.assertEqual([batch.partition for batch in batches], [0, 0, 1, 1])
        self.assertEqual(read(batches[0]), [(b"k", b"v")])


class LimitTests(SynchronousTestCase):
    def test_highest(self) -> None:
        """The highest partition that is asked for; none is -1; a negative one is an error."""
        self.assertEqual(highest(table([(None, b"", 3), (None, b"", None)])), 3)
        self.assertEqual(highest(table([(None, b"", None)])), -1)
        error = self.assertRaises(BadRow, highest, table([(None, b"", -2), (None, b"", 1)]))
        self.assertIn("Invalid partition: -2", str(error))

    def test_largest(self) -> None:
        """The largest record, key and value together."""
        rows = table([(b"k" * 10, b"v", None), (None, b"v" * 9, None)])
        self.assertEqual(largest(rows), 11 + RECORD_OVERHEAD_BYTES)
