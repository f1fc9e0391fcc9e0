"""Checks of records that keep nothing of them."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from twisted.trial.unittest import SynchronousTestCase

from kafkatx.errors import CorruptRecords
from kafkatx.records.batch import HEADER_BYTES, Record, iter_records
from kafkatx.records.builder import assemble
from kafkatx.records.record_checks import MOST_FAULTS, check_fields, is_one_record
from kafkatx.records.varint import encode
from tests.records.strategies import SAMPLE, built, quick, record_lists


def one(delta: int, body: bytes = b"\x01\x02v\0") -> bytes:
    """A record of a given offset; its key, value and headers are *body*."""
    record = b"\0\0" + encode(delta) + body
    return encode(len(record)) + record


class FramingTests(SynchronousTestCase):
    @quick
    @given(record_lists())
    def test_sound(self, records: list[Record]) -> None:
        """A producer's batch passes, but not with another count."""
        data = built(records)[HEADER_BYTES:]
        check_fields(data, len(records))
        for count in (len(records) - 1, len(records) + 1):
            self.assertRaises(CorruptRecords, check_fields, data, count)
        self.assertEqual(is_one_record(memoryview(built(records))), len(records) == 1)

    @quick
    @given(record_lists(), st.data())
    def test_as_a_consumer(self, records: list[Record], data: st.DataObject) -> None:
        """A consumer can read any bytes that check_fields accepts."""
        payload = bytearray(built(records)[HEADER_BYTES:])
        for _ in range(data.draw(st.integers(1, 3))):
            payload[data.draw(st.integers(0, len(payload) - 1))] = data.draw(st.integers(0, 255))
        try:
            check_fields(bytes(payload), len(records))
        except CorruptRecords:
            return
        batch = memoryview(assemble(bytes(payload), len(records), 0, 0, 0))
        self.assertEqual([record.offset for record in iter_records(batch)], list(range(len(records))))

    def test_offsets(self) -> None:
        """Two records under one offset, a gap, and offsets that go back are found."""
        for deltas in ((0, 0), (0, 2), (1, 0), (-1, 0)):
            self.assertRaises(CorruptRecords, check_fields, b"".join(map(one, deltas)), 2)

    def test_long_offsets(self) -> None:
        """Offsets of one, two and three bytes follow each other."""
        count = 9000
        data = b"".join(map(one, range(count)))
        check_fields(data, count)
        self.assertRaises(CorruptRecords, check_fields, data[:-9] + data[-18:-9], count)

    def test_fields(self) -> None:
        """Keys, values and headers that do not fit into their record are found."""
        for body in (
            b"\x7e\x02v\0",
            b"\x01\x7ev\0",
            b"\x01\x02v\x02",
            b"\x01\x02v\x01",
            b"\x01\x02vv\0",
            b"\x01",
        ):
            self.assertRaises(CorruptRecords, check_fields, one(0, body), 1)

    def test_keyless(self) -> None:
        """The numbers of records without key are given where they are asked for, a thousand at most."""
        data = built(SAMPLE)[HEADER_BYTES:]
        self.assertEqual(check_fields(data, len(SAMPLE), True), [0])
        self.assertEqual(check_fields(data, len(SAMPLE)), [])
        many = b"".join(map(one, range(MOST_FAULTS + 9)))
        self.assertEqual(len(check_fields(many, MOST_FAULTS + 9, True)), MOST_FAULTS)

    def test_one_record(self) -> None:
        """Lengths of one, two and three bytes, and none that is cut off, negative or without end."""
        for size in (1, 100, 20_000):
            record = one(0, b"\x01" + encode(size) + bytes(size) + b"\0")
            batch = bytes(HEADER_BYTES) + record
            self.assertTrue(is_one_record(memoryview(batch)))
            self.assertFalse(is_one_record(memoryview(batch[:-1])))
            self.assertFalse(is_one_record(memoryview(batch + record)))
        for bad in (b"", b"\x01", b"\xff", b"\xff" * 9):
            self.assertFalse(is_one_record(memoryview(bytes(HEADER_BYTES) + bad)))
