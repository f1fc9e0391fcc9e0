"""Tests of kafkatx.records.batch."""

from __future__ import annotations

import contextlib

from hypothesis import given
from hypothesis import strategies as st
from twisted.trial.unittest import SynchronousTestCase

from kafkatx.errors import CorruptRecords, UnsupportedCompression
from kafkatx.records.batch import (
    HEADER_BYTES,
    TIMESTAMP_TYPE,
    Headers,
    Record,
    iter_records,
    parse_header,
    payload,
    read_columns,
)
from kafkatx.records.builder import assemble
from kafkatx.records.compression import Codec
from kafkatx.records.varint import encode
from tests.records.strategies import SAMPLE, built, codecs, moved, quick, record_lists

WITH_HEADERS = [
    *SAMPLE,
    Record(4, SAMPLE[0].timestamp, None, b"v", [("name", b"value"), ("null", None), ("", b"")]),
]


def of_payload(data: bytes, count: int, delta: int | None = None) -> memoryview:
    """A batch with a right header around any bytes."""
    return memoryview(assemble(data, count, 0, 0, 0, last_offset_delta=count - 1 if delta is None else delta))


class Columns:
    """The lists that read_columns appends to."""

    def __init__(self) -> None:
        self.offsets: list[int] = []
        self.timestamps: list[int] = []
        self.keys: list[bytes | None] = []
        self.values: list[bytes | None] = []
        self.headers: list[Headers] = []

    def read(self, batch: bytes | memoryview, with_headers: bool = True) -> int:
        """Append a batch's records."""
        headers = self.headers if with_headers else None
        return read_columns(batch, self.offsets, self.timestamps, self.keys, self.values, headers)


class ReadTests(SynchronousTestCase):
    """Reading what was built."""

    @quick
    @given(record_lists(), codecs, st.integers(0, 2**62))
    def test_round_trip(self, records: list[Record], codec: Codec, base_offset: int) -> None:
        """Records come back with every field, from any offset on, through any codec."""
        batch = built(records, codec, base_offset)
        self.assertEqual(list(iter_records(memoryview(batch))), moved(records, base_offset))

    @quick
    @given(record_lists(), st.booleans())
    def test_columns(self, records: list[Record], with_headers: bool) -> None:
        """The columns hold what the records hold, and are appended to; headers only where wanted."""
        columns = Columns()
        batch = built(records)
        for _ in range(2):
            self.assertEqual(columns.read(batch, with_headers), len(records))
        twice = records + records
        self.assertEqual(columns.offsets, [record.offset for record in twice])
        self.assertEqual(columns.timestamps, [record.timestamp for record in twice])
        self.assertEqual(columns.keys, [record.key for record in twice])
        self.assertEqual(columns.values, [record.value for record in twice])
        self.assertEqual(columns.headers, [record.headers for record in twice] if with_headers else [])

    def test_many(self) -> None:
        """Offset deltas of one, two and three bytes are read, and values with lengths of each."""
        records = [Record(at, 5, None, bytes(at % 200), []) for at in range(9000)]
        records[100] = records[100]._replace(key=bytes(70), value=bytes(20_000))
        self.assertEqual(list(iter_records(memoryview(built(records)))), records)

    def test_lazy(self) -> None:
        """Nothing is decoded before the first record is asked for."""
        records = iter_records(memoryview(b"not a batch"))
        self.assertRaises(CorruptRecords, next, records)

    def test_what_follows(self) -> None:
        """Bytes after the batch are left alone."""
        self.assertEqual(list(iter_records(memoryview(built(SAMPLE) + b"next batch"))), SAMPLE)

    def test_log_append_time(self) -> None:
        """With LogAppendTime every record has the batch's max_timestamp, earlier ones in the lists do not."""
        data = payload(built(SAMPLE))
        batch = assemble(data, len(SAMPLE), TIMESTAMP_TYPE, SAMPLE[0].timestamp, 99)
        columns = Columns()
        columns.read(built(SAMPLE[:1]))
        columns.read(batch)
        self.assertEqual(columns.timestamps, [SAMPLE[0].timestamp] + [99] * len(SAMPLE))

    def test_compacted(self) -> None:
        """Offsets may have gaps within the batch, and a batch may have no records left."""
        data = b"".join(
            encode(len(body)) + body for body in (b"\0\0" + encode(delta) + b"\1\1\0" for delta in (2, 500))
        )
        batch = of_payload(data, 2, 1000)
        self.assertEqual([record.offset for record in iter_records(batch)], [2, 500])
        self.assertEqual(list(iter_records(of_payload(b"", 0, 10))), [])

    def test_header_name(self) -> None:
        """A header's name that is not UTF-8 is read with replacement characters, as in Java."""
        body = b"\0\0\0\1\1\2\4\xff\xfe\1"
        (record,) = iter_records(of_payload(encode(len(body)) + body, 1))
        self.assertEqual(record.headers, [("\ufffd\ufffd", None)])


