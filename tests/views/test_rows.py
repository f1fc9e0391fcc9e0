"""The rows in batches."""

from __future__ import annotations

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from twisted.trial.unittest import SynchronousTestCase

from kafkatx.errors import CorruptRecords
from kafkatx.records.batch import CRC_AT, Record
from kafkatx.records.builder import BatchBuilder
from kafkatx.records.compression import Codec
from kafkatx.records.control import build_marker
from kafkatx.records.legacy.message_sets import build
from kafkatx.types import Marker
from kafkatx.views.rows import ABORTED, COMMITTED, OPEN, Row, Transactions, end_of, read_rows

LIMIT_BYTES = 1 << 20


def batch(base_offset: int, values: list[bytes], producer_id: int = -1, transactional: bool = False) -> bytes:
    """Build a batch of values, whose timestamps are their offsets."""
    builder = BatchBuilder(producer_id=producer_id, producer_epoch=0, transactional=transactional)
    for index, value in enumerate(values):
        builder.append(None, value, base_offset + index, [("h", b"1")])
    return builder.build(base_offset)


def marker(offset: int, producer_id: int, committed: bool) -> bytes:
    """Build the marker that ends a transaction."""
    data = bytearray(build_marker(producer_id, 0, Marker(committed, 0), 5))
    data[:8] = offset.to_bytes(8, "big")
    return bytes(data)


SLOW = [HealthCheck.too_slow]


class RowsTests(SynchronousTestCase):
    def rows(
        self, data: bytes, position: int = 0, until: int = 1000, transactions: Transactions | None = None
    ) -> list[Row]:
        """Read rows."""
        return list(read_rows(data, position, until, transactions or Transactions(1000), LIMIT_BYTES))

    def test_range(self) -> None:
        """The rows of a range are those of its offsets, also where it begins or ends within a batch."""
        data = batch(0, [b"a", b"b", b"c"]) + batch(3, [b"d"]) + batch(10, [b"e", b"f"])
        self.assertEqual([row.value for row in self.rows(data, 1, 11)], [b"b", b"c", b"d", b"e"])
        self.assertEqual([row.offset for row in self.rows(data)], [0, 1, 2, 3, 10, 11])
        self.assertEqual(end_of(data, 0), 12)
        self.assertEqual(end_of(data[:-1], 0), 4)
        self.assertEqual(end_of(b"", 7), 7)
        row = self.rows(data)[1]
        self.assertEqual((row.timestamp, row.timestamp_type, row.headers), (1, "create", [("h", b"1")]))

    def test_old_formats(self) -> None:
        """Messages of magic 0 and 1 are rows, too."""
        for magic, kind in ((0, "none"), (1, "create")):
            data = build([Record(5, 9, b"k", b"v", []), Record(6, 9, None, None, [])], magic, Codec.GZIP)
            rows = self.rows(data, 6)
            self.assertEqual([(row.offset, row.value, row.timestamp_type) for row in rows], [(6, None, kind)])

    def test_transactions(self) -> None:
        """Records of committed, aborted and open transactions are told apart; markers are rows."""
        data = (
            batch(0, [b"aborted"], 1, True)
            + batch(1, [b"committed"], 2, True)
            + marker(2, 1, False)
            + batch(3, [b"again"], 1, True)
            + marker(4, 1, True)
            + marker(5, 2, True)
            + batch(6, [b"plain"])
            + batch(7, [b"open"], 1, True)
        )
        rows = self.rows(data, transactions=Transactions(7, [(1, 0)]))
        self.assertEqual(
            [(row.value, row.transaction, row.control) for row in rows],
            [
                (b"aborted", ABORTED, None),
                (b"committed", COMMITTED, None),
                (None, None, "abort"),
                (b"again", COMMITTED, None),
                (None, None, "commit"),
                (None, None, "commit"),
                (b"plain", None, None),
                (b"open", OPEN, None),
            ],
        )

    def test_begun_before(self) -> None:
        """A transaction that was aborted and begins before the range is known in it."""
        data = batch(10, [b"x"], 1, True) + marker(11, 1, False)
        self.assertEqual(self.rows(data, 10, 99, Transactions(99, [(1, 3)]))[0].transaction, ABORTED)

    def test_damaged(self) -> None:
        """A damaged batch is one row with its fault, and those behind it are read."""
        broken = bytearray(batch(3, [b"c", b"d"]))
        broken[CRC_AT] ^= 1
        rows = self.rows(batch(0, [b"a", b"b", b"x"]) + bytes(broken) + batch(5, [b"e"]), 1)
        self.assertEqual(
            [(row.offset, row.value) for row in rows], [(1, b"b"), (2, b"x"), (3, None), (5, b"e")]
        )
        self.assertIn("CRC", rows[2].fault)

    def test_bomb(self) -> None:
        """A batch that inflates beyond the limit is a row with its fault."""
        builder = BatchBuilder(codec=Codec.GZIP)
        builder.append(None, bytes(4 << 20), 0)
        rows = self.rows(builder.build(0))
        self.assertEqual(len(rows), 1)
        self.assertTrue(rows[0].fault)

    def test_no_batches(self) -> None:
        """Bytes that are no batches end the walk."""
        self.assertRaises(CorruptRecords, self.rows, b"\xff" * 100)

    @settings(max_examples=100, deadline=None, suppress_health_check=SLOW)
    @given(st.data())
    def test_flipped(self, data: st.DataObject) -> None:
        """A flipped bit is a fault, or the records are those that were written: never other ones."""
        whole = batch(0, [b"abcdef", b"ghijkl"]) + batch(2, [b"mnopqr"])
        at = data.draw(st.integers(0, len(whole) * 8 - 1))
        flipped = bytearray(whole)
        flipped[at // 8] ^= 1 << at % 8
        try:
            rows = self.rows(bytes(flipped), -(2**63), 2**63)
        except CorruptRecords:
            return
        values = [row.value for row in rows if not row.fault]
        self.assertTrue(set(values) <= {b"abcdef", b"ghijkl", b"mnopqr"})
