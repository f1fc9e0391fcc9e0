"""Tests of kafkatx.records.rows."""

from __future__ import annotations

from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st
from twisted.trial.unittest import SynchronousTestCase

from kafkatx.records.batch import check, iter_records, parse_header
from kafkatx.records.builder import BatchBuilder, encode_record
from kafkatx.records.rows import Rows, encode_keyed

TIMES = st.one_of(st.integers(1_700_000_000_000, 1_700_000_000_003), st.integers(0, (1 << 63) - 1))
KEYS = st.one_of(st.none(), st.binary(max_size=3), st.binary(min_size=60, max_size=70))
VALUES = st.one_of(st.none(), st.binary(max_size=3), st.binary(min_size=60, max_size=200))
HEADERS = st.lists(st.tuples(st.text(max_size=3), st.one_of(st.none(), st.binary(max_size=3))), max_size=2)
PLAIN: st.SearchStrategy[Any] = st.tuples(st.none(), st.binary(max_size=80), TIMES, st.just([]))
KEYED: st.SearchStrategy[Any] = st.tuples(st.binary(max_size=80), st.binary(max_size=80), TIMES, st.just([]))
ANY: st.SearchStrategy[Any] = st.tuples(KEYS, VALUES, TIMES, HEADERS)
RUNS = st.lists(
    st.one_of(
        *(st.tuples(record, st.integers(1, 90)) for record in (PLAIN, KEYED, ANY)),
    ),
    min_size=1,
    max_size=6,
)


def sealed(rows: Rows) -> bytes:
    """The batch of these rows."""
    builder = BatchBuilder()
    builder.append_encoded(rows.encode(), len(rows.values), rows.times[1], max(rows.times[1::2]))
    return builder.build()


class RowsTests(SynchronousTestCase):
    @settings(deadline=None, max_examples=150)
    @given(RUNS)
    def test_same_bytes(self, runs: list[Any]) -> None:
        """A batch of any records is byte for byte the one that is built record by record."""
        rows, builder = Rows(), BatchBuilder()
        payload = 0
        for (key, value, time_ms, headers), count in runs:
            for _ in range(count):
                self.assertEqual(rows.append(key, value, time_ms, headers), builder.count)
                builder.append(key, value, time_ms, headers)
                payload += len(key or b"") + len(value or b"")
        self.assertEqual(rows.payload_bytes(), payload)
        batch = sealed(rows)
        self.assertEqual(batch, builder.build())
        check(memoryview(batch), 0, parse_header(batch), produced=True)

    @settings(deadline=None, max_examples=60)
    @given(RUNS, st.one_of(st.none(), st.binary(max_size=80)))
    def test_lists(self, runs: list[Any], key: bytes | None) -> None:
        """Lists give the same as their records one by one."""
        rows, builder = Rows(), BatchBuilder()
        for (_, value, time_ms, _), count in runs:
            values = [value or b""] * count
            self.assertEqual(rows.extend(values, time_ms, key), builder.count)
            for each in values:
                builder.append(key, each, time_ms)
        self.assertEqual(sealed(rows), builder.build())

    def test_keyed_from_any_offset(self) -> None:
        """Keyed records are right at every size of their offset delta."""
        for first in (60, 62, 8189, 8192, (1 << 20) - 2):
            key, value = b"k" * (first % 130), b"v" * 70
            expected = b"".join(encode_record(first + at, -7, key, value) for at in range(5))
            self.assertEqual(encode_keyed([key] * 5, [value] * 5, first, -7), expected)

    def test_clear(self) -> None:
        """Once encoded only the times stay: a batch under way does not hold its records twice."""
        rows = Rows()
        rows.append(b"k", b"v", 5, [("h", b"x")])
        rows.clear()
        self.assertEqual((rows.values, rows.keys, rows.headers, rows.times), ([], {}, {}, [0, 5]))

    def test_latest_time(self) -> None:
        """Times may go back; the header has the first as base and the latest as maximum."""
        rows = Rows()
        for time_ms in (5, 9, 2):
            rows.append(None, b"v", time_ms)
        batch = sealed(rows)
        header = parse_header(batch)
        self.assertEqual((header.base_timestamp, header.max_timestamp), (5, 9))
        self.assertEqual([record.timestamp for record in iter_records(memoryview(batch))], [5, 9, 2])