class CorruptTests(SynchronousTestCase):
    """Records that are not what they should be."""

    def refused(self, batch: bytes | memoryview) -> None:
        """See that a batch is corrupt, its headers wanted or not."""
        for with_headers in (True, False):
            self.assertRaises(CorruptRecords, Columns().read, batch, with_headers)

    def test_cut_off(self) -> None:
        """A batch cut off at any byte is corrupt, with each codec."""
        for codec in Codec:
            batch = built(WITH_HEADERS, codec)
            for size in range(len(batch)):
                self.refused(batch[:size])

    def test_records_cut_off(self) -> None:
        """Records cut off at any byte under a right header are corrupt."""
        data = payload(built(WITH_HEADERS))
        for size in range(len(data)):
            self.refused(of_payload(data[:size], len(WITH_HEADERS)))

    def test_count(self) -> None:
        """More or fewer records than the header says are corrupt."""
        data = payload(built(WITH_HEADERS))
        for count in (0, 1, 4, 6, 2**31 - 1, -1):
            self.refused(of_payload(data, count, 10))

    def test_offset_outside(self) -> None:
        """An offset before the batch's base or after its last is corrupt."""
        for delta in (-1, 3, 2**31 - 1):
            body = b"\0\0" + encode(delta) + b"\1\1\0"
            self.refused(of_payload(encode(len(body)) + body, 1, 2))

    def test_record_length(self) -> None:
        """A record that says another length than it has is corrupt, also a negative one."""
        for headers in (b"\0", b"\2\2a\2b"):
            body = b"\0\0\0\1\2v" + headers
            for wrong in (-len(body), -len(body) - 1, -1, 0, 1, 5, len(body) - 1, len(body) + 1, 2**31 - 1):
                data = encode(wrong) + body
                self.assertRaises(CorruptRecords, list, iter_records(of_payload(data, 1)))
            self.refused(of_payload(encode(5) + body, 1))
            self.refused(of_payload(encode(100) + body, 1))

    def test_backwards(self) -> None:
        """A record with headers that ends before they begin does not make its value the next record."""
        inside = encode(7) + b"\0\0\2\1\1\2"
        self.refused(of_payload(encode(5) + b"\0\0\0\1" + encode(len(inside)) + inside + b"\2", 2))

    def test_batch_length(self) -> None:
        """A batch without records whose length is less than the header's is corrupt."""
        batch = bytearray(of_payload(b"", 0, 10))
        batch[8:12] = bytes(4)
        self.refused(bytes(batch))

    def test_varint_too_long(self) -> None:
        """A varint that never ends is corrupt."""
        self.refused(of_payload(b"\xff" * 20, 1))

    def test_header_lengths(self) -> None:
        """Headers whose count or lengths do not fit are corrupt."""
        for headers in (
            b"\1",
            encode(2**30),
            b"\2\1",
            b"\2\1\1",
            b"\2" + encode(2**30) + b"a\1",
            b"\2\2a" + encode(2**30),
        ):
            body = b"\0\0\0\1\1" + headers
            self.assertRaises(CorruptRecords, list, iter_records(of_payload(encode(len(body)) + body, 1)))

    def test_codec(self) -> None:
        """A codec that does not exist is unsupported, not corrupt."""
        batch = bytearray(built(SAMPLE))
        batch[22] = 5
        self.assertRaises(UnsupportedCompression, list, iter_records(memoryview(batch)))

    def test_bomb(self) -> None:
        """A batch that holds more than the limit is corrupt; one that just fits is not."""
        for codec in Codec:
            batch = memoryview(built([Record(0, 0, None, bytes(100_000), [])], codec))
            size = len(payload(batch))
            self.assertRaises(CorruptRecords, list, iter_records(batch, size - 1))
            self.assertEqual(len(list(iter_records(batch, size))), 1)

    @quick
    @given(record_lists(), st.data())
    def test_garbled(self, records: list[Record], data: st.DataObject) -> None:
        """Any bytes overwritten behind the header: records or CorruptRecords, never another error."""
        batch = bytearray(built(records))
        at = data.draw(st.integers(HEADER_BYTES, len(batch) - 1))
        garbage = data.draw(st.binary(min_size=1, max_size=8))
        batch[at : at + len(garbage)] = garbage[: len(batch) - at]
        for with_headers in (True, False):
            with contextlib.suppress(CorruptRecords):
                self.assertEqual(Columns().read(bytes(batch), with_headers), len(records))

    @quick
    @given(st.binary(max_size=200), st.integers(-2, 20))
    def test_random(self, data: bytes, count: int) -> None:
        """Random bytes for records: records or CorruptRecords, never another error."""
        with contextlib.suppress(CorruptRecords):
            list(iter_records(of_payload(data, count, 30)))

    def test_attributes(self) -> None:
        """The header of a built batch tells the codec that payload() undoes."""
        for codec in Codec:
            batch = built(SAMPLE, codec)
            self.assertEqual(parse_header(batch).codec, codec)
            self.assertEqual(payload(batch), payload(built(SAMPLE)))
