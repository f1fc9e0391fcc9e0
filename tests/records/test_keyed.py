"""Tests of kafkatx.records.keyed."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from twisted.trial.unittest import SynchronousTestCase

from kafkatx.records.batch import check, iter_records, parse_header
from kafkatx.records.builder import BatchBuilder
from kafkatx.records.header import HEADER_BYTES
from kafkatx.records.keyed import MOST_OVERHEAD, build_keyed
from tests.records.strategies import quick

NOW_MS = 1_700_000_000_000


class BuildKeyedTests(SynchronousTestCase):
    @quick
    @given(st.lists(st.tuples(st.binary(max_size=200), st.none() | st.binary(max_size=200)), min_size=1))
    def test_same_as_the_builder(self, records: list[tuple[bytes, bytes | None]]) -> None:
        """The batch is the one that the general builder makes, byte for byte."""
        builder = BatchBuilder()
        for key, value in records:
            builder.append(key, value, NOW_MS)
        self.assertEqual(build_keyed(records, NOW_MS), builder.build())

    def test_read_back(self) -> None:
        """Keys, values and tombstones are read back, all of one time, and a broker takes the batch."""
        records = [(b"a", b"1"), (b"b", None), (b"", b"")] + [(b"k%d" % n, b"v" * n) for n in range(300)]
        batch = memoryview(build_keyed(records, NOW_MS))
        check(batch, 0, parse_header(batch), produced=True)
        read = list(iter_records(batch))
        self.assertEqual([(record.key, record.value) for record in read], records)
        self.assertEqual({record.timestamp for record in read}, {NOW_MS})
        self.assertEqual([record.offset for record in read], list(range(len(records))))

    def test_overhead(self) -> None:
        """No record takes more than MOST_OVERHEAD beside its key and value, however large they are."""
        for size in (0, 63, 64, 8191, 8192, 1 << 20):
            records = [(b"k" * size, b"v" * size)] * 3
            batch = build_keyed(records, NOW_MS)
            self.assertLessEqual(len(batch), HEADER_BYTES + 3 * (MOST_OVERHEAD + 2 * size))

    def test_none(self) -> None:
        """A batch without records is refused: no log would take it."""
        with self.assertRaises(ValueError):
            build_keyed([], NOW_MS)

    def test_transaction(self) -> None:
        """A batch of a transaction has its producer id and epoch, no sequence, and a sound checksum."""
        batch = memoryview(build_keyed([(b"a", b"1")], NOW_MS, (7, 3)))
        header = parse_header(batch)
        check(batch, 0, header)
        self.assertEqual((header.producer_id, header.producer_epoch, header.base_sequence), (7, 3, -1))
        self.assertTrue(header.transactional)
        self.assertFalse(header.control)
