"""Positions of records and their fields."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from twisted.trial.unittest import SynchronousTestCase

from kafkatx.records.varint import encode
from kafkatx.spark.arrow import record_fields
from kafkatx.spark.arrow.record_fields import UnsupportedRecords, read_fields, record_starts
from tests.records.strategies import quick

LENGTHS = [1, 63, 64, 8191, 8192, 1 << 20]
"""At these a length takes one byte more, up to four."""


def lying(sizes: list[int]) -> tuple[bytes, list[int]]:
    """Records of so many bytes behind their length; where each begins, and where the last ends."""
    records = [encode(size) + bytes(size) for size in sizes]
    return b"".join(records), [0, *np.cumsum([len(record) for record in records]).tolist()]


class StartsTests(SynchronousTestCase):
    def starts(self, data: bytes, count: int, at: int = 0, end: int | None = None) -> list[int]:
        """Return the positions at which the records of data begin."""
        found = record_starts(data, at, len(data) if end is None else end, count)
        starts: list[int] = np.concatenate(found, dtype=np.int64).tolist()
        return starts

    @quick
    @given(st.lists(st.tuples(st.integers(1, 200), st.sampled_from([0, 1, 3, 60, 64, 65, 600])), max_size=8))
    def test_runs(self, runs: list[tuple[int, int]]) -> None:
        """Runs of one length, short and long, are found wherever they begin and end."""
        data, edges = lying([size for size, count in runs for _ in range(count)])
        self.assertEqual(self.starts(data, len(edges) - 1), edges[:-1])

    def test_long_lengths(self) -> None:
        """A length may take as many bytes as it needs, among others and in runs."""
        for sizes in (LENGTHS, [8192] * 200, [size for size in LENGTHS[:5] for _ in range(100)]):
            data, edges = lying(sizes)
            self.assertEqual(self.starts(data, len(sizes)), edges[:-1])

    def test_within(self) -> None:
        """Records in the midst of data: what stands before and behind them is left alone."""
        data, edges = lying([50] * 300)
        found = self.starts(b"\xff" * 7 + data + data, 300, 7, 7 + len(data))
        self.assertEqual(found, [7 + edge for edge in edges[:-1]])

    def test_same_ends_of_lengths(self) -> None:
        """Lengths that differ in their second byte alone are not one length."""
        data, edges = lying([100] * 200 + [100 + 64] * 200)
        self.assertEqual(encode(100)[0], encode(164)[0])
        self.assertEqual(self.starts(data, 400), edges[:-1])

    def test_wrong_count(self) -> None:
        """One more or one fewer than there are, or a negative number, is refused."""
        for records in (3, 200):
            data, _ = lying([10] * records)
            for count in (records - 1, records + 1, -1):
                self.assertRaises((UnsupportedRecords, IndexError), self.starts, data, count)

    def test_endless_length(self) -> None:
        """A length of six bytes is refused."""
        for count in (1, 300):
            self.assertRaises(UnsupportedRecords, self.starts, b"\x80" * 5 + bytes(5000), count)

    def test_one_length_is_passed_over(self) -> None:
        """Records that all have one length, even one of two bytes, are hardly read one by one."""
        walked = []

        def walk(data: bytes, at: int, count: int) -> object:
            walked.append(count)
            return found(data, at, count)

        found = record_fields._walk
        self.patch(record_fields, "_walk", walk)
        data, edges = lying([300] * 20_000)
        self.assertEqual(self.starts(data, 20_000), edges[:-1])
        self.assertLess(sum(walked), 128)

    def test_looks_seldom_in_vain(self) -> None:
        """Equal lengths are looked for ever more seldom where each record has another length."""
        looked = []

        def one_length(*arguments: object) -> object:
            looked.append(1)
            return found(*arguments)  # type: ignore[arg-type]

        found = record_fields._one_length
        self.patch(record_fields, "_one_length", one_length)
        data, edges = lying([number % 40 + 1 for number in range(20_000)])
        self.assertEqual(self.starts(data, 20_000), edges[:-1])
        self.assertLess(len(looked), 13)


class VarintTests(SynchronousTestCase):
    def record(self, timestamp_delta: int) -> bytes:
        """A record of which the time matters."""
        body = b"\0" + encode(timestamp_delta) + b"\0\x01\x01\0"
        return encode(len(body)) + body

    def read(self, deltas: list[int]) -> list[int]:
        """The deltas as they are read back."""
        records = [self.record(delta) for delta in deltas]
        edges = np.cumsum([0, *map(len, records)])
        fields = read_fields(b"".join(records), edges[:-1], edges[1:])
        read: list[int] = fields.timestamp_deltas.tolist()
        return read

    @quick
    @given(st.lists(st.integers(-(1 << 61), (1 << 61)), min_size=1, max_size=20))
    def test_every_length(self, deltas: list[int]) -> None:
        """Varints of one to nine bytes, side by side."""
        self.assertEqual(self.read(deltas), deltas)

    def test_edges(self) -> None:
        """The smallest and the largest of each number of bytes, of both signs."""
        deltas = [sign * (1 << bits) + more for bits in range(62) for sign in (1, -1) for more in (-1, 0)]
        self.assertEqual(self.read(deltas), deltas)

    def test_ten_bytes(self) -> None:
        """A number that does not fit into 63 bits is left to the other decoder."""
        self.assertRaises(UnsupportedRecords, self.read, [1, 1 << 62])
