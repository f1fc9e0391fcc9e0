"""Tests of kafkatx.spark.sink.encoder."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
from hypothesis import example, given, settings
from hypothesis import strategies as st
from twisted.trial.unittest import SynchronousTestCase

from kafkatx.records.batch import iter_records
from kafkatx.records.builder import BatchBuilder
from kafkatx.records.varint import encode
from kafkatx.spark.sink.encoder import BadRow, buffers_of, encode_headers, encode_records, sizes_of, varints

HEADERS = pa.list_(pa.struct([("key", pa.string()), ("value", pa.binary())]))
MAYBE = st.none() | st.binary(max_size=80)
RECORD = st.tuples(MAYBE, MAYBE, st.none() | st.lists(st.tuples(st.text(max_size=3), MAYBE), max_size=3))
Record = tuple[bytes | None, bytes | None, list[tuple[str, bytes | None]] | None]


def headers_column(items: list[Any]) -> Any:
    """A column of headers as Spark gives it."""
    named = [
        item if item is None else [{"key": key, "value": value} for key, value in item] for item in items
    ]
    return pa.array(named, HEADERS)


class VarintTests(SynchronousTestCase):
    @settings(deadline=None)
    @given(st.lists(st.integers(-(1 << 31), (1 << 31) - 1)))
    @example([0, -1, 63, 64, -64, -65, 8191, 8192, 1 << 20, (1 << 31) - 1, -(1 << 31)])
    def test_as_one_by_one(self, numbers: list[int]) -> None:
        """Each number is encoded as it is alone."""
        found = varints(np.array(numbers, np.int64)).to_pylist()
        self.assertEqual(found, [encode(number) for number in numbers])


class ColumnTests(SynchronousTestCase):
    def test_laid_out(self) -> None:
        """A slice's bytes, starts and sizes are its own."""
        data, starts, sizes = buffers_of(pa.array([b"abc", b"", b"de", None], pa.binary()).slice(1))
        found = [bytes(data[start : start + size]) for start, size in zip(starts, sizes, strict=True)]
        self.assertEqual(found, [b"", b"de", b""])

    def test_sizes(self) -> None:
        """Null has size 0."""
        self.assertEqual(sizes_of(pa.array([b"ab", None, b""], pa.binary())).tolist(), [2, 0, 0])


class EncodeTests(SynchronousTestCase):
    def encoded(self, records: list[Record], start: int = 0) -> list[bytes]:
        """The records from *start* on, as one batch of the column encoder."""
        keys, values, headers = (list(column)[start:] for column in zip(*records, strict=True))
        columns = [pa.array(column, pa.binary()) for column in (keys, values)]
        found = encode_records(
            np.arange(len(keys)), columns[0], columns[1], encode_headers(headers_column(headers))
        )
        result: list[bytes] = found.to_pylist()
        return result

    @settings(deadline=None, max_examples=100)
    @given(st.lists(RECORD, min_size=1, max_size=20))
    @example([(None, None, None)])
    @example([(b"k", b"v" * 9000, [("h", None), ("", b"x" * 200)]), (b"", b"", [])])
    def test_as_one_by_one(self, records: list[Record]) -> None:
        """The bytes are those that the builder of single records makes."""
        builder = BatchBuilder()
        for key, value, headers in records:
            builder.append(key, value, 5, headers or ())
        encoded = BatchBuilder()
        encoded.append_encoded(b"".join(self.encoded(records)), len(records), 5)
        self.assertEqual(encoded.build(), builder.build())
        self.assertEqual(encoded.size_bytes, builder.size_bytes)

    @settings(deadline=None, max_examples=100)
    @given(st.lists(RECORD, min_size=1, max_size=20), st.sampled_from(["", "server", "a"]))
    @example([(None, None, None)], "server")
    @example([(None, None, [("a", None)]), (None, None, [("b", b"")]), (None, None, None)], "a")
    def test_stamped(self, records: list[Record], name: str) -> None:
        """With a stamp the bytes are those of records that have one header more, unless they have it."""
        stamp = (name, b"web-1" * 20)
        stamped = [
            (*fields, list(headers or ()) + [stamp] * (name not in dict(headers or ())))
            for *fields, headers in records
        ]
        column = headers_column([headers for *_, headers in records])
        wanted = encode_headers(headers_column([headers for *_, headers in stamped]))
        self.assertEqual(encode_headers(column, stamp).to_pylist(), wanted.to_pylist())

    def test_read_back(self) -> None:
        """A batch of them has every field, and its time."""
        records: list[Record] = [(b"k", b"v", [("a", b"1")]), (None, None, None)]
        builder = BatchBuilder()
        builder.append_encoded(b"".join(self.encoded(records)), 2, 77)
        found = list(iter_records(memoryview(builder.build())))
        self.assertEqual(
            [(r.offset, r.timestamp, r.key, r.value) for r in found],
            [(0, 77, b"k", b"v"), (1, 77, None, None)],
        )
        self.assertEqual([list(r.headers) for r in found], [[("a", b"1")], []])

    def test_without_gaps(self) -> None:
        """All records are in one buffer, one behind the other: batches are slices of it."""
        column = pa.array([b"a", b"bc"], pa.binary())
        found = encode_records(np.arange(2), column, column, pa.nulls(2, pa.binary()))
        data = bytes(found.buffers()[2])
        self.assertEqual(data[: sum(sizes_of(found))], b"".join(found.to_pylist()))


class HeaderTests(SynchronousTestCase):
    def test_sliced(self) -> None:
        """A slice of a table has its own headers, also behind null lists that are not empty inside."""
        column = headers_column([[("a", b"1"), ("b", b"2")], None, [("c", None)], [("d", b"4")]])
        whole = encode_headers(column).to_pylist()
        self.assertEqual(encode_headers(column.slice(2)).to_pylist(), whole[2:])
        self.assertEqual(whole[2], encode(1) + encode(1) + b"c" + encode(-1))
        hidden = pa.ListArray.from_arrays(
            column.offsets, column.values, mask=pa.array([True, False, False, False])
        )
        self.assertEqual(encode_headers(hidden).to_pylist(), [encode(0), *whole[1:]])

    def test_none(self) -> None:
        """Records without headers have nothing to encode."""
        self.assertEqual(encode_headers(headers_column([None, []])).to_pylist(), [None, None])

    def test_without_key(self) -> None:
        """A header needs a key; the sender is told."""
        for item in ([{"key": None, "value": b"v"}], [None]):
            error = self.assertRaises(BadRow, encode_headers, pa.array([item], HEADERS))
            self.assertIn("give it a key", str(error))
